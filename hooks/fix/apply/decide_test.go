package apply

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// A rejected fix is no longer open, and is not applied.
func TestReject(t *testing.T) {
	t.Parallel()
	s, p := proposed(t, fixtest.One, fixtest.Two)
	if s.Keeps(fixtest.RunID) == "" {
		t.Error("an open proposal does not keep its run")
	}
	reject := func(reason string, dry bool) (Rejected, error) {
		return s.Reject(context.Background(), p, reason, Options{By: "tester", DryRun: dry})
	}
	fixtest.OK(t)(reject("no", true))
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
	state := fixtest.Read(t, p.StatePath())
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
	s.holds(t, "not applied", fixtest.One)
}

func TestRejectChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with func(t *testing.T, s *testTree, p *fix.Proposal)
		more func(*draft.Draft, *fix.Fix)
		says string
	}{
		"applied": {with: func(t *testing.T, s *testTree, p *fix.Proposal) {
			fixtest.OK(t)(apply(t, s, p, Options{}))
		}, says: "not rejected: it is applied; take it back first: async-pipeline fix revert " + fixtest.RunID + " test"},
		"superseded": {
			with: func(t *testing.T, _ *testTree, p *fix.Proposal) { fixtest.Decide(t, p, fix.Superseded) },
			says: "not rejected: a later fix took its place",
		},
		"no proposal": {
			more: func(_ *draft.Draft, f *fix.Fix) { f.State, f.Patch = fix.NoFix, nil },
			says: "not rejected: no fix is proposed for task test of run " + fixtest.RunID + " (no_fix); there is nothing to reject",
		},
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
	s, p := proposed(t, fixtest.One, twoAndB)
	fixtest.OK(t)(apply(t, s, p, Options{Files: []string{"b.txt"}}))
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
	fixtest.OK(t)(revert(t, s, Options{}))
	s.holds(t, "reverted", fixtest.One)
}

func verdict(v string) func(*draft.Draft, *fix.Fix) {
	return func(_ *draft.Draft, f *fix.Fix) { f.Verdict = new(v) }
}

// A worse newer proposal does not lock a verified older one out: whoever names that by its number may apply it,
// while nothing in its place is in the tree.
func TestOlderByItsNumber(t *testing.T) {
	t.Parallel()
	s := newTree(t, fixtest.One)
	find := func(task string) *fix.Proposal {
		t.Helper()
		p := fixtest.Find(t, s.Store, fixtest.RunID, task)
		return p
	}
	if p := fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Two, verdict("verified")); p.Exact() != "test" ||
		p.Fix.Exact() != "test" || p.Among() != 0 {
		t.Errorf("the only fix is called %s, %s, one of %d", p.Exact(), p.Fix.Exact(), p.Among())
	}
	worse := fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Files{"a.txt": "f:worse\n"}, verdict("unverified"))
	fixtest.Check(t, s.Supersede(context.Background(), &worse.Fix))
	worse = find("test")
	if worse.Exact() != "test@2" || worse.Fix.Exact() != "test@2" || worse.Among() != 2 || worse.Verified == nil ||
		*worse.Verified != "test@1" {
		t.Errorf("%s, %s, one of %d, %v", worse.Exact(), worse.Fix.Exact(), worse.Among(), worse.Verified)
	}
	if p := find("test@2"); p.Among() != 0 {
		t.Errorf("named by its number it is one of %d", p.Among())
	}
	older := find("test@1")
	if older.Disposition != fix.Superseded || older.Exact() != "test@1" {
		t.Errorf("%s is %s", older.Exact(), older.Disposition)
	}

	fixtest.OK(t)(s.Apply(context.Background(), worse, Options{}))
	if p := find("test"); p.Verified != nil {
		t.Errorf("%s is named although another is in the tree", *p.Verified)
	}
	_, err := s.Apply(context.Background(), older, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(),
		"async-pipeline fix revert "+fixtest.RunID+" test@2") {
		t.Errorf("beside the one in its place: %v", err)
	}
	fixtest.OK(t)(s.Revert(context.Background(), worse, Options{}))
	fixtest.OK(t)(s.Reject(context.Background(), worse, "", Options{}))
	_, err = s.Apply(context.Background(), find("test"), Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(),
		"; test@1 is verified: async-pipeline fix apply "+fixtest.RunID+" test@1") {
		t.Errorf("the rejected one: %v", err)
	}
	fixtest.OK(t)(s.Apply(context.Background(), older, Options{}))
	s.holds(t, "applied", fixtest.Two)
	if p := find("test@1"); p.Disposition != fix.Applied {
		t.Errorf("it is %s", p.Disposition)
	}
	fixtest.OK(t)(s.Revert(context.Background(), older, Options{}))

	// Rejected is rejected, by whatever name.
	fixtest.OK(t)(s.Reject(context.Background(), older, "", Options{}))
	if _, err = s.Apply(context.Background(), find("test@1"), Options{}); !errors.Is(err, ErrRefused) {
		t.Errorf("a rejected one: %v", err)
	}
	s.holds(t, "not applied", fixtest.One)
}

// What a later run took the place of is applied by its number too, while that is not in the tree.
func TestOlderOfAnotherRun(t *testing.T) {
	t.Parallel()
	s := newTree(t, fixtest.One)
	fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Two, fixtest.Printed("fp:1"))
	newer := fixtest.SealedIn(t, s.Store, fixtest.LaterRun, "test",
		fixtest.Change(fixtest.One, fixtest.Files{"a.txt": "f:worse\n"}), fixtest.Printed("fp:1"))
	fixtest.Check(t, s.Supersede(context.Background(), &newer.Fix))
	plain := fixtest.Find(t, s.Store, fixtest.RunID, "test")
	_, err := s.Apply(context.Background(), plain, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(),
		"async-pipeline fix apply "+fixtest.RunID+" test@1") {
		t.Errorf("%v", err)
	}
	exact := fixtest.Find(t, s.Store, fixtest.RunID, "test@1")
	fixtest.OK(t)(s.Apply(context.Background(), newer, Options{}))
	_, err = s.Apply(context.Background(), exact, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "fix revert "+fixtest.LaterRun+" test@1") {
		t.Errorf("%v", err)
	}
	fixtest.OK(t)(s.Revert(context.Background(), newer, Options{}))
	fixtest.OK(t)(s.Apply(context.Background(), exact, Options{}))
	s.holds(t, "applied", fixtest.Two)
}
