package apply

import (
	"context"
	"errors"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
	"strings"
	"testing"
)

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
		p, err := s.Find(fixtest.RunID, task)
		fixtest.Check(t, err)
		return p
	}
	if p := fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Two, verdict("verified")); p.Exact() != "test" ||
		p.Fix.Exact() != "test" || p.Among() != 0 {
		t.Errorf("the only healing is called %s, %s, one of %d", p.Exact(), p.Fix.Exact(), p.Among())
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

	_, err := s.Apply(context.Background(), worse, Options{})
	fixtest.Check(t, err)
	if p := find("test"); p.Verified != nil {
		t.Errorf("%s is named although another is in the tree", *p.Verified)
	}
	_, err = s.Apply(context.Background(), older, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(),
		"async-pipeline fix revert "+fixtest.RunID+" test@2") {
		t.Errorf("beside the one in its place: %v", err)
	}
	_, err = s.Revert(context.Background(), worse, Options{})
	fixtest.Check(t, err)
	_, err = s.Reject(context.Background(), worse, "", Options{})
	fixtest.Check(t, err)
	_, err = s.Apply(context.Background(), find("test"), Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(),
		"; test@1 is verified: async-pipeline fix apply "+fixtest.RunID+" test@1") {
		t.Errorf("the rejected one: %v", err)
	}
	_, err = s.Apply(context.Background(), older, Options{})
	fixtest.Check(t, err)
	fixtest.Same(t, "applied", fixtest.Snapshot(t, s.Root), fixtest.Two)
	if p := find("test@1"); p.Disposition != fix.Applied {
		t.Errorf("it is %s", p.Disposition)
	}
	_, err = s.Revert(context.Background(), older, Options{})
	fixtest.Check(t, err)

	// Rejected is rejected, by whatever name.
	_, err = s.Reject(context.Background(), older, "", Options{})
	fixtest.Check(t, err)
	if _, err = s.Apply(context.Background(), find("test@1"), Options{}); !errors.Is(err, ErrRefused) {
		t.Errorf("a rejected one: %v", err)
	}
	fixtest.Same(t, "not applied", fixtest.Snapshot(t, s.Root), fixtest.One)
}

// What a later run took the place of is applied by its number too, while that is not in the tree.
func TestOlderOfAnotherRun(t *testing.T) {
	t.Parallel()
	s := newTree(t, fixtest.One)
	fixtest.Sealed(t, s.Store, "test", fixtest.One, fixtest.Two, fixtest.Printed("fp:1"))
	newer := fixtest.SealedIn(t, s.Store, fixtest.LaterRun, "test",
		fixtest.Change(fixtest.One, fixtest.Files{"a.txt": "f:worse\n"}), fixtest.Printed("fp:1"))
	fixtest.Check(t, s.Supersede(context.Background(), &newer.Fix))
	plain, err := s.Find(fixtest.RunID, "test")
	fixtest.Check(t, err)
	_, err = s.Apply(context.Background(), plain, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(),
		"async-pipeline fix apply "+fixtest.RunID+" test@1") {
		t.Errorf("%v", err)
	}
	exact, err := s.Find(fixtest.RunID, "test@1")
	fixtest.Check(t, err)
	_, err = s.Apply(context.Background(), newer, Options{})
	fixtest.Check(t, err)
	_, err = s.Apply(context.Background(), exact, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "fix revert "+fixtest.LaterRun+" test@1") {
		t.Errorf("%v", err)
	}
	_, err = s.Revert(context.Background(), newer, Options{})
	fixtest.Check(t, err)
	_, err = s.Apply(context.Background(), exact, Options{})
	fixtest.Check(t, err)
	fixtest.Same(t, "applied", fixtest.Snapshot(t, s.Root), fixtest.Two)
}
