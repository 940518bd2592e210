package project

import "testing"

func TestTyped(t *testing.T) {
	t.Parallel()
	if got, want := (&Project{}).Typed("fix", "apply", "r", "t"), "async-pipeline fix apply r t"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := (&Project{Into: "my dir"}).Typed("run", "it's"), `async-pipeline -C 'my dir' run 'it'\''s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
