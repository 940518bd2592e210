package cli

// What is known of a CLI before it is started.

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Program returns why the CLI's program cannot be started, and the command that installs it. The error is nil where it
// can be started, or where nothing looks for it.
func (k *Known) Program() (install string, err error) {
	p := find(k.CLI)
	if p == nil || k.Look == nil {
		return "", nil
	}
	return "npm install -g " + p.pack, k.Look(p.name)
}

// SignIn returns the file that holds the person's sign-in, "~/…", and reports whether it is there.
func (k *Known) SignIn() (file string, found bool) {
	p := find(k.CLI)
	if p == nil {
		return "", false
	}
	return "~/" + p.signIn[0].path, p.signedIn(k.Given.Home)
}

// Endpoint returns where the CLI finds its provider with its own sign-in. It is empty where that is not known.
func (k *Known) Endpoint() string {
	p := find(k.CLI)
	if p == nil || p.endpoint == nil {
		return ""
	}
	return p.endpoint(k.Given.Home)
}

// at returns an endpoint that is the same for everyone.
func at(address string) func(string) string { return func(string) string { return address } }

// codexEndpoint returns where codex goes: with a key to the API, else to where plans are served.
func codexEndpoint(home string) string {
	var auth struct {
		Key *string `json:"OPENAI_API_KEY"`
	}
	text, err := os.ReadFile(filepath.Join(home, codexAuth))
	if err == nil && json.Unmarshal(text, &auth) == nil && auth.Key != nil && *auth.Key != "" {
		return "https://api.openai.com"
	}
	return "https://chatgpt.com"
}

// Proxied returns the proxy for https:// that the agent is given, empty if it is given none.
func (g *Given) Proxied() string {
	for _, name := range []string{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		if v := value(g.Env, name); v != "" {
			return v
		}
	}
	return ""
}
