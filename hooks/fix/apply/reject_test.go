package apply

import (
	"context"
	"errors"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"os"
	"strings"
	"testing"
)

// A rejected fix is no longer open, and is not applied.
func TestReject(t *testing.T) {
	t.Parallel()
	s := newTree(t, fixtest.One)
	p := fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Two, nil)
	if s.Keeps(fixtest.RunID) == "" {
		t.Error("an open proposal does not keep its run")
	}
	reject := func(reason string, dry bool) (Rejected, error) {
		return s.Reject(context.Background(), p, reason, Options{By: "tester", DryRun: dry})
	}
	_, err := reject("no", true)
	fixtest.Check(t, err)
	fixtest.Disposed(t, s.Store, fix.Open)
	r, err := reject("  the test was \xff right\n", false)
	fixtest.Check(t, err)
	if r.Already {
		t.Errorf("%+v", r)
	}
	fixtest.Disposed(t, s.Store, fix.Rejected)
	if kept := s.Keeps(fixtest.RunID); kept != "" {
		t.Errorf("it is kept: %s", kept)
	}
	state, err := os.ReadFile(p.StatePath())
	fixtest.Check(t, err)
	if want := `"by":"tester","to":"rejected","files":["a.txt"],"accepted":[],"apply":null,"reason":"the test was ` + "\uFFFD" + ` right","prev":`; !strings.Contains(string(state), want) {
		t.Errorf("%s", state)
	}
	if r, err = reject("again", false); err != nil || !r.Already {
		t.Errorf("%+v %v", r, err)
	}
	if again, _ := os.ReadFile(p.StatePath()); string(again) != string(state) {
		t.Errorf("recorded twice: %s", again)
	}
	_, err = apply(t, s, p, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "this fix was rejected at ") ||
		!strings.Contains(err.Error(), `("the test was`) {
		t.Errorf("%v", err)
	}
	fixtest.Same(t, "not applied", fixtest.Snapshot(t, s.Root), fixtest.One)
}

func TestRejectChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with func(t *testing.T, s *testTree, p *fix.Proposal)
		more func(*draft.Draft, *fix.Fix)
		says string
	}{
		"applied": {with: func(t *testing.T, s *testTree, p *fix.Proposal) {
			_, err := apply(t, s, p, Options{})
			fixtest.Check(t, err)
		}, says: "not rejected: it is applied; take it back first: async-pipeline fix revert " + fixtest.RunID + " test"},
		"superseded": {with: func(t *testing.T, _ *testTree, p *fix.Proposal) { fixtest.Decide(t, p, fix.Superseded) },
			says: "not rejected: a later fix took its place"},
		"no proposal": {more: func(_ *draft.Draft, f *fix.Fix) { f.State, f.Patch = fix.NoFix, nil },
			says: "not rejected: the healing of task test in run " + fixtest.RunID + " ended as no_fix"},
		"damaged": {with: func(t *testing.T, _ *testTree, p *fix.Proposal) {
			fixtest.Check(t, os.WriteFile(p.StatePath(), []byte("x\n"), 0o600))
		}, says: "not rejected: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTree(t, fixtest.One)
			p := fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Two, c.more)
			if c.with != nil {
				c.with(t, s, p)
			}
			before, _ := os.ReadFile(p.StatePath())
			_, err := s.Reject(context.Background(), p, "", Options{})
			if !errors.Is(err, ErrRefused) || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if after, _ := os.ReadFile(p.StatePath()); string(after) != string(before) {
				t.Errorf("recorded: %s", after)
			}
		})
	}
	s := newTree(t, fixtest.One)
	p := fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Files{"a.txt": "f:two\n", "b.txt": "f:b\n"}, nil)
	_, err := apply(t, s, p, Options{Files: []string{"b.txt"}})
	fixtest.Check(t, err)
	r, err := s.Reject(context.Background(), p, strings.Repeat("é", MaxReason), Options{})
	fixtest.Check(t, err)
	if len(r.Applied) != 1 || r.Applied[0] != "b.txt" {
		t.Errorf("%+v", r)
	}
	decisions, err := fix.ReadState(p.StatePath(), p.Digest)
	fixtest.Check(t, err)
	if reason := decisions[1].Reason; len(reason) > MaxReason || !strings.HasSuffix(reason, "é…") {
		t.Errorf("a reason of %d bytes, …%q", len(reason), reason[len(reason)-8:])
	}
	// What was applied of it can still be taken back.
	_, err = revert(t, s, Options{})
	fixtest.Check(t, err)
	fixtest.Same(t, "reverted", fixtest.Snapshot(t, s.Root), fixtest.One)
}
