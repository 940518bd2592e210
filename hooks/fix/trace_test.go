package fix

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// What was decided cannot be taken away or exchanged behind the back of the journal of the hooks.
func TestDecisionsLeaveATrace(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, p *Proposal, names ...string) {
		t.Helper()
		for _, name := range names {
			check(t, os.Remove(filepath.Join(p.Dir, "fixes", name)))
		}
	}
	// again writes the state file anew, with its end, as if only these had been decided.
	again := func(t *testing.T, p *Proposal, all ...decision) {
		t.Helper()
		remove(t, p, "test.state.jsonl", "test.state.jsonl.end")
		for _, d := range all {
			_, _, err := appendDecision(p.statePath(), p.digest, d)
			check(t, err)
		}
	}
	for name, c := range map[string]struct {
		with        func(t *testing.T, p *Proposal)
		says        string // in what Find says
		file, found string // in what the audit says
	}{
		"state file gone": {
			func(t *testing.T, p *Proposal) { remove(t, p, "test.state.jsonl", "test.state.jsonl.end") },
			`decision 2 on this fix was "rejected"`, "fixes/test.state.jsonl", "none: the file is gone",
		},
		"one decision of two, made anew": {
			func(t *testing.T, p *Proposal) {
				decisions, err := readDecisions(p.statePath(), p.digest)
				check(t, err)
				again(t, p, decisions[0])
			},
			`decision 2 on this fix was "rejected"`, "fixes/test.state.jsonl", "sha256:",
		},
		"last line gone, end made anew": {
			func(t *testing.T, p *Proposal) {
				text, err := os.ReadFile(p.statePath())
				check(t, err)
				first, _, _ := strings.Cut(string(text), "\n")
				check(t, os.WriteFile(p.statePath(), []byte(first+"\n"), 0o600))
				remove(t, p, "test.state.jsonl.end")
				j, err := journal.Open(p.statePath(), &p.digest, nil, nil) // makes the end anew
				check(t, errors.Join(err, j.Close()))
			},
			`decision 2 on this fix was "rejected", at 2`, "fixes/test.state.jsonl", "1 lines: it is gone",
		},
		"other decisions": {
			func(t *testing.T, p *Proposal) { again(t, p, decision{To: rejected}, decision{To: reverted}) },
			"its line 1 is another one: what was decided was changed", "fixes/test.state.jsonl", "sha256:",
		},
		"state file and journal gone": {
			func(t *testing.T, p *Proposal) {
				remove(t, p, "test.state.jsonl", "test.state.jsonl.end", "events.jsonl", "events.jsonl.end")
			},
			"events.jsonl is gone", "fixes/events.jsonl", "none: it is gone",
		},
		"state file gone, journal cut": {
			func(t *testing.T, p *Proposal) {
				remove(t, p, "test.state.jsonl", "test.state.jsonl.end")
				path := filepath.Join(p.Dir, "fixes", "events.jsonl")
				text, err := os.ReadFile(path)
				check(t, err)
				check(t, os.WriteFile(path, []byte(strings.SplitAfter(string(text), "\n")[0]), 0o600))
			},
			"events.jsonl: line 2: expected", "fixes/events.jsonl", "1: what stood behind them is gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, one)
			p := sealed(t, s, "test", one, two, nil)
			decide(t, p, reverted)
			_, err := UserTree{Fixes: s}.Reject(context.Background(), p, "no", Options{})
			check(t, err)
			if r := audited(t, s, runID); len(r.Faults)+len(r.Notes) > 0 {
				t.Fatalf("%+v, %+v", r.Faults, r.Notes)
			}
			c.with(t, p)
			_, err = s.Find(runID, "test")
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("find: %v", err)
			}
			items, errs := s.List()
			if len(errs) != 1 || !errors.Is(errs[0], ErrDamaged) {
				t.Errorf("list: %v", errs)
			}
			if gone := strings.Contains(c.says, "decision 2"); len(items) != 1 || gone && items[0].Disposition != rejected {
				t.Errorf("list: %+v", items)
			}
			_, err = UserTree{Fixes: s}.Apply(t.Context(), p, Options{})
			if !errors.Is(err, ErrRefused) || !errors.Is(err, ErrDamaged) {
				t.Errorf("apply: %v", err)
			}
			same(t, "not applied", snapshot(t, s.Root), one)
			if _, err := (UserTree{Fixes: s}).Reject(context.Background(), p, "", Options{}); !errors.Is(err, ErrDamaged) {
				t.Errorf("reject: %v", err)
			}
			if _, err := (UserTree{Fixes: s}).Revert(context.Background(), p, Options{}); !errors.Is(err, ErrDamaged) {
				t.Errorf("revert: %v", err)
			}
			r := audited(t, s, runID)
			found := false
			for _, f := range r.Faults {
				found = found || f.File == c.file && strings.Contains(f.Found, c.found)
			}
			if !found {
				t.Errorf("audit: %+v", r.Faults)
			}
		})
	}
}

