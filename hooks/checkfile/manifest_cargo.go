package checkfile

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	// crateEntry matches the name of an entry of [dependencies], or of the path in the table of one.
	crateEntry = lazily.Regexp(`^dependencies\.([A-Za-z_][\w-]*)(\.path)?$`)
	rustWord   = lazily.Regexp(`\w+`)
	// builtinCrates are what the compiler looks for by these names in every crate; test is the runner.
	builtinCrates = lazily.Words("std core alloc test proc_macro")
	inTreeKeys    = lazily.Words("path version features default-features")
)

// cargoAt returns the kind of the Cargo.toml in dir. A new dependency on a crate of the tree is a change of the program: it
// is restored only where the crate belongs to the check, or tests may mean it by its name.
func (c *Checks) cargoAt(dir string) *manifestKind {
	taken := sync.OnceValue(func() map[string]bool { return c.crateNames(dir) })
	return lineKind(func(src string) ([]piece, bool) {
		list, ok := splitTOML(src, cargoMeaning)
		for i := range list {
			p := &list[i]
			if p.is != dependency || !strings.Contains(p.value, "path") {
				continue
			}
			name, at, only := pathEntry(p)
			if name == "" || !c.inTree(dir, at) || taken() == nil || taken()[crateName(name)] {
				continue
			}
			if p.value = "in the tree"; only {
				p.is = plain
			}
		}
		return list, ok
	})
}

// pathEntry returns the name and the path of a dependency on a crate of the tree, and whether it says nothing else. name
// is empty where p is another entry, or one that says more than which features of the crate are wanted.
func pathEntry(p *piece) (name, at string, only bool) {
	m := crateEntry().FindStringSubmatch(p.name)
	if m == nil {
		return "", "", false
	}
	src := "x = " + p.value
	if m[2] != "" {
		src = "[x]\n" + p.value
	}
	var entry struct{ X map[string]any }
	if toml.Unmarshal([]byte(src), &entry) != nil {
		return "", "", false
	}
	for key := range entry.X {
		if !slices.Contains(inTreeKeys(), key) {
			return "", "", false
		}
	}
	at, ok := entry.X["path"].(string)
	if !ok {
		return "", "", false
	}
	return m[1], at, len(entry.X) == 1
}

// inTree reports whether a path in dir leads to a place for a crate of the program: in the tree, not through a symbolic
// link that was there before, and to nothing that belongs to the check.
func (c *Checks) inTree(dir, to string) bool {
	at := path.Join(dir, to)
	source := path.Join(at, "src/lib.rs")
	if path.IsAbs(to) || strings.HasPrefix(source, "../") || foreign(source) || c.Class(source) > 0 {
		return false
	}
	for ; at != "."; at = path.Dir(at) {
		if c.Has(at) {
			return false
		}
	}
	return true
}

// crateNames returns the names that mean something to the crate in dir, or to its tests, without the dependency on a
// crate of this name; nil where that is not known.
func (c *Checks) crateNames(dir string) map[string]bool {
	if c.read == nil {
		return nil
	}
	names := map[string]bool{}
	for _, name := range builtinCrates() {
		names[name] = true
	}
	if manifest := path.Join(dir, "Cargo.toml"); c.Has(manifest) {
		var was struct {
			crate
			Target  map[string]crate
			Package struct{ Name string }
		}
		src, err := c.read(manifest)
		if err != nil || toml.Unmarshal(src, &was) != nil {
			return nil
		}
		names[crateName(was.Package.Name)] = true
		for _, t := range append(slices.Collect(maps.Values(was.Target)), was.crate) {
			for _, list := range []map[string]any{t.Dependencies, t.Dev, t.Build} {
				for name := range list {
					names[crateName(name)] = true
				}
			}
		}
	}
	for p := range c.tree.Files() {
		if path.Ext(p) == ".rs" && !foreign(p) && c.inCrate(dir, p) {
			for _, word := range rustWord().FindAllString(c.testText(p), -1) {
				names[word] = true
			}
		}
	}
	return names
}

// crateName returns how sources write the name of a crate.
func crateName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// inCrate reports whether p is below dir, and not in a crate further down.
func (c *Checks) inCrate(dir, p string) bool {
	for at := path.Dir(p); at != dir; at = path.Dir(at) {
		if at == "." || c.Has(path.Join(at, "Cargo.toml")) {
			return false
		}
	}
	return true
}

// testText returns what of a source of Rust belongs to tests.
func (c *Checks) testText(p string) string {
	src, err := c.read(p)
	if err != nil {
		return ""
	}
	list, ok := splitRust(string(src))
	if !ok || c.Class(p) > 0 {
		return string(src)
	}
	var text strings.Builder
	for _, piece := range list {
		if piece.is == decides {
			text.WriteString(piece.text + "\n")
		}
	}
	return text.String()
}
