package review

// placeholder and secret: text that should not be in a patch.

import (
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

var (
	leftOut = late.Regexp(`(?i)(?:\.\.\.|…)\s*\(?\s*(?:the\s+)?(?:rest|remaining|remainder|existing|previous|original|other|same)\b[\w\s,'-]*|` +
		`\b(?:the\s+)?(?:rest|remainder)\s+of\s+(?:the\s+|this\s+|your\s+)?(?:code|file|function|class|implementation|method|module|content|logic|component|tests?)s?\b[\w\s,'-]*\b(?:unchanged|same|here|remains?|omitted|stays?|as\s+before|goes)\b|` +
		`\b(?:existing|previous|original|other|remaining)\s+(?:code|methods?|functions?|implementation|logic|imports?|tests?|content)\s+(?:here|unchanged|remains?|stays?|goes\s+here|as\s+before|omitted)\b|` +
		`^\W*(?:\.\.\.|…)?\s*\(?(?:unchanged|omitted(?:\s+for\s+brevity)?|snip(?:ped)?|no\s+changes?\s+(?:here|below|above))\)?\s*(?:\.\.\.|…)?\W*$|\bomitted\s+for\s+brevity\b|` +
		`\b(?:your|add|insert|put)\s+(?:\w+\s+){0,2}(?:code|logic|implementation)\s+(?:goes\s+)?here\b|` +
		`\b(?:TODO|FIXME|XXX)\b\W*\s*(?:implement|fill\s+(?:this\s+)?in|complete\s+(?:the\s+|this\s+)?implementation|actual\s+implementation)\w*`)
	leftOutWords = []string{"...", "…", "est of", "emainder", "xisting", "revious", "riginal", "other ", "Other ", "emaining", "nchanged", "mitted", "snip", "No change", "no change", "here", "TODO", "FIXME", "XXX", "todo", "REST", "EXIST", "UNCH", "Todo"}
	stub         = map[string]func() *regexp.Regexp{
		"rust": late.Regexp(`\b(?:todo|unimplemented)!\s*\(`),
		"go":   late.Regexp(`\bpanic\(\s*"(?:TODO|not implemented|unimplemented)`),
		"web":  late.Regexp(`\bthrow new Error\(\s*['"\x60](?:TODO|[Nn]ot (?:yet )?implemented)`),
		"py":   late.Regexp(`\braise NotImplementedError\(\s*["'](?:TODO|[Nn]ot (?:yet )?implemented)`),
		"jvm":  late.Regexp(`\bTODO\(|\bthrow new UnsupportedOperationException\(\s*"(?:TODO|[Nn]ot (?:yet )?implemented)`),
	}
)

// placeholders looks into comments: a program may well have such words in its strings. In a file of no known language the whole line must be one.
func (r *report) placeholders(e *edit) {
	if e.language == "" || e.language == "json" || e.class == 3 {
		return
	}
	seen := map[string]int{}
	for _, i := range e.removed {
		if note := e.before.notes(i); strings.TrimSpace(note) != "" && containsAny(note, leftOutWords) {
			for _, m := range leftOut().FindAllString(note, -1) {
				seen[strings.TrimSpace(m)]++
			}
		}
	}
	for _, j := range e.added {
		if e.moved[j] {
			continue
		}
		note := e.after.notes(j)
		if strings.TrimSpace(note) == "" {
			if re := stub[e.language]; re != nil && re().MatchString(e.after.plain(j)) {
				r.add(e, Placeholder, j, false, "%s", strings.TrimSpace(e.after.plain(j)))
			}
			continue
		}
		if !containsAny(note, leftOutWords) {
			continue
		}
		for _, m := range leftOut().FindAllString(note, 1) {
			if m = strings.TrimSpace(m); seen[m] > 0 {
				seen[m]--
				continue
			}
			r.add(e, Placeholder, j, false, "%s", strings.TrimSpace(note))
		}
	}
}

// A credential is the shape of a credential. Sources: the issuers' own pages on the forms of their tokens, RFC 7468 and RFC 7515.
type credential struct {
	what string
	need string
	re   func() *regexp.Regexp
}

var tokens = []credential{
	{"a private key", "PRIVATE KEY", late.Regexp(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`)},
	{"a key of AWS", "AKIA", late.Regexp(`\bAKIA[0-9A-Z]{16}\b`)},
	{"a key of AWS", "ASIA", late.Regexp(`\bASIA[0-9A-Z]{16}\b`)},
	{"a token of GitHub", "gh", late.Regexp(`\bgh[pousr]_[A-Za-z0-9]{36,255}\b`)},
	{"a token of GitHub", "github_pat_", late.Regexp(`\bgithub_pat_[A-Za-z0-9_]{50,255}\b`)},
	{"a token of GitLab", "glpat-", late.Regexp(`\bglpat-[\w-]{20,}`)},
	{"a token of Slack", "xox", late.Regexp(`\bxox[abeoprs]-[A-Za-z0-9-]{20,}`)},
	{"a webhook of Slack", "hooks.slack.com", late.Regexp(`\bhooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}`)},
	{"a key of Anthropic", "sk-ant-", late.Regexp(`\bsk-ant-[\w-]{24,}`)},
	{"a key of OpenAI", "sk-", late.Regexp(`\bsk-(?:proj-|svcacct-)[\w-]{32,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`)},
	{"a key of Stripe", "k_live_", late.Regexp(`\b[rs]k_live_[A-Za-z0-9]{20,}`)},
	{"a key of Google", "AIza", late.Regexp(`\bAIza[\w-]{35}`)},
	{"a token of npm", "npm_", late.Regexp(`\bnpm_[A-Za-z0-9]{36}\b`)},
	{"a token of PyPI", "pypi-", late.Regexp(`\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}`)},
	{"a key of SendGrid", "SG.", late.Regexp(`\bSG\.[\w-]{22}\.[\w-]{43}`)},
	{"a token of Hugging Face", "hf_", late.Regexp(`\bhf_[A-Za-z]{34}\b`)},
	{"a token of DigitalOcean", "dop_v1_", late.Regexp(`\bdop_v1_[a-f0-9]{64}\b`)},
	{"a JSON web token", "eyJ", late.Regexp(`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}`)},
}

// tokenIn says what kind of credential a line has.
func tokenIn(line string) (what, match string) {
	for _, t := range tokens {
		if !strings.Contains(line, t.need) {
			continue
		}
		for _, m := range t.re().FindAllString(line, -1) {
			if genuine(m) {
				return t.what, m
			}
		}
	}
	return "", ""
}

// genuine tells a key from one of a manual: an example, or one character again and again.
func genuine(m string) bool {
	if strings.Contains(strings.ToUpper(m), "EXAMPLE") {
		return false
	}
	different := map[rune]bool{}
	for _, c := range m {
		different[c] = true
	}
	return len(different) >= 10
}

func secretIn(s string) bool { what, _ := tokenIn(s); return what != "" }

func (r *report) secrets(e *edit) {
	had := map[string]bool{}
	for _, i := range e.removed {
		if _, m := tokenIn(e.before.lines[i]); m != "" {
			had[m] = true
		}
	}
	for _, j := range e.added {
		if what, m := tokenIn(e.after.lines[j]); what != "" && !had[m] && !e.moved[j] {
			r.add(e, Secret, j, false, "looks like %s", what)
		}
	}
}
