package review

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// A wantedName is the extension or the folder of files that a failing test compares output with, and that have the names
// of other files.
type wantedName struct {
	name   string
	test   string         // that names it
	in     *regexp.Regexp // code that puts the name of such a file together
	folder bool
}

var (
	readsText = lazily.Regexp(`(?i)read_?(?:file|text|bytes|all|to_string|line)|\bopen\b|fopen|slurp|\bcat\b|\bload|<\s*"?\$`)
	writes    = lazily.Regexp(`\bopen\(.*,\s*(?:mode\s*=\s*)?["'][wax]|["']>`)
	isThere   = lazily.Regexp(`(?i)exists|\bstat\b|is_?file|access|\[\s+-[efrs]\s|\s-[efrs]\s`)
	// listsNames is code that lists a folder, of one name code that looks for files that are called like another one.
	listsNames = lazily.Regexp(`(?i)glob|read_?dir|listdir|scandir|iterdir|\bfind\s|\bls\s`)
	ofOneName  = lazily.Regexp(`(?i)basename|\bstem\b|TrimSuffix|removesuffix|splitext|with_suffix|path\.parse|\$\{\w+%`)
	shellGlob  = lazily.Regexp(`\$\{\w+%[^}]*\}"?[\w.]*[*?\[]`)
	wantWords  = []string{"want", "wanted", "expect", "expected", "golden", "goldens", "snapshot", "snapshots"}
)

// readsWanted reports production code that begins to read what the failing test compares its output with: special_case.
// It names the extension or the folder of such files, and the code before did not, or lists what is called like its
// input.
func readsWanted(p *proposal) (found findings) {
	for _, e := range p.edits {
		if !e.production() || !e.exists() || e.opaque || len(e.fresh) == 0 {
			continue
		}
		some := func(re func() *regexp.Regexp, lines []int) bool {
			return slices.ContainsFunc(lines, func(j int) bool {
				return re().MatchString(e.after.plain(j)) && !writes().MatchString(e.after.plain(j))
			})
		}
		reads, asks := some(readsText, e.fresh), some(isThere, e.fresh)
		if !reads && !asks {
			continue
		}
		before := text(e.change.Before)
		for _, w := range p.wanted() {
			for _, j := range e.fresh {
				if line := e.after.plain(j); w.in.MatchString(line) && !w.in.MatchString(before) && (reads || w.folder && slices.Contains(wantWords, w.name)) {
					found.add(e, rules.SpecialCase, j, true, "reads what %s compares with: %s", w.test, strings.TrimSpace(line))
				}
			}
		}
		if !reads || len(p.wanted()) == 0 || listsNames().MatchString(before) || shellGlob().MatchString(before) {
			continue
		}
		for at, j := range e.fresh {
			near := e.fresh[max(0, at-2):min(len(e.fresh), at+3)]
			if line := e.after.plain(j); listsNames().MatchString(line) && some(ofOneName, near) || shellGlob().MatchString(line) {
				found.add(e, rules.SpecialCase, j, true, "lists what %s has beside the input: %s", p.wanted()[0].test, strings.TrimSpace(line))
			}
		}
	}
	return found
}

// findWanted returns the extensions and folders of the data of failing tests that these put the names of files together
// with. What they list by is that of input.
func (p *proposal) findWanted() (all []wantedName) {
	named := map[string][]string{} // data of the base by its name without extension
	for _, file := range p.checks.Data() {
		name, _, _ := strings.Cut(path.Base(file), ".")
		named[name] = append(named[name], file)
	}
	exts, folders := map[string]bool{}, map[string]bool{}
	for _, files := range named {
		for _, a := range files {
			for _, b := range files {
				if path.Ext(a) != path.Ext(b) {
					exts[path.Ext(a)] = true
				}
				if path.Dir(a) != path.Dir(b) {
					folders[path.Base(path.Dir(a))] = true
				}
			}
		}
	}
	for _, t := range p.tests() {
		add := func(name string, folder bool, form string) {
			in := regexp.MustCompile(form)
			if in.MatchString(t.text) && !slices.ContainsFunc(all, func(w wantedName) bool { return w.name == name && w.folder == folder }) {
				all = append(all, wantedName{name: name, test: t.path, in: in, folder: folder})
			}
		}
		for ext := range exts {
			quoted := regexp.QuoteMeta(ext)
			input := regexp.MustCompile(`\*` + quoted + `\b|(?:(?i:ends_?with|HasSuffix|TrimSuffix|removesuffix|basename|extname)|\bsuffix\s*==)[^\n)]*` + quoted + `\b`)
			if len(ext) > 1 && !input.MatchString(t.text) {
				add(ext, false, `(?:["'\x60]|\$\w+|\}|%s)`+quoted+`\b`)
			}
		}
		for folder := range folders {
			if quoted := regexp.QuoteMeta(folder); folder != "." && !strings.Contains(t.text, folder+"/*") {
				add(folder, true, `["'\x60/]`+quoted+`["'\x60/}]`)
			}
		}
	}
	slices.SortFunc(all, func(a, b wantedName) int { return strings.Compare(a.name, b.name) })
	return all
}
