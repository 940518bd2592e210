package checkfile

// Data that tests read: files, globs and folders that the literals of a source name.

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	maxLiteral = 256 // bytes
	maxGlobs   = 64  // of all tests
	maxJoined  = 5   // literals of one call that may be one path
	joinedWith = " \t,/+()"
	quotes     = "\"'`"
	maxPerUnit = 2000

	maxPrograms = 500
)

// manifests are judged by their parts, not as data of a test.
var manifests = lazily.Words(`
	package.json package-lock.json yarn.lock pnpm-lock.yaml npm-shrinkwrap.json bun.lock go.mod go.sum
	go.work go.work.sum Cargo.toml Cargo.lock pyproject.toml poetry.lock uv.lock Pipfile Pipfile.lock
	setup.cfg tox.ini requirements.txt Gemfile Gemfile.lock pom.xml build.gradle build.gradle.kts
	composer.json composer.lock mix.exs mix.lock Makefile GNUmakefile CMakeLists.txt Dockerfile PIPELINE.hcl
	PIPELINE.hcl.json`)

// sources are extensions of sources whose imports are not read. A page or a query may also be what a test expects:
// then its name decides. Documentation that a test reads is under test.
var (
	sources = lazily.Words(`
		.html .htm .xhtml .css .scss .sass .less .sql .proto .graphql .gql .tmpl .tpl .gohtml .erb .ejs .hbs
		.pug .jinja .j2 .twig .s .asm .f .f90 .hcl .tf .nix .bzl .mk .cmake .gradle .ps1 .fish .awk .thrift .gyp
		.md .rst .adoc`)
	dataWords = []string{
		"expected", "golden", "sample", "samples", "case", "cases", "input", "inputs", "output", "outputs", "want",
		"snapshot", "snapshots", "fixture", "fixtures",
	}
)

// isData reports whether p can be data at all: it is no source and no manifest.
func isData(p string) bool {
	if slices.Contains(sources(), strings.ToLower(path.Ext(p))) {
		return lang.HasWord(path.Join(path.Base(path.Dir(p)), path.Base(p)), dataWords)
	}
	return lang.ByPath(p) == "" && !slices.Contains(manifests(), path.Base(p)) && !foreign(p)
}

// literals notes the data that string literals of the source at p name.
func (s *survey) literals(u *unit, p string, src []byte) {
	shell := lang.BareWords(p)
	for line := range bytes.Lines(src) {
		if len(u.mentioned)+len(s.globs[u]) > maxPerUnit {
			return
		}
		var (
			run  []string // literals that may be one path
			last int
		)
		for i := 0; i < len(line); {
			if !strings.ContainsRune(quotes, rune(line[i])) {
				i++
				continue
			}
			end := closeQuote(line, i)
			if end < 0 {
				i++
				continue
			}
			if len(run) == maxJoined || len(run) > 0 && strings.Trim(string(line[last:i]), joinedWith) != "" {
				s.mentionRun(u, p, line, run)
				run = run[:0]
			}
			if n := end - i - 1; n > 0 && n <= maxLiteral {
				run = append(run, asPattern(string(line[i+1:end])))
			}
			i, last = end+1, end+1
		}
		s.mentionRun(u, p, line, run)
		if shell && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			for _, word := range strings.FieldsFunc(string(line),
				func(r rune) bool { return strings.ContainsRune(" \t\r\n=<>|;&(){}\"'`", r) }) {
				if len(word) <= maxLiteral {
					s.mention(u, p, line, asPattern(afterVariable(word)), strings.HasSuffix(word, "/"), true)
				}
			}
		}
	}
}

// mentionRun notes the data that neighbouring literals name, each alone and joined to a path. A folder counts where
// it is the last of them.
func (s *survey) mentionRun(u *unit, p string, line []byte, run []string) {
	for to := range run {
		base := path.Base(run[to])
		if !s.dataBases[base] && !s.HasDirNamed(base) && !strings.Contains(run[to], "*") {
			continue
		}
		for from := range to + 1 {
			s.mention(u, p, line, path.Join(run[from:to+1]...), strings.HasSuffix(run[to], "/"), to == len(run)-1)
		}
	}
}

