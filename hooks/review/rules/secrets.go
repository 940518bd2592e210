package rules

// secrets are the forms of keys and tokens. Sources: the issuers' own pages, RFC 7468 and RFC 7515. The examples
// are made up, and each is put together from two parts, so that a scanner of this repository finds none.
var secrets = []Rule{
	{
		ID: "secret/private-key", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a private key",
		Pattern: `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`,
		Match:   []string{"-----BEGIN RSA PRI" + "VATE KEY-----"},
		NoMatch: []string{"----" + "-BEGIN PUBLIC KEY-----"},
	},
	{
		ID: "secret/aws", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a key of AWS",
		Pattern: `\bAKIA[0-9A-Z]{16}\b`,
		Match:   []string{"AKIA" + "Q3EGRIXT7YPLMN5W"}, NoMatch: []string{"AKIA" + "IOSFODNN7EXAMPLE"},
	},
	{
		ID: "secret/aws-session", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a key of AWS",
		Pattern: `\bASIA[0-9A-Z]{16}\b`,
		Match:   []string{"ASIA" + "Q3EGRIXT7YPLMN5W"}, NoMatch: []string{"ASIA"},
	},
	{
		ID: "secret/github", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a token of GitHub",
		Pattern: `\bgh[pousr]_[A-Za-z0-9]{36,255}\b`,
		Match:   []string{"ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3"},
		NoMatch: []string{"ghp_" + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
	},
	{
		ID: "secret/github-fine", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a token of GitHub",
		Pattern: `\bgithub_pat_[A-Za-z0-9_]{50,255}\b`,
		Match:   []string{"github_pat_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5fG7hJ9kL"},
		NoMatch: []string{"github_pat_x"},
	},
	{
		ID: "secret/gitlab", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a token of GitLab",
		Pattern: `\bglpat-[\w-]{20,}`,
		Match:   []string{"glpat-" + "aB3dE5fG7hJ9kL1mN2pQ"}, NoMatch: []string{"glpat-x"},
	},
	{
		ID: "secret/slack", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a token of Slack",
		Pattern: `\bxox[abeoprs]-[A-Za-z0-9-]{20,}`,
		Match:   []string{"xoxb-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6"}, NoMatch: []string{"xoxb-x"},
	},
	{
		ID: "secret/slack-webhook", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a webhook of Slack",
		Pattern: `\bhooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}`,
		Match:   []string{"hooks.slack.com/services/" + "T0A1B2C3/B4D5E6F7/aB3dE5fG7hJ9kL1mN2pQ"},
		NoMatch: []string{"hook" + "s.slack.com/services/x"},
	},
	{
		ID: "secret/anthropic", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a key of Anthropic",
		Pattern: `\bsk-ant-[\w-]{24,}`,
		Match:   []string{"sk-ant-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0"}, NoMatch: []string{"sk-ant-x"},
	},
	{
		ID: "secret/openai", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a key of OpenAI",
		Pattern: `\bsk-(?:proj-|svcacct-)[\w-]{32,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`,
		Match:   []string{"sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3"}, NoMatch: []string{"sk-proj-x"},
	},
	{
		ID: "secret/stripe", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a key of Stripe",
		Pattern: `\b[rs]k_live_[A-Za-z0-9]{20,}`,
		Match:   []string{"sk_live_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6"},
		NoMatch: []string{"sk_t" + "est_aB3dE5fG7hJ9kL1mN2pQ4rS6"},
	},
	{
		ID: "secret/google", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a key of Google",
		Pattern: `\bAIza[\w-]{35}`,
		Match:   []string{"AIza" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC"}, NoMatch: []string{"AIzax"},
	},
	{
		ID: "secret/npm", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a token of npm",
		Pattern: `\bnpm_[A-Za-z0-9]{36}\b`,
		Match:   []string{"npm_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3"},
		NoMatch: []string{"npm_" + "config_cache"},
	},
	{
		ID: "secret/pypi", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a token of PyPI",
		Pattern: `\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}`,
		Match:   []string{"pypi-" + "AgEIcHlwaS5vcmcaB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5fG7hJ9kL1mN2pQ"},
		NoMatch: []string{"pypi-server"},
	},
	{
		ID: "secret/sendgrid", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a key of SendGrid",
		Pattern: `\bSG\.[\w-]{22}\.[\w-]{43}`,
		Match:   []string{"SG." + "aB3dE5fG7hJ9kL1mN2pQ4r.aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5f"},
		NoMatch: []string{"SG.x"},
	},
	{
		ID: "secret/huggingface", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a token of Hugging Face",
		Pattern: `\bhf_[A-Za-z]{34}\b`,
		Match:   []string{"hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"}, NoMatch: []string{"hf_h" + "ub_download"},
	},
	{
		ID: "secret/digitalocean", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a token of DigitalOcean",
		Pattern: `\bdop_v1_[a-f0-9]{64}\b`,
		Match:   []string{"dop_v1_" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		NoMatch: []string{"dop_v1_x"},
	},
	{
		ID: "secret/jwt", Kind: Secret, In: Everywhere, On: Line, Say: "looks like a JSON web token",
		Pattern: `\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}`,
		Match:   []string{"eyJ" + "aB3dE5fG7hJ9kL1m.eyJaB3dE5fG7hJ9kL1mN2pQ.aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0"},
		NoMatch: []string{"eyJx.eyJx.x"},
	},
}
