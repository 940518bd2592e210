package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/apply"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// untraced writes a state change without its trace in the journal of the hooks.
func untraced(t *testing.T, p *fix.Proposal, c fix.StateChange) {
	t.Helper()
	j, err := journal.Open(p.StatePath(), &p.Digest, nil, nil)
	fixtest.Check(t, err)
	fixtest.Check(t, j.Append(journal.Field{Name: "to", Value: c.To}, journal.Field{Name: "reason", Value: c.Reason}))
	fixtest.Check(t, j.Close())
}

// What was decided cannot be taken away or exchanged behind the back of the journal of the hooks.
func TestDecisionsLeaveATrace(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, p *fix.Proposal, names ...string) {
		t.Helper()
		for _, name := range names {
			fixtest.Check(t, os.Remove(filepath.Join(p.Dir, "fixes", name)))
		}
	}
	// again writes the state file anew, with its end, as if only these had been decided.
	again := func(t *testing.T, p *fix.Proposal, all ...fix.StateChange) {
		t.Helper()
		remove(t, p, "test.state.jsonl", "test.state.jsonl.end")
		for _, c := range all {
			untraced(t, p, c)
		}
	}
	for name, c := range map[string]struct {
		with        func(t *testing.T, p *fix.Proposal)
		says        string // in what Find says
		file, found string // in what the audit says
	}{
		"state file gone": {
			func(t *testing.T, p *fix.Proposal) { remove(t, p, "test.state.jsonl", "test.state.jsonl.end") },
			`decision 2 on this fix was "rejected"`, "fixes/test.state.jsonl", "none: the file is gone",
		},
		"one decision of two, made anew": {
			func(t *testing.T, p *fix.Proposal) {
				decisions, err := fix.ReadState(p.StatePath(), p.Digest)
				fixtest.Check(t, err)
				again(t, p, decisions[0])
			},
			`decision 2 on this fix was "rejected"`, "fixes/test.state.jsonl", "sha256:",
		},
		"last line gone, end made anew": {
			func(t *testing.T, p *fix.Proposal) {
				text := fixtest.Read(t, p.StatePath())
				first, _, _ := strings.Cut(string(text), "\n")
				fixtest.Check(t, os.WriteFile(p.StatePath(), []byte(first+"\n"), 0o600))
				remove(t, p, "test.state.jsonl.end")
				j, err := journal.Open(p.StatePath(), &p.Digest, nil, nil) // makes the end anew
				fixtest.Check(t, errors.Join(err, j.Close()))
			},
			`decision 2 on this fix was "rejected", at 2`, "fixes/test.state.jsonl", "1 lines: it is gone",
		},
		"other decisions": {
			func(t *testing.T, p *fix.Proposal) {
				again(t, p, fix.StateChange{To: fix.Rejected}, fix.StateChange{To: fix.Reverted})
			},
			"its line 1 is another one: what was decided was changed", "fixes/test.state.jsonl", "sha256:",
		},
		"state file and journal gone": {
			func(t *testing.T, p *fix.Proposal) {
				remove(t, p, "test.state.jsonl", "test.state.jsonl.end", "events.jsonl", "events.jsonl.end")
			},
			"events.jsonl is gone", "fixes/events.jsonl", "none: it is gone",
		},
		"state file gone, journal cut": {
			func(t *testing.T, p *fix.Proposal) {
				remove(t, p, "test.state.jsonl", "test.state.jsonl.end")
				path := filepath.Join(p.Dir, "fixes", "events.jsonl")
				text := fixtest.Read(t, path)
				fixtest.Check(t, os.WriteFile(path, []byte(strings.SplitAfter(string(text), "\n")[0]), 0o600))
			},
			"events.jsonl: line 2: expected", "fixes/events.jsonl", "1: what stood behind them is gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixtest.NewStore(t, fixtest.One)
			p := fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Two, nil)
			fixtest.Decide(t, p, fix.Reverted)
			fixtest.OK(t)(apply.Tree{Fixes: s}.Reject(context.Background(), p, "no", apply.Options{}))
			if r := audited(t, s, fixtest.RunID); len(r.Faults)+len(r.Notes) > 0 {
				t.Fatalf("%+v, %+v", r.Faults, r.Notes)
			}
			c.with(t, p)
			_, err := s.Find(fixtest.RunID, "test")
			if !errors.Is(err, fix.ErrDamaged) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("find: %v", err)
			}
			items, errs := s.List()
			if len(errs) != 1 || !errors.Is(errs[0], fix.ErrDamaged) {
				t.Errorf("list: %v", errs)
			}
			if gone := strings.Contains(c.says, "decision 2"); len(items) != 1 || gone && items[0].Disposition != fix.Rejected {
				t.Errorf("list: %+v", items)
			}
			_, err = apply.Tree{Fixes: s}.Apply(t.Context(), p, apply.Options{})
			if !errors.Is(err, apply.ErrRefused) || !errors.Is(err, fix.ErrDamaged) {
				t.Errorf("apply: %v", err)
			}
			fixtest.Same(t, "not applied", fixtest.Snapshot(t, s.Root), fixtest.One)
			if _, err := (apply.Tree{Fixes: s}).Reject(context.Background(), p, "", apply.Options{}); !errors.Is(err,
				fix.ErrDamaged) {
				t.Errorf("reject: %v", err)
			}
			if _, err := (apply.Tree{Fixes: s}).Revert(context.Background(), p, apply.Options{}); !errors.Is(err,
				fix.ErrDamaged) {
				t.Errorf("revert: %v", err)
			}
			r := audited(t, s, fixtest.RunID)
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
	s := fixtest.NewStore(t, fixtest.One)
	p := fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Two, nil)
	untraced(t, p, fix.StateChange{To: fix.Rejected})
	fixtest.Disposed(t, s, fix.Rejected)
	noted := func(lines ...string) {
		t.Helper()
		r := audited(t, s, fixtest.RunID)
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
	fixtest.Decide(t, p, fix.Superseded)
	noted("line 1")
	fixtest.Disposed(t, s, fix.Superseded)
	// A crash can leave half a trace too.
	text := fixtest.Read(t, filepath.Join(p.Dir, "fixes", fix.EventsFile))
	fixtest.Check(t, os.WriteFile(filepath.Join(p.Dir, "fixes", fix.EventsFile), append(text, `{"seq":4,"at"`...), 0o600))
	fixtest.Disposed(t, s, fix.Superseded)
	fixtest.Decide(t, p, fix.Rejected)
	noted("line 1")
	fixtest.Disposed(t, s, fix.Rejected)
	text = fixtest.Read(t, filepath.Join(p.Dir, "fixes", fix.EventsFile))
	if want := `"type":"decided","task":"test","fix":"test","head":"sha256:`; strings.Count(string(text), want) != 2 ||
		!strings.Contains(string(text), `"lines":3,"to":"rejected","prev":`) {
		t.Errorf("%s", text)
	}
}

