package fix

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// A rejected fix is no longer open, and is not applied.
func TestReject(t *testing.T) {
	t.Parallel()
	s := newTree(t, one)
	p := sealed(t, s.Store, "test", one, two, nil)
	if s.Keeps(runID) == "" {
		t.Error("an open proposal does not keep its run")
	}
	reject := func(reason string, dry bool) (Rejected, error) {
		return s.Reject(context.Background(), p, reason, Options{By: "tester", DryRun: dry})
	}
	_, err := reject("no", true)
	check(t, err)
	disposed(t, s.Store, open)
	r, err := reject("  the test was \xff right\n", false)
	check(t, err)
	if r.Already {
		t.Errorf("%+v", r)
	}
	disposed(t, s.Store, rejected)
	if kept := s.Keeps(runID); kept != "" {
		t.Errorf("it is kept: %s", kept)
	}
	state, err := os.ReadFile(p.statePath())
	check(t, err)
	if want := `"by":"tester","to":"rejected","files":["a.txt"],"accepted":[],"apply":null,"reason":"the test was ` + "\uFFFD" + ` right","prev":`; !strings.Contains(string(state), want) {
		t.Errorf("%s", state)
	}
	if r, err = reject("again", false); err != nil || !r.Already {
		t.Errorf("%+v %v", r, err)
	}
	if again, _ := os.ReadFile(p.statePath()); string(again) != string(state) {
		t.Errorf("recorded twice: %s", again)
	}
	_, err = apply(t, s, p, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "this fix was rejected at ") || !strings.Contains(err.Error(), `("the test was`) {
		t.Errorf("%v", err)
	}
	same(t, "not applied", snapshot(t, s.Root), one)
}

func TestRejectChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with func(t *testing.T, s *testTree, p *Proposal)
		more func(*Draft, *Fix)
		says string
	}{
		"applied":     {with: func(t *testing.T, s *testTree, p *Proposal) { _, err := apply(t, s, p, Options{}); check(t, err) }, says: "not rejected: it is applied; take it back first: async-pipeline fix revert " + runID + " test"},
		"superseded":  {with: func(t *testing.T, _ *testTree, p *Proposal) { decide(t, p, superseded) }, says: "not rejected: a later fix took its place"},
		"no proposal": {more: func(_ *Draft, f *Fix) { f.State, f.Patch = NoFix, nil }, says: "not rejected: the healing of task test in run " + runID + " ended as no_fix"},
		"damaged": {with: func(t *testing.T, _ *testTree, p *Proposal) {
			check(t, os.WriteFile(p.statePath(), []byte("x\n"), 0o600))
		}, says: "not rejected: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, one)
			p := sealed(t, s.Store, "test", one, two, c.more)
			if c.with != nil {
				c.with(t, s, p)
			}
			before, _ := os.ReadFile(p.statePath())
			_, err := s.Reject(context.Background(), p, "", Options{})
			if !errors.Is(err, ErrRefused) || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if after, _ := os.ReadFile(p.statePath()); string(after) != string(before) {
				t.Errorf("recorded: %s", after)
			}
		})
	}
	s := newTree(t, one)
	p := sealed(t, s.Store, "test", one, files{"a.txt": "f:two\n", "b.txt": "f:b\n"}, nil)
	_, err := apply(t, s, p, Options{Files: []string{"b.txt"}})
	check(t, err)
	r, err := s.Reject(context.Background(), p, strings.Repeat("é", MaxReason), Options{})
	check(t, err)
	if len(r.Applied) != 1 || r.Applied[0] != "b.txt" {
		t.Errorf("%+v", r)
	}
	decisions, err := readDecisions(p.statePath(), p.digest)
	check(t, err)
	if reason := decisions[1].Reason; len(reason) > MaxReason || !strings.HasSuffix(reason, "é…") {
		t.Errorf("a reason of %d bytes, …%q", len(reason), reason[len(reason)-8:])
	}
	// What was applied of it can still be taken back.
	_, err = revert(t, s, Options{})
	check(t, err)
	same(t, "reverted", snapshot(t, s.Root), one)
}
