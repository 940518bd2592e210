package redact

import (
	"strings"
	"testing"
)

// part joins texts that no scanner of this repository should take for a key.
func part(parts ...string) string { return strings.Join(parts, "") }

func TestKeys(t *testing.T) {
	t.Parallel()
	line := "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"
	begin, end := part("-----BEGIN RSA PRI", "VATE KEY-----"), part("-----END RSA PRI", "VATE KEY-----")
	block := begin + "\n" + strings.Repeat(line, 20) + "abcd==\n" + end
	quoted := begin + `" +` + "\n\t\"" + strings.ReplaceAll(strings.Repeat(line, 2), "\n", "\" +\n\t\"")
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                {"FAIL: TestTotal: got 1, want 2", "FAIL: TestTotal: got 1, want 2"},
		"a word behind sk-":      {"class=sk-folding-cube-animation", "class=sk-folding-cube-animation"},
		"the name of a variable": {"npm_config_cache ghp_x AKIA", "npm_config_cache ghp_x AKIA"},
		"the documentation's":    {part("AKIA", "IOSFODNN7EXAMPLE"), Mark},
		"a short one":            {"key " + part("sk-", "abcdEFGH1234ijklMNOP") + ".", "key " + Mark + "."},
		"two":                    {part("ghp_", strings.Repeat("aB3d", 9)) + ", " + part("xoxp-", "123456789012-abcdefgh"), Mark + ", " + Mark},
		"in a URL":               {part("https://x:glpat-", "aB3dE5fG7hJ9kL1mN2pQ") + "@host/", "https://x:" + Mark + "@host/"},
		"a private key":          {"a\n" + block + "\nb", "a\n" + Mark + "\nb"},
		"in JSON":                {`{"key":"` + strings.ReplaceAll(block, "\n", `\n`) + `\n"}`, `{"key":"` + Mark + `\n"}`},
		"with a head":            {begin + "\nProc-Type: 4,ENCRYPTED\n\n" + line + end + "\n", Mark + "\n"},
		"between quotes":         {quoted, Mark + "\" +\n\t\""},
		"cut at its end":         {block[:400], Mark},
		"cut in a short line":    {block[:380], Mark},
		"cut in its front":       {block[200:] + "\nFAIL", Mark + "\nFAIL"},
		"two words of a source":  {`const a = "` + begin + `"; f(); const b = "` + end + `"`, `const a = "` + begin + `"; f(); const b = "` + end + `"`},
		"a public key":           {part("-----BEGIN PUB", "LIC KEY-----\n") + line, part("-----BEGIN PUB", "LIC KEY-----\n") + line},
	} {
		if got := Keys(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	for _, f := range KeyForms[1:] {
		if got := Keys("a " + f.Match + " b"); got != "a "+Mark+" b" {
			t.Errorf("%s: %q", f.ID, got)
		}
	}
}

// BenchmarkKeys is what searching costs: a log where no key can be, and one in which each line may have one.
func BenchmarkKeys(b *testing.B) {
	for name, text := range map[string]string{
		"none": string(chunk()), "maybe": strings.Repeat("desk-top npm_config ghp_ eyJ 2026-11-22 compiled\n", 1300),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Keys(text)
			}
		})
	}
}
