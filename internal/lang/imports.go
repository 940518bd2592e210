package lang

// Imports: which files of the tree a source file uses, by simple scanning. What cannot be resolved is left out.

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

var (
	PyFrom   = late.Regexp(`(?m)^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)`)
	PyImport = late.Regexp(`(?m)^[ \t]*import[ \t]+([^\n#;]+)`)
	WebUse   = late.Regexp(`\b(?:from|import|require|requireActual|importActual|mock|resolve)\s*\(?\s*['"]((?:\.|@/|~/)[^'"\n]*)['"]`)
	Include  = late.Regexp(`(?m)^[ \t]*#[ \t]*(?:include|import)[ \t]+["<]([^">\n]+)[">]`)
	RbUse    = late.Regexp(`(?m)^[ \t]*(require_relative|require|load)[ \t]*\(?[ \t]*['"]([^'"\n]+)['"]`)
	JvmUse   = late.Regexp(`(?m)^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]+(?:\.\*)?)`)
	PhpUse   = late.Regexp(`(?m)^[ \t]*use[ \t]+([\w\\]+)`)
	PhpFile  = late.Regexp(`\b(?:require|include)(?:_once)?\b[^;'"\n]*['"]([^'"\n]+)['"]`)
	RustMod  = late.Regexp(`(?m)^[ \t]*(#\[cfg\([^\n]*\btest\b[^\n]*\)\]\s*)?(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;`)
	GoEmbed  = late.Regexp(`(?m)^//go:embed[ \t]+(.+)$`)

	// testLibrary: what only tests and their helpers import.
	TestLibrary = map[string]func() *regexp.Regexp{
		"go":   late.Regexp(`^(?:testing(?:/.*)?|net/http/httptest|github\.com/stretchr/testify.*|github\.com/onsi/.*|github\.com/google/go-cmp/.*|gotest\.tools/.*)$`),
		"py":   late.Regexp(`(?m)^[ \t]*(?:import|from)[ \t]+(?:pytest|unittest|mock|hypothesis|nose|doctest)\b`),
		"web":  late.Regexp(`['"](?:vitest|@jest/globals|chai|sinon|mocha|jest|supertest|@testing-library/[^'"\n]+|@playwright/test|node:test|ava|tap|tape)['"]`),
		"c":    late.Regexp(`(?m)^[ \t]*#[ \t]*include[ \t]+["<](?:gtest/|gmock/|catch2?/|doctest|cmocka|check\.h|unity\.h|boost/test)`),
		"ruby": late.Regexp(`(?m)^[ \t]*require[ \t]+['"](?:minitest|rspec|test/unit)`),
		"jvm":  late.Regexp(`(?m)^[ \t]*import[ \t]+(?:static[ \t]+)?(?:org\.junit|org\.mockito|org\.assertj|org\.testng|io\.kotest|org\.spockframework)\b`),
	}
	PyTest = late.Regexp(`(?m)^[ \t]*(?:(?:async[ \t]+)?def[ \t]+test|class[ \t]+Test|class[ \t]+\w+\([^)\n]*TestCase)`)
)

func Ends(p, suffix string) bool { return p == suffix || strings.HasSuffix(p, "/"+suffix) }

func Matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// module is the module path of a go.mod.
func Module(src []byte) string {
	for line := range strings.Lines(string(src)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			rest, _, _ = strings.Cut(rest, "//")
			return strings.Trim(strings.TrimSpace(rest), "\"`")
		}
	}
	return ""
}

// commented says whether the line that holds src[at] begins as a comment.
func Commented(src []byte, at int) bool {
	line := bytes.TrimLeft(src[bytes.LastIndexByte(src[:at+1], '\n')+1:], " \t")
	return bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("*")) || bytes.HasPrefix(line, []byte("/*"))
}

// afterVariable is a path of a shell without the variable or substitution it begins with.
func AfterVariable(p string) string {
	p = strings.Trim(p, `"'`)
	if !strings.HasPrefix(p, "$") {
		return p
	}
	if _, rest, ok := strings.Cut(p, ")/"); ok {
		return strings.Trim(rest, `"'`)
	}
	_, rest, _ := strings.Cut(p, "/")
	return strings.Trim(rest, `"'`)
}
