// Package flake finds proven flakes: what failed and passed with the same inputs. A task with inputs has a key, the
// digest of all that it is made of (pipeline/cache). One key that one run recorded as failed and another as passed
// proves that the failure comes and goes, or that the task reads something that is not among its inputs.
//
// The records of runs are the only evidence. What was learned of them is remembered in one file of the cache's folder,
// so that not all of them are read in each run:
//
//	outcomes-<16 hex>.json   of one root: by key, the newest run that failed and the newest that passed
//
// It may be deleted at any moment, and is never trusted: a run that it names is read before anything is said.
package flake

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Proves returns the key of a task that has ended, and whether it passed. ok is false where that proves nothing about
// the key: the task was not run, its inputs changed while it ran, it could not be started, it failed where something stood
// in the place of its outputs, it did not make them, or it was ended from outside, by a timeout, a cancellation or a signal.
func Proves(t *record.Task) (key string, passed, ok bool) {
	c := t.Cache
	if c == nil || c.Key == nil || c.Unchanged == nil || !*c.Unchanged {
		return "", false, false
	}
	switch {
	case t.Status == record.Passed:
		return *c.Key, true, true
	case t.Status != record.Failed || t.Error != nil || t.ExitCode == nil:
		return "", false, false
	case t.Signal != nil:
		return *c.Key, false, slices.Contains(crashes, strings.ToUpper(*t.Signal))
	}
	return *c.Key, false, !slices.Contains(endedOutside, *t.ExitCode)
}

// crashes are the signals that a program gets for a fault of its own.
var crashes = []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP"}

// endedOutside are the exit codes with which timeout (coreutils) and shells say that what they ran was ended: by a
// timeout, SIGINT, SIGKILL (also of a system without memory) or SIGTERM.
var endedOutside = []int{124, 130, 137, 143}

// An outcome is what the record of a run proves about a key.
type outcome struct {
	key, task string
	passed    bool
	run       string // in which it was: of a hit, the run that made the result
}

// outcomes returns what the record of a run proves. The failures of an interrupted run prove nothing: what ended the
// run may have ended the task first.
func outcomes(r *record.Run) (all []outcome) {
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if c := t.Cache; t.Status == record.Cached && c != nil && c.Key != nil && c.Run != nil {
			all = append(all, outcome{*c.Key, t.Name, true, *c.Run})
			continue
		}
		if key, passed, ok := Proves(t); ok && (passed || r.Status != record.Interrupted) {
			all = append(all, outcome{key, t.Name, passed, r.ID})
		}
	}
	return all
}

// A Flake is one key that failed and passed.
type Flake struct {
	Task       string  `json:"task"` // as the newest of the runs names it
	Key        string  `json:"key"`
	Failed     int     `json:"failed"` // runs; those in which the result came from the cache are not counted
	Passed     int     `json:"passed"`
	Rate       float64 `json:"rate"` // of failures, 0 to 1
	LastFailed string  `json:"last_failed"`
	LastPassed string  `json:"last_passed"`
}

// Last returns the newest of the runs.
func (f *Flake) Last() string {
	if record.After(f.LastFailed, f.LastPassed) {
		return f.LastFailed
	}
	return f.LastPassed
}

// List reads all records and returns the proven flakes, the one that was run last first. Records that cannot be read are
// left out, each with an error.
func List(s *record.Store) ([]Flake, []error) {
	type tried struct {
		task           string
		failed, passed map[string]bool // by run
		lastFailed     string
		lastPassed     string
	}
	newer := func(a, b string) string {
		if record.After(a, b) {
			return a
		}
		return b
	}
	runs, errs := s.List() // oldest first
	keys := map[string]*tried{}
	for _, r := range runs {
		for _, o := range outcomes(&r.Run) {
			k := keys[o.key]
			if k == nil {
				k = &tried{failed: map[string]bool{}, passed: map[string]bool{}}
				keys[o.key] = k
			}
			k.task = o.task
			if o.passed {
				k.passed[o.run], k.lastPassed = true, newer(o.run, k.lastPassed)
			} else {
				k.failed[o.run], k.lastFailed = true, newer(o.run, k.lastFailed)
			}
		}
	}
	all := []Flake{}
	for key, k := range keys {
		if n, m := len(k.failed), len(k.passed); n > 0 && m > 0 {
			all = append(all, Flake{k.task, key, n, m, float64(n) / float64(n+m), k.lastFailed, k.lastPassed})
		}
	}
	slices.SortFunc(all, func(a, b Flake) int {
		x, y := a.Last(), b.Last()
		switch {
		case x == y:
			return strings.Compare(a.Key, b.Key)
		case record.After(x, y):
			return -1
		}
		return 1
	})
	return all, errs
}
