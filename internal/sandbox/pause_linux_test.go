package sandbox

import (
	"bytes"
	"slices"
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
	const tries = 10
	for try := 1; !suspended(t); try++ {
		if try == tries {
			t.Fatal("the commands never began in time")
		}
	}
	// And the clocks go on.
	c := sh("sleep 600")
	c.Timeout = 200 * time.Millisecond
	if _, res := outputOf(t, Box{Tier: None}, c); !res.TimedOut {
		t.Errorf("%+v", res)
	}
}

// suspended returns one try of TestSuspend; false when the machine was too busy for the clocks of the commands:
// then nothing was tried.
func suspended(t *testing.T) bool {
	t.Helper()
	const timeout, idle, pause = 5 * time.Second, 4 * time.Second, 5500 * time.Millisecond
	var all sync.WaitGroup
	var written []*ticks
	results, errs := make([]Result, len(Tiers())), make([]error, len(Tiers()))
	begun := time.Now()
	for i, tier := range Tiers() {
		k := &ticks{}
		written = append(written, k)
		all.Go(func() {
			c := sh(`( setsid sh -c 'while :; do echo; sleep 0.02; done' & ); for i in 1 2 3 4 5; do sleep 0.1; echo; done; exit 3`)
			c.Stdout, c.Timeout, c.Idle = k, timeout, idle
			results[i], errs[i] = Box{Tier: tier}.Run(t.Context(), c)
		})
	}
	for _, k := range written {
		for k.count() < 3 && time.Since(begun) < timeout {
			time.Sleep(time.Millisecond)
		}
	}
	Suspend()
	Suspend() // no more than once
	used := time.Since(begun)
	late := make(chan Result, 1)
	go func() {
		res, _ := Box{Tier: None}.Run(t.Context(), sh("exit 4"))
		late <- res
	}()
	counts := func() (all []int) {
		for _, k := range written {
			all = append(all, k.count())
		}
		return all
	}
	before := counts()
	for end := time.Now().Add(soon); time.Now().Before(end); { // what stands in the pipes comes through
		time.Sleep(500 * time.Millisecond)
		now := counts()
		if slices.Equal(now, before) {
			break
		}
		before = now
	}
	time.Sleep(pause)
	if now := counts(); !slices.Equal(now, before) {
		t.Errorf("lines were written by what is stopped: %d, now %d", before, now)
	}
	if len(late) > 0 {
		t.Error("a command was run meanwhile")
	}
	resumed := time.Now()
	Resume()
	Resume()
	all.Wait()
	if res := <-late; res.ExitCode != 4 {
		t.Errorf("%+v", res)
	}
	if used += time.Since(resumed); used > idle-time.Second {
		return false
	}
	for i, tier := range Tiers() {
		if res := results[i]; errs[i] != nil || res.ExitCode != 3 || res.TimedOut || res.IdledOut {
			t.Errorf("%s: %v %+v", tier, errs[i], res)
		}
	}
	return true
}