// closeQuote returns where the literal ends that begins at line[at], or -1.
func closeQuote(line []byte, at int) int {
	for i := at + 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case line[at]:
			return i
		}
	}
	return -1
}

// lists matches a line that may list a folder or put its name together.
var lists = lazily.Regexp(`(?i)read_?dir|iterdir|scandir|opendir|listdir|glob|walk|\bjoin\b|\bpath\b|\bdir(?:fs)?\b|` +
	`\b(?:for|find|ls|cd|diff|cmp|cat|pushd)\b|^\s*\w+=|` +
	`^\s*(?:\w+\s+)*\w+(?:\s*:\s*[\w&']+)?\s*:?=\s*["'\x60]`)

// filledIn matches what a program fills in in a literal: "ref/%s.txt", "ref/{name}.txt", "ref/${name}.txt", "ref/$name.txt".
var filledIn = lazily.Regexp(`[$#]?\{[^{}/]*\}|\$\w+|%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]`)

// asPattern returns a literal with a * for what is filled in, and without a folder at its beginning that is.
func asPattern(lit string) string {
	if !strings.ContainsAny(lit, "{$%") {
		return lit
	}
	lit = filledIn().ReplaceAllString(lit, "*")
	if rest, ok := strings.CutPrefix(lit, "*/"); ok {
		return rest
	}
	return lit
}

// mention notes the data that lit names in a line, relative to the folder of p, to the project or to the top. folder: it
// ends in a slash. folders: it may name a folder.
func (s *survey) mention(u *unit, p string, line []byte, lit string, folder, folders bool) {
	if all := strings.TrimRight(lit, "*/"); (strings.HasSuffix(lit, "/*") || strings.HasSuffix(lit, "/**")) && !strings.Contains(all, "*") {
		lit, folder = all, true
	}
	glob := strings.Contains(lit, "*")
	slash := folder || strings.Contains(strings.Trim(lit, "/"), "/")
	if !glob && !slash && !s.dataBases[lit] {
		if !folders || !s.HasDirNamed(lit) || !lists().Match(line) {
			return
		}
		slash = true
	}
	if strings.ContainsAny(lit, "\x00\n<>|") {
		return
	}
	lit = strings.TrimLeft(lit, "/")
	if glob && !slash && strings.Trim(lit, "*") != "" && path.Ext(lit) != "" {
		u.filled = append(u.filled, lit)
	}
	for _, dir := range []string{path.Dir(p), s.sub, "."} {
		name := path.Join(dir, lit)
		switch {
		case name == "." || strings.HasPrefix(name, "../"):
		case lang.TestFolder(s.Rel(name)) || lang.DataFolder(s.Rel(name)): // is one anyway, or is production's
		case glob:
			if (slash || dir == path.Dir(p)) && lang.ByPath(name) == "" && (path.Ext(name) != "" || s.onlyData(beforeGlob(name))) &&
				!strings.HasPrefix(name, "*") && doublestar.ValidatePattern(name) {
				s.globs[u] = append(s.globs[u], name)
			}
		case s.Has(name):
			if isData(name) {
				u.mentioned = append(u.mentioned, name)
				return
			}
		case folders && slash && s.onlyData(name):
			u.mentioned = append(u.mentioned, name+"/")
			return
		}
	}
}

// onlyData reports whether a folder holds data and no source, and is not above the project.
func (s *survey) onlyData(dir string) bool {
	return s.dataBelow[dir] && !s.codeBelow[dir] && dir != s.sub && !strings.HasPrefix(s.sub, dir+"/")
}

// allData reports whether a pattern matches data, and no source.
func (s *survey) allData(pattern string) bool {
	if !doublestar.ValidatePattern(pattern) || strings.Trim(path.Base(pattern), "*") == "" && !s.onlyData(path.Dir(pattern)) {
		return false
	}
	hit := false
	for _, p := range s.data {
		hit = hit || doublestar.MatchUnvalidated(pattern, p)
	}
	return hit && !slices.ContainsFunc(s.order, func(u *unit) bool {
		return slices.ContainsFunc(u.paths, func(p string) bool { return doublestar.MatchUnvalidated(pattern, p) })
	})
}

