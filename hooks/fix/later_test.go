package fix

import (
	"testing"
)

// A healing that came to nothing after the proposal that counts is told of; an older one, and one that was held back because
// there is a proposal, is not.
func TestLater(t *testing.T) {
	t.Parallel()
	before, after := files{"a": "f:1"}, files{"a": "f:2"}
	s := newStore(t, before)
	sealed(t, s, "test", nil, nil, nil)
	if p := sealed(t, s, "test", before, after, nil); p.Later != nil {
		t.Errorf("an older one: %+v", p.Later)
	}
	ended := func(state, reason string) func(*Draft, *Fix) {
		return func(_ *Draft, f *Fix) { f.State, f.Reason = state, &reason }
	}
	if p := sealed(t, s, "test", nil, nil, ended(NotReproduced, "passed")); p.State != Proposed || p.Later == nil ||
		p.Later.Name != "test@3" || p.Later.State != NotReproduced || *p.Later.Reason != "passed" {
		t.Errorf("%+v", p.Later)
	}
	if p := sealed(t, s, "test", nil, nil, ended(Skipped, "open_proposal: run x")); p.Later.Name != "test@3" {
		t.Errorf("held back by the proposal: %+v", p.Later)
	}
	if p := sealed(t, s, "test", nil, nil, ended(Failed, "idle")); p.Later.Name != "test@5" {
		t.Errorf("the newest: %+v", p.Later)
	}
	if p := sealed(t, s, "test", before, after, nil); p.Later != nil {
		t.Errorf("a newer proposal: %+v", p.Later)
	}
}
