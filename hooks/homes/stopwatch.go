package homes

import (
	"sync"
	"time"
)

// A stopwatch measures how long at least one of several pieces of work was under way. Any goroutine may use it.
type stopwatch struct {
	mu    sync.Mutex
	works int       // under way
	since time.Time // when the first of them began
	sum   time.Duration
}

// start begins a piece of work, which ends with a call of stop.
func (s *stopwatch) start() (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.works++; s.works == 1 {
		s.since = time.Now()
	}
	return s.stop
}

func (s *stopwatch) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.works--; s.works == 0 {
		s.sum += time.Since(s.since)
	}
}

// total returns the time until now.
func (s *stopwatch) total() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.works > 0 {
		return s.sum + time.Since(s.since)
	}
	return s.sum
}
