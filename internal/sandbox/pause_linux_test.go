package sandbox

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// ticks counts what was written.
type ticks struct {
	sync.Mutex
	bytes.Buffer
}

func (k *ticks) Write(p []byte) (int, error) {
	k.Lock()
	defer k.Unlock()
	return k.Buffer.Write(p)
}

func (k *ticks) count() int {
	k.Lock()
	defer k.Unlock()
	return k.Len()
}

// TestSuspend stops what runs, in every tier, and looks whether anything moves, a clock among it.
func TestSuspend(t *testing.T) {
	var all sync.WaitGroup
	var written []*ticks
	const timeout, idle, pause = 5 * time.Second, 4 * time.Second, 5500 * time.Millisecond
	for _, tier := range Tiers() {
		k := &ticks{}
		written = append(written, k)
		all.Go(func() {
			c := sh(`( setsid sh -c 'while :; do echo; sleep 0.02; done' & ); for i in 1 2 3 4 5; do sleep 0.1; echo; done; exit 3`)
			c.Stdout, c.Timeout, c.Idle = k, timeout, idle
			res, err := Box{Tier: tier}.Run(t.Context(), c)
			if err != nil || res.ExitCode != 3 || res.TimedOut || res.IdledOut {
				t.Errorf("%s: %v %+v", tier, err, res)
			}
		})
	}
	for _, k := range written {
		for end := time.Now().Add(10 * time.Second); k.count() < 3 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	Suspend()
	Suspend() // no more than once
	late := make(chan Result, 1)
	go func() {
		res, _ := Box{Tier: None}.Run(t.Context(), sh("exit 4"))
		late <- res
	}()
	time.Sleep(500 * time.Millisecond) // what stands in the pipes comes through
	var before []int
	for _, k := range written {
		before = append(before, k.count())
	}
	time.Sleep(pause)
	for i, k := range written {
		if k.count() != before[i] {
			t.Errorf("%d lines were written by what is stopped", k.count()-before[i])
		}
	}
	if len(late) > 0 {
		t.Error("a command was run meanwhile")
	}
	Resume()
	Resume()
	all.Wait()
	if res := <-late; res.ExitCode != 4 {
		t.Errorf("%+v", res)
	}
	// And the clocks go on.
	c := sh("sleep 60")
	c.Timeout = 200 * time.Millisecond
	if _, res := outputOf(t, Box{Tier: None}, c); !res.TimedOut {
		t.Errorf("%+v", res)
	}
}
