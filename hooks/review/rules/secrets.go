package rules

// secrets are the forms of keys and tokens. Sources: the issuers' own pages, RFC 7468 and RFC 7515. The examples
// are made up, and each is put together from two parts, so that a scanner of this repository finds none.
var secrets = []Rule{
	secret("private-key", "a private key", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`,
		"-----BEGIN RSA PRI"+"VATE KEY-----", "----"+"-BEGIN PUBLIC KEY-----"),
	secret("aws", "a key of AWS", `\bAKIA[0-9A-Z]{16}\b`, "AKIA"+"Q3EGRIXT7YPLMN5W", "AKIA"+"IOSFODNN7EXAMPLE"),
	secret("aws-session", "a key of AWS", `\bASIA[0-9A-Z]{16}\b`, "ASIA"+"Q3EGRIXT7YPLMN5W", "ASIA"),
	secret("github", "a token of GitHub", `\bgh[pousr]_[A-Za-z0-9]{36,255}\b`,
		"ghp_"+"aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3", "ghp_"+"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
	secret("github-fine", "a token of GitHub", `\bgithub_pat_[A-Za-z0-9_]{50,255}\b`,
		"github_pat_"+"aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5fG7hJ9kL", "github_pat_x"),
	secret("gitlab", "a token of GitLab", `\bglpat-[\w-]{20,}`, "glpat-"+"aB3dE5fG7hJ9kL1mN2pQ", "glpat-x"),
	secret("slack", "a token of Slack", `\bxox[abeoprs]-[A-Za-z0-9-]{20,}`,
		"xoxb-"+"aB3dE5fG7hJ9kL1mN2pQ4rS6", "xoxb-x"),
	secret("slack-webhook", "a webhook of Slack", `\bhooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}`,
		"hooks.slack.com/services/"+"T0A1B2C3/B4D5E6F7/aB3dE5fG7hJ9kL1mN2pQ", "hook"+"s.slack.com/services/x"),
	secret("anthropic", "a key of Anthropic", `\bsk-ant-[\w-]{24,}`,
		"sk-ant-"+"aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0", "sk-ant-x"),
	secret("openai", "a key of OpenAI",
		`\bsk-(?:proj-|svcacct-)[\w-]{32,}|\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`,
		"sk-proj-"+"aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3", "sk-proj-x"),
	secret("stripe", "a key of Stripe", `\b[rs]k_live_[A-Za-z0-9]{20,}`,
		"sk_live_"+"aB3dE5fG7hJ9kL1mN2pQ4rS6", "sk_t"+"est_aB3dE5fG7hJ9kL1mN2pQ4rS6"),
	secret("google", "a key of Google", `\bAIza[\w-]{35}`, "AIza"+"aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC", "AIzax"),
	secret("npm", "a token of npm", `\bnpm_[A-Za-z0-9]{36}\b`,
		"npm_"+"aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3", "npm_"+"config_cache"),
	secret("pypi", "a token of PyPI", `\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}`,
		"pypi-"+"AgEIcHlwaS5vcmcaB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5fG7hJ9kL1mN2pQ", "pypi-server"),
	secret("sendgrid", "a key of SendGrid", `\bSG\.[\w-]{22}\.[\w-]{43}`,
		"SG."+"aB3dE5fG7hJ9kL1mN2pQ4r.aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zC3aB3dE5f", "SG.x"),
	secret("huggingface", "a token of Hugging Face", `\bhf_[A-Za-z]{34}\b`,
		"hf_"+"aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH", "hf_h"+"ub_download"),
	secret("digitalocean", "a token of DigitalOcean", `\bdop_v1_[a-f0-9]{64}\b`,
		"dop_v1_"+"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "dop_v1_x"),
	secret("jwt", "a JSON web token", `\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}`,
		"eyJ"+"aB3dE5fG7hJ9kL1m.eyJaB3dE5fG7hJ9kL1mN2pQ.aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0", "eyJx.eyJx.x"),
}

// secret returns the rule for one form, with what it looks like, a text that has it and one that does not.
func secret(id, like, pattern, match, noMatch string) Rule {
	return Rule{
		ID: "secret/" + id, Kind: Secret, In: Everywhere, On: Line, Say: "looks like " + like, Pattern: pattern,
		Match: []string{match}, NoMatch: []string{noMatch},
	}
}
