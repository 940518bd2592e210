package view

import (
	"encoding/json"
	"testing"
)

// What a pack says of the last pass, in words.
func TestPackLastPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ changed, pass, since string }{
		{`{"baseline": "none", "paths": null}`, "never, in the runs that are kept", ""},
		{`{"baseline": null}`, "", ""},
		{`{"baseline": "R1", "commit": null, "paths": null}`, "run R1", "not known: git could not tell"},
		{`{"baseline": "R1", "commit": "0123456789abcdef", "dirty": false, "paths": []}`, "run R1, at commit 0123456789ab", "no file changed"},
		{`{"baseline": "R1", "commit": "0123", "dirty": true, "paths": [{"path": "a", "change": "added"}, {"path": "b", "change": "removed"}], "more": 3}`, "run R1, at commit 0123 with uncommitted changes", "added a, removed b, and 3 more"},
	} {
		var p Pack
		if err := json.Unmarshal([]byte(`{"changed": `+tt.changed+`}`), &p); err != nil {
			t.Fatal(err)
		}
		if pass, since := p.lastPass(), p.sinceThen(); pass != tt.pass || since != tt.since {
			t.Errorf("%s: %q, %q; want %q, %q", tt.changed, pass, since, tt.pass, tt.since)
		}
	}
}
