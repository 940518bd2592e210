package checkfile

// Data that a check compares with, and what its programs go by.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// input adds a file that a command reads, when it is there and its name speaks of tests.
func (n *finder) input(word string, w site) {
	p := n.resolve(word, w)
	if strings.ContainsAny(p, "*?[") && !n.seen.Has(p) {
		if (expectName(p) || lang.HasWord(path.Base(path.Dir(p)), dataWords)) && n.seen.allData(p) {
			n.globs = append(n.globs, p)
		}
		return
	}
	if n.seen.Has(p) && lang.ByPath(p) == "" && !slices.Contains(manifests(), path.Base(p)) &&
		(expectName(p) || isData(p) && checkName(p)) {
		n.files[p] = true
	}
}

// expected adds what the output of a program is compared with, unless by its name it is generated from the sources.
func (n *finder) expected(word string, w site) {
	p := n.resolve(word, w)
	switch {
	case p == "":
		return
	case strings.ContainsAny(p, "*?[") && !n.seen.Has(p):
		if n.seen.allData(p) {
			n.globs = append(n.globs, p)
		}
		n.linked(beforeGlob(p))
		return
	case n.seen.onlyData(p): // diff -r
		n.files[p+"/"] = true
		return
	case !n.seen.Has(p):
		n.wanted[p] = true
		return
	case expectName(p):
		n.input(word, w)
		return
	}
	if !lang.HasWord(p, madeWords) && isData(p) && !slices.Contains([]string{".md", ".rst", ".adoc"}, path.Ext(p)) {
		n.files[p] = true
	}
}

// patterns adds the files of patterns that grep is given, as in `grep -vFf known.txt`.
func (n *finder) patterns(args []string, w site) {
	for i, arg := range args {
		word, joined := strings.CutPrefix(arg, "--file=")
		if !joined && i+1 < len(args) && (arg == "--file" || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "f")) {
			word = args[i+1]
		} else if !joined {
			continue
		}
		if p := n.resolve(word, w); n.seen.Has(p) && isData(p) {
			n.files[p] = true
		}
	}
}

// code adds the data that a program on the command line names, if it imports a source of the tree: it compares that with
// it. Other code may check the data itself.
func (n *finder) code(text, kind string, w site) {
	ext := map[string]string{"python": ".py", "pypy": ".py", "node": ".js", "nodejs": ".js", "bun": ".js", "ruby": ".rb", "perl": ".pl"}[kind]
	if ext == "" {
		return
	}
	p := path.Join(w.dir, "command"+ext)
	if files, _ := lang.Imports(n.seen.Index, p, []byte(strings.ReplaceAll(text, ";", "\n"))); len(files) == 0 {
		return
	}
	u := &unit{key: p, dir: w.dir, test: true}
	n.seen.literals(u, p, []byte(text))
	for _, name := range u.mentioned {
		if !n.seen.namedByProduction(u, name, n.files) {
			n.files[name] = true
		}
	}
}

// linked adds a link to a folder of data, and the data.
func (n *finder) linked(link string) {
	target, ok := n.readOnce(link, "link")
	if !ok || len(target) > maxWord {
		return
	}
	if dir := path.Join(path.Dir(link), string(target)); n.seen.onlyData(dir) {
		n.files[link], n.files[dir+"/"] = true, true
	}
}

// settingsOf adds the data that a program of the check names and that is the program's own: lists of what it lets pass,
// rules. What else it reads may be what it checks. Of a test all data is the check's.
func (n *finder) settingsOf(p string) {
	u := n.seen.units[n.key(p)]
	if u == nil {
		return
	}
	for _, name := range u.mentioned {
		own := u.testing || isCompiled(p) || lang.HasWord(path.Base(name), settingWords()) || lang.HasWord(path.Base(name), dataWords)
		if own && !n.seen.namedByProduction(u, name, n.files) {
			n.files[name] = true
		}
	}
}

// settingWords are words in the names of what a check lets pass, or goes by.
var settingWords = lazily.Words(`
	allow allowed allowlist whitelist ignore ignored ignores exclude excluded excludes skip skipped skips baseline known
	suppress suppressed suppressions exception exceptions exempt exempted waiver waivers lint linter rules ruleset
	denylist blacklist banned forbidden threshold thresholds limits budget ratchet snapshot`)
