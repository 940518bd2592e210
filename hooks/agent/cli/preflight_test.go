package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// Where codex goes depends on its sign-in; of the others that are known it is one address. A proxy is the one that the
// agent is given.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for auth, want := range map[string]string{
		`{"OPENAI_API_KEY": "sk-0123456789"}`:                              "https://api.openai.com",
		`{"OPENAI_API_KEY": null, "tokens": {"access_token": "t-123456"}}`: "https://chatgpt.com",
		``: "https://chatgpt.com",
	} {
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, ".codex"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, codexAuth), []byte(auth), 0o600); err != nil {
			t.Fatal(err)
		}
		k := &Known{CLI: "codex", Given: Given{Home: home}}
		if file, found := k.SignIn(); file != "~/.codex/auth.json" || !found {
			t.Errorf("%s, %t", file, found)
		}
		if got := k.Endpoint(); got != want {
			t.Errorf("%s: %s", auth, got)
		}
	}
	for name, want := range map[string]string{"claude": "https://api.anthropic.com", "pi": "", "none": ""} {
		if got := (&Known{CLI: name}).Endpoint(); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	given := Given{Env: []string{"HTTP_PROXY=http://a", "HTTPS_PROXY=http://b", "ALL_PROXY=http://c"}}
	if got := given.Proxied(); got != "http://b" {
		t.Errorf("proxy %q", got)
	}
}
