package checkfile

import (
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/async-pipeline/async-pipeline/internal/lang"
)

// A crate is a package of Rust in the tree.
type crate struct {
	dir string

	Dependencies map[string]any `toml:"dependencies"`
	Dev          map[string]any `toml:"dev-dependencies"`
	Build        map[string]any `toml:"build-dependencies"`
	Workspace    struct {
		Dependencies map[string]any `toml:"dependencies"`
	} `toml:"workspace"`
}

// devCrates returns the folders of crates that only tests of another crate depend on, with a slash at the end: helpers
// of these. A crate with a test of its own is none. Neither is one that is around the crate that needs it, or that is
// needed by one without a source of its own: these may be there to test it.
func devCrates(t Tree, s *survey) (folders map[string]bool) {
	var crates []crate
	shared := map[string]string{} // crates of workspaces, by their names
	for _, p := range set(t.Paths) {
		if path.Base(p) != "Cargo.toml" || foreign(p) || len(crates) == maxPackages {
			continue
		}
		src, err := t.Read(p)
		c := crate{dir: path.Dir(p)}
		if err != nil || len(src) > maxSource || toml.Unmarshal(src, &c) != nil {
			continue
		}
		crates = append(crates, c)
		for name, dependency := range c.Workspace.Dependencies {
			if at := crateAt(c.dir, dependency); at != "" {
				shared[name] = at
			}
		}
	}
	needed, dev := map[string]bool{}, map[string]bool{}
	for _, c := range crates {
		for _, list := range []map[string]any{c.Dependencies, c.Build} {
			for at := range c.pathsOf(list, shared) {
				needed[at] = true
			}
		}
		if !c.hasSource(t) {
			continue
		}
		for at := range c.pathsOf(c.Dev, shared) {
			if at != c.dir && !strings.HasPrefix(c.dir+"/", at+"/") && at != "." {
				dev[at] = true
			}
		}
	}
	folders = map[string]bool{}
	for at := range dev {
		if !needed[at] && !s.rustTests[at] && !lang.TestFolder(s.Rel(path.Join(at, "src/lib.rs"))) {
			folders[at+"/"] = true
		}
	}
	return folders
}

// hasSource reports whether the crate has more than tests.
func (c *crate) hasSource(t Tree) bool {
	for _, name := range []string{"src/lib.rs", "src/main.rs"} {
		if src, err := t.Read(path.Join(c.dir, name)); err == nil && len(strings.TrimSpace(maskRust(string(src)))) > 0 {
			return true
		}
	}
	return false
}

// pathsOf returns the folders of those dependencies that are in the tree.
func (c *crate) pathsOf(list map[string]any, shared map[string]string) map[string]bool {
	found := map[string]bool{}
	for name, dependency := range list {
		at := crateAt(c.dir, dependency)
		if table, ok := dependency.(map[string]any); ok && table["workspace"] == true {
			at = shared[name]
		}
		if at != "" {
			found[at] = true
		}
	}
	return found
}

// crateAt returns the folder that a dependency in dir names; empty: none of the tree.
func crateAt(dir string, dependency any) string {
	table, _ := dependency.(map[string]any)
	at, _ := table["path"].(string)
	if at = path.Join(dir, at); table["path"] == nil || strings.HasPrefix(at, "../") {
		return ""
	}
	return at
}
