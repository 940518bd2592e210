package fix

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func verdict(v string) func(*Draft, *Fix) {
	return func(_ *Draft, f *Fix) { f.Verdict = ptr(v) }
}

// A worse newer proposal does not lock a verified older one out: whoever names that by its number may apply it, while nothing in
// its place is in the tree.
func TestOlderByItsNumber(t *testing.T) {
	t.Parallel()
	s := newTree(t, one)
	find := func(task string) *Proposal {
		t.Helper()
		p, err := s.Find(runID, task)
		check(t, err)
		return p
	}
	if p := sealed(t, s.Store, "test", one, two, verdict("verified")); p.Exact() != "test" || p.Fix.Exact() != "test" || p.Among() != 0 {
		t.Errorf("the only healing is called %s, %s, one of %d", p.Exact(), p.Fix.Exact(), p.Among())
	}
	worse := sealed(t, s.Store, "test", one, files{"a.txt": "f:worse\n"}, verdict("unverified"))
	check(t, s.Supersede(context.Background(), &worse.Fix))
	worse = find("test")
	if worse.Exact() != "test@2" || worse.Fix.Exact() != "test@2" || worse.Among() != 2 || worse.Verified == nil || *worse.Verified != "test@1" {
		t.Errorf("%s, %s, one of %d, %v", worse.Exact(), worse.Fix.Exact(), worse.Among(), worse.Verified)
	}
	if p := find("test@2"); p.Among() != 0 {
		t.Errorf("named by its number it is one of %d", p.Among())
	}
	older := find("test@1")
	if older.Disposition != superseded || older.Exact() != "test@1" {
		t.Errorf("%s is %s", older.Exact(), older.Disposition)
	}

	_, err := s.Apply(context.Background(), worse, Options{})
	check(t, err)
	if p := find("test"); p.Verified != nil {
		t.Errorf("%s is named although another is in the tree", *p.Verified)
	}
	_, err = s.Apply(context.Background(), older, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "async-pipeline fix revert "+runID+" test@2") {
		t.Errorf("beside the one in its place: %v", err)
	}
	_, err = s.Revert(context.Background(), worse, Options{})
	check(t, err)
	_, err = s.Reject(context.Background(), worse, "", Options{})
	check(t, err)
	_, err = s.Apply(context.Background(), find("test"), Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "; test@1 is verified: async-pipeline fix apply "+runID+" test@1") {
		t.Errorf("the rejected one: %v", err)
	}
	_, err = s.Apply(context.Background(), older, Options{})
	check(t, err)
	same(t, "applied", snapshot(t, s.Root), two)
	if p := find("test@1"); p.Disposition != applied {
		t.Errorf("it is %s", p.Disposition)
	}
	_, err = s.Revert(context.Background(), older, Options{})
	check(t, err)

	// Rejected is rejected, by whatever name.
	_, err = s.Reject(context.Background(), older, "", Options{})
	check(t, err)
	if _, err = s.Apply(context.Background(), find("test@1"), Options{}); !errors.Is(err, ErrRefused) {
		t.Errorf("a rejected one: %v", err)
	}
	same(t, "not applied", snapshot(t, s.Root), one)
}

// What a later run took the place of is applied by its number too, while that is not in the tree.
func TestOlderOfAnotherRun(t *testing.T) {
	t.Parallel()
	s := newTree(t, one)
	sealed(t, s.Store, "test", one, two, printed("fp:1"))
	newer := sealedIn(t, s.Store, laterRun, "test", change(one, files{"a.txt": "f:worse\n"}), printed("fp:1"))
	check(t, s.Supersede(context.Background(), &newer.Fix))
	plain, err := s.Find(runID, "test")
	check(t, err)
	_, err = s.Apply(context.Background(), plain, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "async-pipeline fix apply "+runID+" test@1") {
		t.Errorf("%v", err)
	}
	exact, err := s.Find(runID, "test@1")
	check(t, err)
	_, err = s.Apply(context.Background(), newer, Options{})
	check(t, err)
	_, err = s.Apply(context.Background(), exact, Options{})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "fix revert "+laterRun+" test@1") {
		t.Errorf("%v", err)
	}
	_, err = s.Revert(context.Background(), newer, Options{})
	check(t, err)
	_, err = s.Apply(context.Background(), exact, Options{})
	check(t, err)
	same(t, "applied", snapshot(t, s.Root), two)
}