// A crash between a decision and its trace is no damage, and neither is a decision of a version that left no traces.
func TestDecisionWithoutTrace(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	p := sealed(t, s, "test", one, two, nil)
	_, _, err := appendDecision(p.statePath(), p.digest, decision{To: rejected})
	check(t, err)
	disposed(t, s, rejected)
	noted := func(lines ...string) {
		t.Helper()
		r := audited(t, s, runID)
		if len(r.Faults) > 0 || len(r.Notes) != len(lines) {
			t.Fatalf("%+v, %+v", r.Faults, r.Notes)
		}
		for i, n := range r.Notes {
			if n.File != "fixes/test.state.jsonl" || !strings.Contains(n.Text, "does not tell of "+lines[i]+" ") {
				t.Errorf("%+v", n)
			}
		}
	}
	noted("line 1")
	decide(t, p, superseded)
	noted("line 1")
	disposed(t, s, superseded)
	// Half a trace is what a crash leaves too.
	text, err := os.ReadFile(filepath.Join(p.Dir, "fixes", eventsFile))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(p.Dir, "fixes", eventsFile), append(text, `{"seq":4,"at"`...), 0o600))
	disposed(t, s, superseded)
	decide(t, p, rejected)
	noted("line 1")
	disposed(t, s, rejected)
	text, err = os.ReadFile(filepath.Join(p.Dir, "fixes", eventsFile))
	check(t, err)
	if want := `"type":"decided","task":"test","fix":"test","head":"sha256:`; strings.Count(string(text), want) != 2 || !strings.Contains(string(text), `"lines":3,"to":"rejected","prev":`) {
		t.Errorf("%s", text)
	}
}

// Where no trace can be left nothing is decided.
func TestNoTraceNoDecision(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	p := sealed(t, s, "test", one, two, nil)
	check(t, os.WriteFile(filepath.Join(p.Dir, "fixes", eventsFile), []byte("x\n"), 0o600))
	if err := addDecision(p.statePath(), p.digest, decision{To: rejected}); err == nil || !strings.Contains(err.Error(), eventsFile) {
		t.Errorf("%v", err)
	}
	if exists(p.statePath()) {
		t.Error("it was decided")
	}
}

// Decisions that were taken where a run was made stay there; those that are taken here leave their traces.
func TestTracesOfAnImport(t *testing.T) {
	t.Parallel()
	s := newStore(t, one)
	p := sealed(t, s, "test", one, two, nil)
	decide(t, p, rejected)
	there := filepath.Join(t.TempDir(), "there")
	_, err := CopyRun(p.Dir, there)
	check(t, err)
	decide(t, p, superseded)
	if same, err := SameRun(there, p.Dir); err != nil || !same {
		t.Errorf("it goes on: %v, %v", same, err)
	}
	check(t, os.RemoveAll(p.Dir))
	check(t, os.CopyFS(p.Dir, os.DirFS(there)))
	if _, err := s.Find(runID, "test"); !errors.Is(err, ErrDamaged) {
		t.Errorf("without the mark of an import: %v", err)
	}
	check(t, MarkImported(p.Dir, "there", ""))
	disposed(t, s, open)
	if r := audited(t, s, runID); len(r.Faults) > 0 {
		t.Fatalf("%+v", r.Faults)
	}
	decide(t, p, rejected)
	disposed(t, s, rejected)
	check(t, os.Remove(p.statePath()))
	if _, err := s.Find(runID, "test"); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
	if r := audited(t, s, runID); len(r.Faults) == 0 {
		t.Error("audit found nothing")
	}
}