// Where no trace can be left nothing is decided.
func TestNoTraceNoDecision(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	p := fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Two, nil)
	fixtest.Check(t, os.WriteFile(filepath.Join(p.Dir, "fixes", fix.EventsFile), []byte("x\n"), 0o600))
	if err := fix.AddState(p.StatePath(), p.Digest, fix.StateChange{To: fix.Rejected}); err == nil ||
		!strings.Contains(err.Error(), fix.EventsFile) {
		t.Errorf("%v", err)
	}
	if recordfile.Exists(p.StatePath()) {
		t.Error("it was decided")
	}
}

// Decisions that were taken where a run was made stay there; those that are taken here leave their traces.
func TestTracesOfAnImport(t *testing.T) {
	t.Parallel()
	s := fixtest.NewStore(t, fixtest.One)
	p := fixtest.Sealed(t, s, "test", fixtest.One, fixtest.Two, nil)
	fixtest.Decide(t, p, fix.Rejected)
	there := filepath.Join(t.TempDir(), "there")
	fixtest.OK(t)(CopyRun(p.Dir, there))
	fixtest.Decide(t, p, fix.Superseded)
	if same, err := SameRun(there, p.Dir); err != nil || !same {
		t.Errorf("it goes on: %v, %v", same, err)
	}
	fixtest.Check(t, os.RemoveAll(p.Dir))
	fixtest.Check(t, os.CopyFS(p.Dir, os.DirFS(there)))
	if _, err := s.Find(fixtest.RunID, "test"); !errors.Is(err, fix.ErrDamaged) {
		t.Errorf("without the mark of an import: %v", err)
	}
	fixtest.Check(t, MarkImported(p.Dir, "there", ""))
	fixtest.Disposed(t, s, fix.Open)
	if r := audited(t, s, fixtest.RunID); len(r.Faults) > 0 {
		t.Fatalf("%+v", r.Faults)
	}
	fixtest.Decide(t, p, fix.Rejected)
	fixtest.Disposed(t, s, fix.Rejected)
	fixtest.Check(t, os.Remove(p.StatePath()))
	if _, err := s.Find(fixtest.RunID, "test"); !errors.Is(err, fix.ErrDamaged) {
		t.Errorf("%v", err)
	}
	if r := audited(t, s, fixtest.RunID); len(r.Faults) == 0 {
		t.Error("audit found nothing")
	}
}
