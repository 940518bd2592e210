package hclfile

import (
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
)

// upwards matches a .. that is a whole name, also as one of {a,..}.
var upwards = regexp.MustCompile(`(^|[/{,])\.\.($|[/},])`)

// glob checks that a pattern can match only inside the root. Only inputs may begin with "!".
func (r *reader) glob(s string, at hcl.Range, what string) (string, bool) {
	negated := strings.HasPrefix(s, "!")
	pattern := strings.TrimPrefix(s, "!")
	for strings.HasPrefix(pattern, "./") {
		pattern = strings.TrimLeft(strings.TrimPrefix(pattern, "."), "/")
	}
	switch {
	case negated && what != "inputs":
		r.addf(at, `Only inputs can leave files out with "!".`, "%s cannot be negated", what)
	case strings.TrimSpace(pattern) == "":
		r.addf(at, `Write a pattern such as "src/**".`, "%s contains an empty pattern", what)
	case strings.HasPrefix(pattern, "/"):
		r.addf(at, "A pattern is relative to the folder of PIPELINE.hcl.", "%s contains an absolute path", what)
	case upwards.MatchString(pattern):
		r.addf(at, "A pattern is relative to the folder of PIPELINE.hcl, and inside it.", "%s leaves the root", what)
	case strings.HasSuffix(pattern, "/"):
		r.addf(at, "Write "+strings.TrimRight(pattern, "/")+"/** for everything in the folder.", "%s names a folder", what)
	case !doublestar.ValidatePattern(pattern):
		r.addf(at, `Brackets and braces must be closed; write \[ for a bracket in a name.`, "%s contains a pattern that cannot be read", what)
	default:
		if negated {
			return "!" + pattern, true
		}
		return pattern, true
	}
	return "", false
}
