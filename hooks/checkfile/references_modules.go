package checkfile

// Modules and settings of a program of the check: sources that only it imports, and what it loads where that is there.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
)

// A checker is a source that the check starts, or a module of one.
type checker struct {
	path string
	own  bool // what lies beside it is its own: it checks something in another folder
}

// modulesOf adds the modules of a program of the check that nothing else imports. Beside a program that checks another
// folder all of them are its own; elsewhere a module may be what is checked, and its name must speak of checks. own: p is
// beside such a program.
func (n *finder) modulesOf(p string, own bool) {
	u := n.seen.units[n.key(p)]
	if u == nil || isCompiled(p) || n.done["modules "+p] {
		return
	}
	n.done["modules "+p] = true
	by := checker{path: p, own: own || n.checksElsewhere(u)}
	n.checkers = append(n.checkers, by)
	for _, v := range u.uses {
		only := !v.offered && !slices.ContainsFunc(v.users, func(user *unit) bool {
			return user.test || user.production() && !n.files[user.key] && !checkName(user.key)
		})
		if only && !n.mains[v.key] && by.has(v.key) {
			for _, file := range v.paths {
				n.files[file] = true
			}
			n.modulesOf(v.key, by.own)
		}
	}
}

// checksElsewhere reports whether a program has a folder of its own, and names one outside of it.
func (n *finder) checksElsewhere(u *unit) bool {
	if u.dir == "." || u.dir == n.seen.sub || slices.Contains(productFolders(), path.Base(u.dir)) {
		return false
	}
	text := n.text(u)
	return n.triesOutside(u, text) || slices.ContainsFunc(quoted().FindAllSubmatch(text, -1), func(m [][]byte) bool {
		dir := path.Join(n.seen.sub, string(m[1]))
		return dir != u.dir && n.seen.IsDir(dir) && !strings.HasPrefix(u.dir, dir+"/") && !strings.HasPrefix(dir, u.dir+"/")
	})
}

// has reports whether a source is a module of the program, where it imports that and production does not. One that the
// program is named after is what it checks.
func (by checker) has(p string) bool {
	dir := path.Dir(by.path)
	if dir != path.Dir(p) && !strings.HasPrefix(p, dir+"/") || lang.HasWord(stem(by.path), []string{strings.ToLower(stem(p))}) {
		return false
	}
	return by.own || lang.HasWord(stem(p), checkWords()) || lang.HasWord(stem(p), settingWords())
}

func stem(p string) string { return strings.TrimSuffix(path.Base(p), path.Ext(p)) }

// loadsNew reports whether a program of the check would load a new file: a module, or settings whose name it has.
func (c *Checks) loadsNew(p string) bool {
	if c.tree.Has(p) || c.read == nil {
		return false
	}
	source := lang.ByPath(p) != ""
	return slices.ContainsFunc(c.refs.checkers, func(by checker) bool {
		src := []byte(c.Text(by.path))
		if source {
			if !by.has(p) {
				return false
			}
			files, _ := lang.Imports(lang.NewIndex([]string{p}, c.Sub), by.path, src)
			return slices.Contains(files, p)
		}
		if !isData(p) || !lang.HasWord(path.Base(p), settingWords()) {
			return false
		}
		return slices.ContainsFunc(quoted().FindAllSubmatch(src, -1), func(m [][]byte) bool {
			name := string(m[1])
			return p == path.Join(path.Dir(by.path), name) || p == path.Join(c.Sub, name)
		})
	})
}
