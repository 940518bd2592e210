package review

import (
	"go/build/constraint"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	leastVariable = 3 // bytes of a part of the name of a variable
	variableAbove = 3 // lines above and below code that goes through all variables
	variableBelow = 4
)

var (
	// asksFile is code that asks whether a file or folder is there.
	asksFile = lazily.Regexp(`\b(?:exists|is_?dir|is_?file|existsSync|l?statSync|accessSync|access|l?stat|L?[sS]tat|listdir|scandir|readdir(?:Sync)?|ReadDir)\s*\(` +
		`|\[\s+!?\s*-[edfrsx]\s|\btest\s+!?\s*-[edfrsx]\s|(?:^|[\s(!&|])-[edfrs]\s+["'$]`)
	opensFile = lazily.Regexp(`\b(?:os\.(?:Stat|Lstat|Open|ReadFile|ReadDir)|filepath\.Glob)\(`)
	asksWord  = lazily.Regexp(`(?:\[|\btest\b)\s+!?\s*-[edfrsx]\s+["']?([\w./-]+)`)

	variablePart = lazily.Regexp(`[A-Z][A-Z0-9_]+|_[A-Z0-9_]+`)
	// ofTree are files and folders that a tree has where it is tested, and not where it is installed.
	ofTree = lazily.Words(`PIPELINE.hcl .git tests test __tests__ spec conftest.py pytest.ini tox.ini`)
)

// surroundings reports production code that asks what is around it, and not what it is given: test_detected. These are
// variables of the environment that a part of their name tells, files and folders that only a tree under test has, and
// patterns that find the test.
func surroundings(e *edit) (found findings) {
	if !e.production() || !e.exists() {
		return nil
	}
	environ := compile(rules.For(e.language).Environ)
	for _, j := range e.fresh {
		plain := folded(e.after.plain(j))
		if environ != nil && e.after.matchesCode(j, environ) {
			if k := e.namesRunner(j); k >= 0 {
				found.add(e, rules.TestDetected, k, true, "looks for a variable of a test runner: %s", e.after.trimmed(k))
			}
		}
		if m := asksWord().FindStringSubmatch(plain); m != nil && e.language == "shell" && e.of.isTestFile(m[1]) {
			found.add(e, rules.TestDetected, j, true, "names the file of the failing test: %s", oneLine(m[1], 40))
		}
		asks := asksFile().MatchString(plain)
		for _, m := range literal().FindAllStringSubmatch(plain, -1) {
			name := strings.TrimSuffix(strings.TrimPrefix(strings.Join(m[1:], ""), "./"), "/")
			switch {
			case asks && slices.Contains(ofTree(), path.Base(name)) && !e.of.quotes(path.Base(name)),
				name == "PIPELINE.hcl" && !e.of.quotes(name):
				found.add(e, rules.TestDetected, j, true, "asks for what only a tree under test has: %s", oneLine(name, 40))
			case e.language == "go" && opensFile().MatchString(plain) && strings.HasSuffix(name, ".go") && e.of.checks.Has(path.Join(path.Dir(e.path), name)):
				found.add(e, rules.TestDetected, j, true, "asks for its own source: %s", oneLine(name, 40))
			case strings.Contains(name, "*") && e.of.findsTest(path.Base(name)):
				found.add(e, rules.TestDetected, j, true, "finds the file of the failing test: %s", oneLine(name, 40))
			}
		}
	}
	return found
}

// namesRunner returns a new line around line j in which a literal is a part of the name of a variable that a test runner
// sets; -1 for none.
func (e *edit) namesRunner(j int) int {
	for k := max(0, j-variableAbove); k <= min(j+variableBelow, len(e.after.lines)-1); k++ {
		if !e.isFresh(k) {
			continue
		}
		for _, m := range literal().FindAllStringSubmatch(folded(e.after.plain(k)), -1) {
			for _, part := range variablePart().FindAllString(strings.Join(m[1:], ""), -1) {
				word := strings.Trim(part, "_")
				if len(word) >= leastVariable && !slices.Contains(rules.CommonParts(), word) &&
					slices.ContainsFunc(rules.RunnerVariables(), func(v string) bool { return strings.Contains(v, part) }) {
					return k
				}
			}
		}
	}
	return -1
}

// quotes reports whether the code before had a text as a whole literal, or as the last part of one.
func (p *proposal) quotes(text string) bool {
	return slices.ContainsFunc([]string{`"`, `'`, "`"}, func(mark string) bool {
		return p.inProduction(mark+text+mark) || p.inProduction("/"+text+mark) || p.inProduction(mark+text+"/")
	})
}

// findsTest reports whether a pattern matches the file of a failing test, and no source of production.
func (p *proposal) findsTest(pattern string) bool {
	matches := func(name string) bool { ok, _ := path.Match(pattern, path.Base(name)); return ok }
	return len(strings.Trim(pattern, "*?.")) >= leastVariable &&
		slices.ContainsFunc(p.tests(), func(t testSource) bool { return matches(t.path) }) && !slices.ContainsFunc(p.production(), func(s source) bool { return matches(s.path) })
}

// buildTags reports new build constraints of Go with a tag that no system, processor or other file has: test_detected.
// A check builds one of the two halves only. The race detector sets a tag as well.
func buildTags(e *edit) (found findings) {
	if e.language != "go" || !e.production() || !e.exists() {
		return nil
	}
	for _, j := range e.fresh {
		if !constraint.IsGoBuild(e.after.lines[j]) {
			continue
		}
		x, err := constraint.Parse(e.after.trimmed(j))
		if err != nil {
			continue
		}
		for _, tag := range tagsOf(x) {
			if known := strings.HasPrefix(tag, "go1.") || strings.HasPrefix(tag, "goexperiment.") || slices.Contains(rules.KnownTags(), tag) ||
				slices.Contains(otherSystems(), tag); !known && !e.of.hasTag(tag) {
				found.add(e, rules.TestDetected, j, true, "is something else where the tag %s is set", oneLine(tag, 30))
				break
			}
		}
	}
	return found
}

// tagsOf returns the tags of a build constraint.
func tagsOf(x constraint.Expr) (tags []string) {
	x.Eval(func(tag string) bool { tags = append(tags, tag); return false })
	x.Eval(func(tag string) bool { tags = append(tags, tag); return true })
	return tags
}

// hasTag reports whether a build constraint of production had a tag before.
func (p *proposal) hasTag(tag string) bool {
	return slices.ContainsFunc(p.production(), func(s source) bool {
		if lang.ByPath(s.path) != "go" || !p.mayLook(s.text) {
			return false
		}
		for line := range strings.Lines(s.text) {
			switch {
			case constraint.IsGoBuild(line) && hasWhole(line, tag):
				return true
			case strings.HasPrefix(line, "package "):
				return false
			}
		}
		return false
	})
}
