package cli

// Which texts in a file that an agent is given are secrets.

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

const (
	leastValue  = 8   // bytes of what looks like a key wherever it is
	leastNumber = 6   // digits of a number that may be a password
	leastRun    = 16  // bytes of a text in a binary file
	mostRuns    = 200 // of one binary file: each costs memory
)

// addSecrets makes the values in a file secrets: an agent can read them, and must not show them.
func addSecrets(secrets *redact.Set, name string, text []byte) {
	for _, v := range values(name, text) {
		secrets.Add(name, v)
	}
}

// values returns what is a secret in a file:
//
//   - what has 8 bytes or more with a letter and a digit: of JSON the texts, of other files the words between spaces,
//     quotes, colons and equals signs;
//   - the value of a field whose name tells that it is a secret, such as api_key, in JSON, in YAML, TOML, INI and dotenv
//     files, and in .netrc;
//   - passwords in URLs;
//   - of a binary file, runs of 16 printable characters or more.
//
// Addresses, versions, dates, names of models and of variables, numbers of few digits and words that are in nearly any
// text are none, nor are paths if their field's name does not tell.
func values(name string, text []byte) (found []string) {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return runs(text)
	}
	found = redact.InURLs(string(text))
	likely := func(word string) {
		letter, digit := strings.ContainsFunc(word, unicode.IsLetter), strings.ContainsFunc(word, unicode.IsDigit)
		if len(word) >= leastValue && letter && digit && !strings.ContainsFunc(word, unicode.IsSpace) && !strings.HasPrefix(word, "/") &&
			!harmless(word) {
			found = append(found, word)
		}
	}
	named := func(value string) {
		if value = strings.TrimSpace(value); len(value) >= redact.MinLen && !redact.Common(value) && !harmless(value) {
			found = append(found, value)
		}
	}
	var whole any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&whole) == nil && !d.More() {
		leaves("", whole, likely, named)
		return found
	}
	for _, word := range strings.FieldsFunc(string(text), func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune(`"'=:,;`, c)
	}) {
		likely(word)
	}
	for line := range strings.Lines(string(text)) {
		assignments(strings.TrimSpace(line), named)
	}
	if strings.HasSuffix(path.Base(name), "netrc") {
		words := strings.Fields(string(text))
		for i, word := range words {
			if word == "password" && i+1 < len(words) {
				named(words[i+1])
			}
		}
	}
	return found
}

// leaves calls likely with each text of a JSON value, and named with those, and the numbers, of a field whose name tells
// that it is a secret.
func leaves(field string, v any, likely, named func(string)) {
	switch v := v.(type) {
	case string:
		likely(v)
		if secretName(field) {
			named(v)
		}
	case json.Number:
		if secretName(field) {
			named(v.String())
		}
	case []any:
		for _, e := range v {
			leaves(field, e, likely, named)
		}
	case map[string]any:
		for name, e := range v {
			leaves(name, e, likely, named)
		}
	}
}

// A quotedField is a field with a value in quotes, of which a line may have several. A bareField is the only one of its
// line. Before the name may be a path, as //host/:_authToken=… in .npmrc.
var (
	quotedField = lazily.Regexp(`([A-Za-z_][\w.-]*)["']?\s*[:=]\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')`)
	bareField   = lazily.Regexp(`^(?:export\s+|set\s+|[-{]\s*|\S*[/:])?([A-Za-z_][\w.-]*)["']?\s*[:=]\s*([^\s"'#{[].*)$`)
	comment     = lazily.Regexp(`\s[#;].*$`)
)

// assignments calls named with the values in a line whose names tell that they are secrets.
func assignments(line string, named func(string)) {
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
		return
	}
	for _, m := range quotedField().FindAllStringSubmatch(line, -1) {
		if !secretName(m[1]) {
			continue
		}
		var plain string
		if json.Unmarshal([]byte(`"`+m[2]+`"`), &plain) == nil {
			named(plain)
		}
		named(m[2] + m[3])
	}
	if m := bareField().FindStringSubmatch(line); m != nil && secretName(m[1]) {
		named(strings.TrimRight(m[2], ",;}"))
		named(comment().ReplaceAllLiteralString(m[2], ""))
	}
}

// runs returns the printable runs of a binary file that may be secrets.
func runs(text []byte) (found []string) {
	for run := range bytes.FieldsFuncSeq(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		if len(run) >= leastRun && len(found) < mostRuns {
			found = append(found, string(run))
		}
	}
	return found
}

var (
	nameWord = lazily.Regexp(`[A-Z]+(?:[a-z]+)?|[a-z]+`)
	harm     = lazily.Regexp(`^(?:` +
		`.*://.*|~/.*|[A-Za-z]:\\.*` + // addresses and paths
		`|v?\d+(?:\.\d+)+(?:[-+][\w.+-]*)?` + // versions
		`|\d{4}-\d\d-\d\d(?:[T ][\d:.,]+(?:Z|[+-][\d:]+)?)?` + // dates
		`|\$\w+|\$?\{.*\}|%\w+%|env:.*|[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:KEY|TOKEN|SECRET|PASSWORD)` + // variables
		`|(?i:(?:[\w.-]+[/.])?(?:claude|gpt|chatgpt|codex|gemini|gemma|llama|mi[sx]tral|qwen|deepseek|grok|glm|kimi|phi)` +
		`-?\d?[a-z0-9.]{0,8}(?:[-:.@](?:[a-z]{1,10}|\d{1,8}[a-z]?|[a-z]\d{1,4}))*)` + // models
		`)$`)
)

// harmless reports whether a text is what files of settings have and nobody hides.
func harmless(text string) bool {
	digits := !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsDigit(c) && c != '.' })
	return digits && len(text) < leastNumber || harm().MatchString(text)
}

// secretWords are what names of secrets end with.
var secretWords = []string{
	"token", "key", "secret", "password", "passwd", "passphrase", "pass", "pwd", "pw", "apikey", "authtoken",
	"accesstoken", "accesskey", "secretkey", "privatekey", "credential", "credentials", "tokens", "keys", "secrets",
	"passwords",
}

// secretName reports whether the name of a field tells that its value is a secret: its last word does, and none tells
// that the value is public.
func secretName(field string) bool {
	parts := nameWord().FindAllString(field, -1)
	if len(parts) == 0 {
		return false
	}
	for i, p := range parts {
		parts[i] = strings.ToLower(p)
	}
	last := parts[len(parts)-1]
	counts := len(parts) > 1 && slices.Contains([]string{"max", "min", "input", "output"}, parts[len(parts)-2])
	return slices.Contains(secretWords, last) && !slices.Contains(parts, "public") && !counts
}