// beforeGlob returns the folder below which a pattern matches.
func beforeGlob(pattern string) string {
	before, _, _ := strings.Cut(pattern, "*")
	return path.Dir(before + "x")
}

// testData returns the data that tests name and production does not (class 3).
func (s *survey) testData() fileSet {
	data := fileSet{files: map[string]bool{}}
	production, listed := map[string]bool{}, map[string]bool{}
	var patterns []string
	for _, u := range s.order {
		if u.production() && !s.onlyForTests[u.key] {
			for _, name := range u.mentioned {
				production[name] = true
			}
			patterns = append(patterns, s.globs[u]...)
			for _, lit := range u.filled[:min(len(u.filled), maxJoined)] { // beside the name of the folder
				for _, name := range u.mentioned {
					if dir, ok := strings.CutSuffix(name, "/"); ok && len(patterns) <= maxPerUnit {
						patterns = append(patterns, literal(dir)+"/"+lit)
					}
				}
			}
		}
	}
	patterns = fewGlobs(patterns)
	for _, p := range s.data { // what production reads under a name that it puts together
		if slices.ContainsFunc(patterns, func(glob string) bool { return doublestar.MatchUnvalidated(glob, p) }) {
			listed[p] = true
			for dir := path.Dir(p); dir != "." && dir != "/"; dir = path.Dir(dir) {
				listed[dir+"/"] = true
			}
		}
	}
	for _, u := range s.order {
		if !u.test && !u.helper && !s.onlyForTests[u.key] {
			continue
		}
		for _, name := range u.mentioned {
			shared := strings.HasSuffix(name, "/") && listed[name]
			if !shared && !production[name] && (!listed[name] || expectName(name)) && !s.usedByProduction(name) {
				data.files[name] = true
			}
		}
		data.globs = append(data.globs, s.globs[u]...)
	}
	maps.Copy(production, listed)
	data.globs = slices.DeleteFunc(fewGlobs(data.globs),
		func(glob string) bool { return !s.onlyTestData(glob, production) })
	return data
}

// fewGlobs returns the first maxGlobs of globs, sorted and each once.
func fewGlobs(globs []string) []string {
	globs = set(globs)
	return globs[:min(len(globs), maxGlobs)]
}

// dropPrograms removes programs by their first bytes: what a test starts is under test. It reads files without an
// extension, at most maxPrograms.
func dropPrograms(files map[string]bool, read func(string) ([]byte, error)) {
	if read == nil {
		return
	}
	looked := 0
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(p) != "" || strings.HasSuffix(p, "/") {
			continue
		}
		if looked++; looked > maxPrograms {
			return
		}
		if src, err := read(p); err == nil &&
			(bytes.HasPrefix(src, []byte("#!")) || bytes.HasPrefix(src, []byte("\x7fELF"))) {
			delete(files, p)
		}
	}
}

// onlyTestData reports whether glob matches data, and none that production reads too.
func (s *survey) onlyTestData(glob string, production map[string]bool) bool {
	hit := false
	start, _, _ := strings.Cut(glob, "*")
	if i := strings.IndexAny(start, `?[{\`); i >= 0 {
		start = start[:i]
	}
	for _, p := range s.data {
		if strings.HasPrefix(p, start) && doublestar.MatchUnvalidated(glob, p) {
			if hit = !production[p] && !s.usedByProduction(p); !hit {
				return false
			}
		}
	}
	return hit
}

// namedByProduction reports whether production other than u, and than checks, names or imports p.
func (s *survey) namedByProduction(u *unit, p string, checks map[string]bool) bool {
	return s.usedByProduction(p) || slices.ContainsFunc(s.order, func(by *unit) bool {
		return by != u && by.production() && !checks[by.key] && slices.Contains(by.mentioned, p)
	})
}

// usedByProduction reports whether production imports or embeds p.
func (s *survey) usedByProduction(p string) bool {
	u := s.units[p]
	return u != nil && slices.ContainsFunc(u.users, (*unit).production)
}

// afterVariable returns a path of a shell without the variable or substitution that it begins with.
func afterVariable(p string) string {
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
