package checkfile

// What npm packages ship, and which headers a build installs.

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/shelltext"
)

// node reads a package.json: its entries and its list of files. Without that list npm ships all, which says nothing.
func (k *shipping) node(dir string, src []byte) {
	var m map[string]any
	if json.Unmarshal(src, &m) != nil || m["private"] == true {
		return
	}
	for _, key := range []string{"main", "module", "browser", "types", "typings", "bin", "exports"} {
		for _, entry := range leaves(m[key], 0) {
			k.entry(dir, entry)
		}
	}
	for _, name := range words(m["files"]) {
		if not, out := strings.CutPrefix(name, "!"); out {
			not = path.Join(dir, not)
			k.out.files[not], k.out.files[not+"/"] = true, true
			k.out.globs = append(k.out.globs, path.Join(literal(dir), strings.TrimPrefix(name, "!")))
			continue
		}
		k.file(dir, name, "")
	}
}

// leaves returns the strings in v: exports has them under conditions.
func leaves(v any, depth int) (list []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if depth < maxNestedExports {
				list = append(list, leaves(e, depth+1)...)
			}
		}
	default:
		list = words(v)
	}
	return list
}

const maxNestedExports = 8

var sourceExts = lazily.Words(".ts .tsx .mts .cts .js .jsx .mjs .cjs")

// entry ships an entry of a package, or the source in src that it is built from.
func (k *shipping) entry(dir, name string) {
	p := path.Join(dir, name)
	if k.Has(p) || strings.ContainsAny(name, "*?[") {
		k.file(dir, name, "")
		return
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(path.Clean(name), path.Ext(name)), ".d")
	for _, ext := range sourceExts() {
		k.file(dir, stem+ext, "")
	}
	for rest := stem; ; {
		_, after, ok := strings.Cut(rest, "/")
		if !ok {
			return
		}
		rest = after
		for _, ext := range sourceExts() {
			k.file(dir, path.Join("src", rest)+ext, "")
		}
	}
}

const headerExts = ".{h,hh,hpp,hxx}"

// header ships a header that a build file in dir installs, by its path from there or from a folder above.
func (k *shipping) header(dir, name string) {
	name = strings.Trim(strings.Trim(name, `"';`), "/")
	if name == "" || name == "." || strings.ContainsRune(name, shelltext.Unknown) {
		return
	}
	for at := dir; ; at = path.Dir(at) {
		p := path.Join(at, name)
		switch {
		case strings.ContainsAny(name, "*?[") && strings.HasPrefix(path.Ext(name), ".h"), k.IsDir(p),
			k.Has(p) && strings.HasPrefix(path.Ext(p), ".h"):
			k.file(at, name, headerExts)
			return
		}
		if at == "." || at == "/" {
			return
		}
	}
}

// cmake reads which headers a CMakeLists.txt installs.
func (k *shipping) cmake(dir string, src []byte) {
	commands, _ := cmakeCommands(string(src))
	vars := map[string]string{}
	for _, c := range commands {
		args := k.room.words(c.args, vars)
		after := func(word string) []string {
			if i := slices.Index(args, word); i >= 0 {
				return args[i+1:]
			}
			return nil
		}
		var installed []string
		switch {
		case len(args) < 2:
		case c.name == "set":
			vars[args[0]] = k.room.value(args[1:]...)
		case c.name == "list" && args[0] == "APPEND":
			vars[args[1]] = k.room.value(append([]string{vars[args[1]]}, args[2:]...)...)
		case c.name == "file" && strings.HasPrefix(args[0], "GLOB"):
			vars[args[1]] = k.room.value(args[2:]...)
		case c.name == "install" && (args[0] == "FILES" || args[0] == "DIRECTORY"):
			installed = args[1:]
			if i := slices.Index(installed, "DESTINATION"); i >= 0 {
				installed = installed[:i]
			}
		case c.name == "set_target_properties" || c.name == "set_property":
			installed = after("PUBLIC_HEADER")
		case c.name == "target_sources" && slices.Contains(args, "FILE_SET"):
			installed = after("FILES")
		}
		for _, name := range installed {
			k.header(dir, name)
		}
	}
}

// automake reads which headers a Makefile.am installs.
func (k *shipping) automake(dir string, src []byte) {
	m := &makefile{vars: map[string]string{}}
	for _, s := range parseMakefile(string(src)) {
		if s.kind == makeVariable {
			m.set(s)
		}
	}
	for name, value := range m.vars {
		if !strings.HasSuffix(name, "_HEADERS") || strings.HasPrefix(name, "noinst_") ||
			strings.HasPrefix(name, "check_") {
			continue
		}
		for _, word := range strings.Fields(m.expand(value)) {
			k.header(dir, word)
		}
	}
}

// make reads which headers the recipes of a Makefile name that install.
func (k *shipping) make(dir string, src []byte) {
	m := &makefile{vars: map[string]string{}}
	for _, s := range parseMakefile(string(src)) {
		switch s.kind {
		case makeVariable:
			m.set(s)
		case makeRule:
			m.rules = append(m.rules, s)
		}
	}
	for _, rule := range m.rules {
		if !slices.ContainsFunc(rule.targets, func(goal string) bool { return strings.HasPrefix(goal, "install") }) {
			continue
		}
		for _, line := range rule.recipe {
			for _, word := range strings.Fields(m.recipe(line)) {
				if word = strings.Trim(word, `"';`); strings.HasPrefix(path.Ext(word), ".h") {
					k.header(dir, word)
				}
			}
		}
	}
}

var mesonHeaders = lazily.Regexp(`\binstall_headers\s*\(([^)]*)\)`)

// meson reads which headers a meson.build installs by name.
func (k *shipping) meson(dir string, src []byte) {
	for _, m := range mesonHeaders().FindAllStringSubmatch(string(src), -1) {
		for _, name := range quotedIn(m[1]) {
			if strings.HasPrefix(path.Ext(name), ".h") {
				k.header(dir, name)
			}
		}
	}
}
