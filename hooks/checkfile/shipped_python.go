package checkfile

// What Python packages ship: the lists of pyproject.toml, setup.cfg and setup.py, else what their tools find by
// themselves. The formats: setuptools' guide on package discovery, and the guides of Poetry, Hatch, Flit, PDM and uv.

import (
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// A pythonPackage is what the manifests of one folder say together.
type pythonPackage struct {
	dir        string
	name       string            // of the project
	setuptools bool              // or a tool that does not say
	stated     bool              // what is shipped is listed
	roots      map[string]string // package → its folder; "": that of all others
	packages   []string          // with dots, each without those below it
	modules    []string          // with dots
	trees      []string          // folders and files
	finds      []pythonFind
}

// A pythonFind is a search for packages below a folder. Patterns are compared with names with dots.
type pythonFind struct {
	where            string
	include, exclude []string
}

// notFound are folders beside a package in which setuptools finds none by itself.
var notFound = lazily.Words(`
	ci bin debian doc docs documentation manpages news newsfragments changelog test tests unit_test unit_tests
	example examples scripts tools util utils python build benchmark benchmarks exercise exercises htmlcov tasks fabfile
	site_scons node_modules`)

func (k *shipping) pythonIn(dir string) *pythonPackage {
	p := k.python[dir]
	if p == nil {
		p = &pythonPackage{dir: dir, roots: map[string]string{}}
		k.python[dir] = p
	}
	return p
}

func (k *shipping) pyproject(dir string, src []byte) {
	var m map[string]any
	if toml.Unmarshal(src, &m) != nil {
		return
	}
	name, _ := valueAt(m, "project", "name").(string)
	if name == "" {
		name, _ = valueAt(m, "tool", "poetry", "name").(string)
	}
	if name == "" && valueAt(m, "build-system") == nil {
		return // settings of tools alone
	}
	p := k.pythonIn(dir)
	p.name = name
	backend, _ := valueAt(m, "build-system", "build-backend").(string)
	p.setuptools = backend == "" || strings.HasPrefix(backend, "setuptools")

	setup := valueAt(m, "tool", "setuptools")
	p.list(words(valueAt(setup, "packages")), words(valueAt(setup, "py-modules")))
	if roots, ok := valueAt(setup, "package-dir").(map[string]any); ok {
		for pkg, root := range roots {
			p.roots[pkg], _ = root.(string)
		}
	}
	for _, how := range []string{"find", "find-namespace"} {
		if find, ok := valueAt(setup, "packages", how).(map[string]any); ok {
			p.find(words(find["where"]), words(find["include"]), words(find["exclude"]))
		}
	}
	if list, ok := valueAt(m, "tool", "poetry", "packages").([]any); ok {
		for _, entry := range list {
			include, _ := valueAt(entry, "include").(string)
			from, _ := valueAt(entry, "from").(string)
			p.tree(path.Join(from, include))
		}
	}
	wheel := valueAt(m, "tool", "hatch", "build", "targets", "wheel")
	for _, list := range []any{
		valueAt(wheel, "packages"), valueAt(wheel, "only-include"), valueAt(wheel, "include"),
		valueAt(m, "tool", "hatch", "build", "include"),
	} {
		for _, tree := range words(list) {
			p.tree(strings.TrimPrefix(tree, "/"))
		}
	}
	for _, module := range []any{
		valueAt(m, "tool", "flit", "module", "name"), valueAt(m, "tool", "uv", "build-backend", "module-name"),
	} {
		for _, name := range words(module) {
			for _, root := range []string{"src", ""} {
				p.tree(path.Join(root, strings.ReplaceAll(name, ".", "/")))
				p.tree(path.Join(root, strings.ReplaceAll(name, ".", "/")) + ".py")
			}
		}
	}
}

// valueAt returns the value at a path of keys, nil for none.
func valueAt(v any, keys ...string) any {
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// words returns the strings of a list, or the one string that v is.
func words(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

func (k *shipping) setupCfg(dir string, src []byte) {
	pieces, ok := splitINI(string(src))
	if !ok {
		return
	}
	said := map[string][]string{} // by section.option
	for _, e := range pieces {
		if strings.HasPrefix(e.name, e.section+".") {
			said[e.name] = append(said[e.name], iniWords(e.value)...)
		}
	}
	if len(said["metadata.name"])+len(said["options.packages"])+len(said["options.py_modules"]) == 0 {
		return // settings of tools alone
	}
	p := k.pythonIn(dir)
	p.setuptools = true
	if name := said["metadata.name"]; len(name) > 0 && p.name == "" {
		p.name = name[0]
	}
	for _, root := range said["options.package_dir"] {
		p.root(root)
	}
	packages := said["options.packages"]
	if len(packages) == 1 && (packages[0] == "find:" || packages[0] == "find_namespace:") {
		const find = "options.packages.find."
		p.find(said[find+"where"], said[find+"include"], said[find+"exclude"])
		packages = nil
	}
	p.list(packages, said["options.py_modules"])
}

// iniWords splits a value of setup.cfg: "= src" of package_dir is one word.
func iniWords(value string) []string {
	value = strings.ReplaceAll(strings.ReplaceAll(value, " =", "="), "= ", "=")
	return strings.FieldsFunc(value, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

var (
	pySetupName     = lazily.Regexp(`\bname\s*=\s*['"]([\w.-]+)['"]`)
	pySetupPackages = lazily.Regexp(`\bpackages\s*=\s*[\[(]([^\])]*)[\])]`)
	pySetupModules  = lazily.Regexp(`\bpy_modules\s*=\s*[\[(]([^\])]*)[\])]`)
	pySetupFind     = lazily.Regexp(`\bfind_(?:namespace_)?packages\s*\(([^)]*)\)`)
	pySetupRoots    = lazily.Regexp(`\bpackage_dir\s*=\s*\{([^}]*)\}`)
	pySetupRoot     = lazily.Regexp(`['"]([\w.]*)['"]\s*:\s*['"]([\w./-]*)['"]`)
	pyArgument      = lazily.Regexp(`(?:\b(where|include|exclude)\s*=\s*)?([\[(][^\])]*[\])]|['"][^'"]*['"])`)
	pyString        = lazily.Regexp(`['"]([^'"]*)['"]`)
	pyComment       = lazily.Regexp(`(?m)^\s*#.*$`)
)

// setupPy reads what setup.py says in plain lists. What it computes is not known.
func (k *shipping) setupPy(dir string, src []byte) {
	text := pyComment().ReplaceAllString(string(src), "")
	if !strings.Contains(text, "setup(") {
		return
	}
	p := k.pythonIn(dir)
	p.setuptools = true
	if m := pySetupName().FindStringSubmatch(text); m != nil && p.name == "" {
		p.name = m[1]
	}
	first := func(m []string) string {
		if m == nil {
			return ""
		}
		return m[1]
	}
	for _, m := range pySetupRoot().FindAllStringSubmatch(first(pySetupRoots().FindStringSubmatch(text)), -1) {
		p.roots[m[1]] = m[2]
	}
	p.list(quotedIn(first(pySetupPackages().FindStringSubmatch(text))),
		quotedIn(first(pySetupModules().FindStringSubmatch(text))))
	for _, m := range pySetupFind().FindAllStringSubmatch(text+")", -1) {
		args, order := map[string][]string{}, []string{"where", "exclude", "include"}
		for i, a := range pyArgument().FindAllStringSubmatch(m[1], -1) {
			name := a[1]
			if name == "" && i < len(order) {
				name = order[i]
			}
			args[name] = quotedIn(a[2])
		}
		p.find(args["where"], args["include"], args["exclude"])
	}
}

// quotedIn returns the plain strings in a text of Python.
func quotedIn(text string) (list []string) {
	for _, m := range pyString().FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

func (p *pythonPackage) list(packages, modules []string) {
	p.packages, p.modules = append(p.packages, packages...), append(p.modules, modules...)
	p.stated = p.stated || len(packages)+len(modules) > 0
}

func (p *pythonPackage) tree(name string) {
	p.trees, p.stated = append(p.trees, name), true
}

func (p *pythonPackage) find(where, include, exclude []string) {
	if len(where) == 0 {
		where = []string{"."}
	}
	for _, dir := range where {
		p.finds = append(p.finds, pythonFind{dir, include, exclude})
	}
	p.stated = true
}

// root takes over an entry of package_dir: "=src" or "shop=lib/shop".
func (p *pythonPackage) root(entry string) {
	if pkg, root, ok := strings.Cut(entry, "="); ok {
		p.roots[pkg] = root
	}
}

// folderOf returns the folder of a package.
func (p *pythonPackage) folderOf(pkg string) string {
	for at, rest := pkg, ""; ; {
		if root, ok := p.roots[at]; ok {
			return path.Join(root, rest)
		}
		if at == "" {
			return rest
		}
		i := strings.LastIndexByte(at, '.')
		rest = path.Join(at[i+1:], rest)
		at = at[:max(i, 0)]
	}
}

// add ships what p does.
func (p *pythonPackage) add(k *shipping) {
	if !p.stated {
		p.guess(k)
	}
	for _, pkg := range p.packages {
		k.folders[path.Join(p.dir, p.folderOf(pkg))] = true
	}
	for _, module := range p.modules {
		k.file(p.dir, p.folderOf(module)+".py", "")
	}
	for _, tree := range p.trees {
		k.file(p.dir, tree, ".py")
	}
	for _, find := range p.finds {
		for _, dir := range p.found(k, find) {
			k.folders[dir] = true
		}
	}
}

// guess is for manifests that list nothing: a package is in src, or it has the name of the project. What setuptools
// finds by itself is a single folder.
func (p *pythonPackage) guess(k *shipping) {
	if root, ok := p.roots[""]; ok {
		p.find([]string{root}, nil, nil)
		return
	}
	name := strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(p.name))
	for _, root := range []string{"src", "."} {
		for _, found := range []string{name, name + ".py"} {
			if at := path.Join(p.dir, root, found); name != "" && (k.Has(at) || k.IsDir(at)) {
				p.tree(path.Join(root, found))
				return
			}
		}
	}
	if !p.setuptools {
		return
	}
	if k.IsDir(path.Join(p.dir, "src")) {
		p.find([]string{"src"}, nil, nil)
		return
	}
	var tops []string
	for _, dir := range p.found(k, pythonFind{where: "."}) {
		if path.Dir(dir) == p.dir && !slices.Contains(notFound(), path.Base(dir)) {
			tops = append(tops, path.Base(dir))
		}
	}
	if len(tops) == 1 {
		p.tree(tops[0])
	}
}

// found returns the folders of the packages that a search finds.
func (p *pythonPackage) found(k *shipping, find pythonFind) (dirs []string) {
	where := path.Join(p.dir, find.where)
	for dir := range k.dirUnits {
		rel := dir
		if where != "." {
			var ok bool
			if rel, ok = strings.CutPrefix(dir, where+"/"); !ok {
				continue
			}
		}
		whole := rel != "."
		for at := rel; whole && at != "."; at = path.Dir(at) {
			whole = k.Has(path.Join(where, at, "__init__.py"))
		}
		name := strings.ReplaceAll(rel, "/", ".")
		is := func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		}
		if whole && (len(find.include) == 0 || slices.ContainsFunc(find.include, is)) &&
			!slices.ContainsFunc(find.exclude, is) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
