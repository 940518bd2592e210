package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		want       string // sorted, without doubles, between spaces
	}{
		"JSON": {
			"a.json", `{"apiKey": "k9x", "auth_token": "a1b2", "url": "https://h/v1/x", "list": ["tok-12345678"], "note": "none"}`,
			"a1b2 tok-12345678",
		},
		"JSON of settings": {
			"a.json", `{"token": "true", "key": 1, "secret": null, "password": false, "version": "12.34.56-rc1", "max_tokens": 40960,
				"model": "claude-sonnet-4-5-20250929", "other_model": "openai/gpt-5.3-codex", "third": "gemini-2.5-flash-lite",
				"fourth": "us.anthropic.claude-opus-4-1-20250805-v1:0", "fifth": "qwen2.5-coder:32b", "public_key": "abcdef",
				"expires": "2026-11-22T10:00:00Z", "api_key": "OPENAI_API_KEY", "secret_key": "${KEY_2_OF_US}", "token_type": "bearer",
				"pass": "1234", "pwd": "postgres", "home": "/home/user1/x"}`,
			"",
		},
		"JSON with numbers and lists": {
			"a.json", `{"password": 12345678, "tokens": {"access_token": "wxyz"}, "keys": ["abcd", "efgh"]}`,
			"12345678 abcd efgh wxyz",
		},
		"JSON with comments": {"a.json", "{\n  // mine\n  \"apiKey\": \"a\\\"b1\", \"user\": \"longer-than-8\",\n}", `a"b1 a\"b1 longer-than-8`},
		"TOML":               {"a.toml", "[x]\ntoken = \"ab-cd\"\nuser = \"bob\"\nin = { secret = 'sixsix', a = 1 }\n", "ab-cd sixsix"},
		"YAML":               {"a.yml", "host:\n  oauth_token: fivev # mine\n  user: bobby\n  key: |\n  - password: seven77\n", "fivev fivev_#_mine seven77"},
		"INI":                {"a.ini", "[default]\nuser = bobby\naws_secret_access_key = a/b;c\n; password = commented\n# key: this\n", "a/b;c"},
		"dotenv":             {"a.env", "export DB_PASSWORD=f0ur\nHOST=localhost\nKEY_FILE=/etc/x\n", "f0ur"},
		"npmrc":              {".npmrc", "//registry.npmjs.org/:_authToken=n0de\nregistry=https://registry.npmjs.org/\n", "n0de"},
		"netrc":              {"~/.netrc", "machine h login bob password p4ss\nmachine i\n\tlogin eve\n\tpassword hunter\n", "hunter p4ss"},
		"a sentence":         {"a.md", "the key this file has is no password: none\nhere the token must be\n", ""},
		"URLs": {
			"a.txt", "see https://bob:p4ss@host/x, http://host:80/y and git+ssh://eve:root@host\n",
			"bob:p4ss eve:root@ p4ss p4ss@host/x",
		},
		"words that look like keys": {"a", "tok-0123456789abcdef 12345678 abcdefgh v1.22.333 /usr/lib64/x\n", "tok-0123456789abcdef"},
		"binary":                    {"a.db", "SQLite format 3\x00\x01abcdefghijklmnop\x02short\xffqrstuvwxyz012345 6", "abcdefghijklmnop qrstuvwxyz012345"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := values(c.file, []byte(c.text))
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], " ", "_")
			}
			slices.Sort(got)
			if all := strings.Join(slices.Compact(got), " "); all != c.want {
				t.Errorf("got  %s\nwant %s", all, c.want)
			}
		})
	}
	many := strings.Repeat("abcdefghijklmnop\x00", mostRuns+5)
	if n := len(values("a", []byte(many))); n != mostRuns {
		t.Errorf("%d runs of a binary file are taken", n)
	}
}

func TestSecretName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"token": true, "apiKey": true, "APIKey": true, "OPENAI_API_KEY": true, "client-secret": true, "_authToken": true,
		"db.password": true, "tokens": true, "max_tokens": false, "maxTokens": false, "tokenizer": false, "token_url": false,
		"public_key": false, "publicKey": false, "keyboard": false, "monkey": false, "": false, "7": false,
	} {
		if got := secretName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
