package tree

import "sync"

// A Stack has the jobs of a walk, which several workers do. The last job is done first, so that few folders are open
// at a time. The zero Stack is empty.
type Stack[J any] struct {
	mu    sync.Mutex // guards what follows
	ready sync.Cond
	jobs  []J
	open  int // jobs pushed and not done
	err   error
}

// Push adds jobs. The first ones must be added before Work is called.
func (s *Stack[J]) Push(jobs ...J) {
	s.mu.Lock()
	if s.ready.L == nil {
		s.ready.L = &s.mu
	}
	s.jobs = append(s.jobs, jobs...)
	s.open += len(jobs)
	s.mu.Unlock()
	s.ready.Broadcast()
}

// Work calls do for one job after the other until none is left; do may push more. Each worker calls Work once. After
// an error, do is called with stopped set for the jobs that are left: it must only release what they have open.
func (s *Stack[J]) Work(do func(j J, stopped bool) error) {
	s.mu.Lock()
	for {
		for len(s.jobs) == 0 && s.open > 0 {
			s.ready.Wait()
		}
		if len(s.jobs) == 0 {
			s.mu.Unlock()
			return
		}
		j, stopped := s.jobs[len(s.jobs)-1], s.err != nil
		s.jobs = s.jobs[:len(s.jobs)-1]
		s.mu.Unlock()
		err := do(j, stopped)
		s.mu.Lock()
		if s.err == nil {
			s.err = err
		}
		if s.open--; s.open == 0 {
			s.ready.Broadcast()
		}
	}
}

// Err returns the first error of a job. It may be called after Work has returned in every worker.
func (s *Stack[J]) Err() error { return s.err }
