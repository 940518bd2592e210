package native

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// A downtime refuses every request until it is over, each after a while.
type downtime struct {
	until time.Time
	takes time.Duration
	down  modeltest.Server // what it says until then

	mu        sync.Mutex
	waiting   int
	most      int // at once, after the first was refused
	refused   int
	whenAsked []time.Duration // before the end
}

func (d *downtime) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		left := time.Until(d.until)
		if left <= 0 {
			next.ServeHTTP(w, r)
			return
		}
		d.mu.Lock()
		d.waiting++
		if d.refused > 0 {
			d.most = max(d.most, d.waiting)
		}
		d.whenAsked = append(d.whenAsked, left)
		d.mu.Unlock()
		time.Sleep(d.takes)
		d.mu.Lock()
		d.waiting--
		d.refused++
		d.mu.Unlock()
		d.down.ServeHTTP(w, r)
	})
}

// Three conversations go to one provider, which is down for a while: each learns it for itself once, then one at a
// time tries, and who tries pays with its own budget; when it is up again all of them end as if nothing had happened.
func TestThreeTurnsBeforeOneGate(t *testing.T) {
	t.Parallel()
	for _, provider := range allProviders {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
			synctest.Test(t, func(t *testing.T) {
				const length = 40 * time.Second // one turn alone can outlast it
				breaker := &Breaker{}
				down := &downtime{until: time.Now().Add(length), takes: 5 * time.Second, down: modeltest.Server{
					Scenario: modeltest.Scenario{Turns: []modeltest.Turn{{Status: http.StatusServiceUnavailable, Times: 1000}}},
				}}
				var all sync.WaitGroup
				start := time.Now()
				for _, dir := range dirs {
					all.Go(func() {
						s := &session{provider: provider, stage: &stage{}, dir: dir, takes: time.Second, breaker: breaker}
						ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
						defer cancel()
						err := s.play(ctx, inMemory, &http.Client{Transport: wire{down.before(s.stage)}})
						if err == nil {
							err = s.journalHolds()
						}
						if err != nil {
							t.Errorf("%v\n%s", err, s.show())
						}
					})
				}
				all.Wait()
				if down.most != 1 || down.refused > len(dirs)+5 || down.refused < len(dirs)+2 {
					t.Errorf("while it was down it was asked %d times, %d at once at most; %v before the end", down.refused, down.most, down.whenAsked)
				}
				if took := time.Since(start); took > length+mostDelay+10*time.Second {
					t.Errorf("all ended after %v", took)
				}
				if breaker.down || breaker.probing {
					t.Error("the breaker is closed")
				}
			})
		})
	}
}

// journalHolds is wrong without the requests that were refused, which the stage has not seen.
func (s *session) journalHolds() error {
	if _, _, err := s.journal(); err != nil {
		return err
	}
	return s.differs()
}
