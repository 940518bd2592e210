package fix_test

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/fix/fixtest"
)

// A healing that came to nothing after the proposal that counts is told of; an older one, and one that was held back
// because there is a proposal, is not.
func TestLater(t *testing.T) {
	t.Parallel()
	before, after := fixtest.Files{"a": "f:1"}, fixtest.Files{"a": "f:2"}
	s := fixtest.NewStore(t, before)
	fixtest.Sealed(t, s, "test", nil, nil, nil)
	if p := fixtest.Sealed(t, s, "test", before, after, nil); p.Later != nil {
		t.Errorf("an older one: %+v", p.Later)
	}
	ended := func(state, reason string) func(*draft.Draft, *fix.Fix) {
		return func(_ *draft.Draft, f *fix.Fix) { f.State, f.Reason = state, &reason }
	}
	if p := fixtest.Sealed(t, s, "test", nil, nil, ended(fix.NotReproduced, "passed")); p.State != fix.Proposed ||
		p.Later == nil ||
		p.Later.Name != "test@3" || p.Later.State != fix.NotReproduced || *p.Later.Reason != "passed" {
		t.Errorf("%+v", p.Later)
	}
	if p := fixtest.Sealed(t, s, "test", nil, nil, ended(fix.Skipped, "open_proposal: run x")); p.Later.Name != "test@3" {
		t.Errorf("held back by the proposal: %+v", p.Later)
	}
	if p := fixtest.Sealed(t, s, "test", nil, nil, ended(fix.Failed, "idle")); p.Later.Name != "test@5" {
		t.Errorf("the newest: %+v", p.Later)
	}
	if p := fixtest.Sealed(t, s, "test", before, after, nil); p.Later != nil {
		t.Errorf("a newer proposal: %+v", p.Later)
	}
}
