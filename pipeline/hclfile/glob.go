package hclfile

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// upwards matches a .. that is a whole name, also as one of {a,..}.
var upwards = lazily.Regexp(`(^|[/{,])\.\.($|[/},])`)

// glob checks that a pattern can match only inside the root. Only inputs may begin with "!".
func (r *reader) glob(s string, at hcl.Range, what string) (string, bool) {
	pattern, negated := strings.CutPrefix(s, "!")
	if negated && what != "inputs" {
		r.addf(at, `Only inputs can leave files out with "!".`, "%s cannot be negated", what)
		return "", false
	}
	pattern, wrong, do := cleanGlob(pattern)
	switch {
	case wrong == "" && strings.HasSuffix(pattern, "/"):
		r.addf(at, "Write "+strings.TrimRight(pattern, "/")+"/** for everything in the folder.",
			"%s names a folder", what)
	case wrong != "":
		r.addf(at, do, "a pattern in %s %s", what, wrong)
	case negated:
		return "!" + pattern, true
	default:
		return pattern, true
	}
	return "", false
}

// cleanGlob cleans a pattern. It returns what is wrong with one that cannot be read or could match outside of the
// root, and what to do.
func cleanGlob(pattern string) (clean, wrong, do string) {
	for strings.HasPrefix(pattern, "./") {
		pattern = strings.TrimLeft(strings.TrimPrefix(pattern, "."), "/")
	}
	switch {
	case strings.TrimSpace(pattern) == "":
		return "", "is empty", `Write a pattern such as "src/**".`
	case strings.HasPrefix(pattern, "/"):
		return "", "is an absolute path", "Write it relative to the folder of PIPELINE.hcl."
	case upwards().MatchString(pattern):
		return "", "leaves the root", "Write it relative to the folder of PIPELINE.hcl, and inside it."
	case !doublestar.ValidatePattern(pattern):
		return "", "cannot be read", `Brackets and braces must be closed; write \[ for a bracket in a name.`
	}
	return pattern, "", ""
}
