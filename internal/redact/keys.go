package redact

// Keys that nobody declared as secrets, found by the form that their issuer gives them.

import (
	"regexp"
	"strings"
	"sync"
)

// A KeyForm is what keys of one issuer look like. Sources: the issuers' own pages, RFC 7468 and RFC 7515. The examples
// are made up, and each is put together from two parts, so that a scanner of this repository finds none.
type KeyForm struct {
	ID      string
	Like    string // what it looks like, for a person
	Pattern string // has no capturing group
	Match   string // a text that has it
	NoMatch string // one that does not, or only has the example of the issuer's documentation
	needs   string // a part of every match: texts without it are not searched
}

// KeyForms lists them all.
var KeyForms = []KeyForm{
	{
		"private-key", "a private key", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`,
		"-----BEGIN RSA PRI" + "VATE KEY-----", "----" + "-BEGIN PUBLIC KEY-----", "PRIVATE KEY",
	},
	{"aws", "a key of AWS", `\bAKIA[0-9A-Z]{16}\b`, "AKIA" + "Q3EGRIXT7YPLMN5W", "AKIA" + "IOSFODNN7EXAMPLE", "AKIA"},
	{"aws-session", "a key of AWS", `\bASIA[0-9A-Z]{16}\b`, "ASIA" + "Q3EGRIXT7YPLMN5W", "ASIA", "ASIA"},
	{
		"github", "a token of GitHub", `\bgh[pousr]_[A-Za-z0-9]{36,255}\b`,
		"ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3", "ghp_" + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "gh",
	},
	{
		"github-fine", "a token of GitHub", `\bgithub_pat_[A-Za-z0-9_]{50,255}\b`,
		"github_pat_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5fG7hJ9kL", "github_pat_x", "github_pat_",
	},
	{"gitlab", "a token of GitLab", `\bglpat-[\w-]{20,}`, "glpat-" + "aB3dE5fG7hJ9kL1mN2pQ", "glpat-x", "glpat-"},
	{
		"slack", "a token of Slack", `\bxox[abeoprs]-[A-Za-z0-9-]{20,}`,
		"xoxb-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6", "xoxb-x", "xox",
	},
	{
		"slack-webhook", "a webhook of Slack", `\bhooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}`,
		"hooks.slack.com/services/" + "T0A1B2C3/B4D5E6F7/aB3dE5fG7hJ9kL1mN2pQ", "hook" + "s.slack.com/services/x",
		"hooks.slack.com",
	},
	{
		"anthropic", "a key of Anthropic", `\bsk-ant-[\w-]{24,}`,
		"sk-ant-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0", "sk-ant-x", "sk-ant-",
	},
	{
		"openai", "a key of OpenAI",
		`\bsk-(?:proj-|svcacct-)[\w-]{32,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`,
		"sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3", "sk-proj-x", "sk-",
	},
	{
		"sk", "a key of a model's provider", `\bsk-(?:[a-z0-9]+-)*[A-Za-z0-9]{20,}\b`,
		"sk-or-v1-" + "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9",
		"sk-" + "spinner-with-a-long-name",
		"sk-",
	},
	{
		"stripe", "a key of Stripe", `\b[rs]k_live_[A-Za-z0-9]{20,}`,
		"sk_live_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6", "sk_t" + "est_aB3dE5fG7hJ9kL1mN2pQ4rS6", "k_live_",
	},
	{
		"google", "a key of Google", `\bAIza[\w-]{35}`, "AIza" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC",
		"AIzax", "AIza",
	},
	{
		"npm", "a token of npm", `\bnpm_[A-Za-z0-9]{36}\b`,
		"npm_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3", "npm_" + "config_cache", "npm_",
	},
	{
		"pypi", "a token of PyPI", `\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}`,
		"pypi-" + "AgEIcHlwaS5vcmcaB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5fG7hJ9kL1mN2pQ", "pypi-server", "pypi-AgE",
	},
	{
		"sendgrid", "a key of SendGrid", `\bSG\.[\w-]{22}\.[\w-]{43}`,
		"SG." + "aB3dE5fG7hJ9kL1mN2pQ4r.aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5f", "SG.x", "SG.",
	},
	{
		"huggingface", "a token of Hugging Face", `\bhf_[A-Za-z]{34}\b`,
		"hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH", "hf_h" + "ub_download", "hf_",
	},
	{
		"digitalocean", "a token of DigitalOcean", `\bdop_v1_[a-f0-9]{64}\b`,
		"dop_v1_" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "dop_v1_x", "dop_v1_",
	},
	{
		"jwt", "a JSON web token", `\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}`,
		"eyJ" + "aB3dE5fG7hJ9kL1m.eyJaB3dE5fG7hJ9kL1mN2pQ.aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0", "eyJx.eyJx.x", "eyJ",
	},
}

const (
	keyBegin = `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`
	keyEnd   = `-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`
	keyText  = `[A-Za-z0-9+/=]`
	keySpace = `(?:\\[nr]|\s)`
)

// keyBlock matches a private key: whole; with its lines in quotes, as source code has them, or without an end; without
// a beginning.
var keyBlock = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(keyBegin + `(?:[A-Za-z0-9+/=\s\\:,.()-]*?` + keyEnd +
		`|(?:(?:\\[nr]|[^A-Za-z0-9])*` + keyText + `{40,})+(?:` + keySpace + `*` + keyText + `+\z)?)` +
		`|(?:` + keyText + `{16,}` + keySpace + `+)?(?:` + keyText + `{40,}` + keySpace + `+)+` + keyText +
		`*` + keySpace +
		`*` + keyEnd)
})

// keyPatterns are the patterns of KeyForms but that of a private key. One for all of them is slower.
var keyPatterns = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, f := range KeyForms[1:] {
		all = append(all, regexp.MustCompile(f.Pattern))
	}
	return all
})

// Keys returns text without what looks like a key or a token, whether it is a secret of the pipeline or not. It is for
// texts that leave the machine: searching costs too much for the stream of a log.
func Keys(text string) string {
	if strings.Contains(text, "PRIVATE KEY") {
		text = keyBlock().ReplaceAllLiteralString(text, Mark)
	}
	for i, f := range KeyForms[1:] {
		if strings.Contains(text, f.needs) {
			text = keyPatterns()[i].ReplaceAllLiteralString(text, Mark)
		}
	}
	return text
}
