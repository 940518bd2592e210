package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// affectedProject has a task for each way in which a file can decide a result.
const affectedProject = `
include "sub/PIPELINE.hcl" {
  name = "sub"
}
task "src" {
  run     = "mkdir -p out; cat src/a src/d/* > out/src"
  inputs  = ["src/**", "!**/*.md"]
  outputs = ["out/src"]
}
task "dep" {
  depends_on = [task.src]
  run        = "cat out/src lib/m"
  inputs     = ["lib/m"]
}
task "auto" {
  run    = "cat src/d/*; ls lib; test -e conf/y && cat conf/y || true"
  inputs = auto
}
task "fn" {
  run    = ["echo", file("conf/x.json")]
  inputs = ["none/**", "kept"]
}
task "env" {
  run    = "echo $A"
  dotenv = ["env/vars"]
  inputs = ["none/**", "kept"]
}
task "text" {
  run    = "true; env X=1 ./tools/t.sh"
  inputs = ["none/**", "kept"]
}
task "interpreter" {
  run    = ["bin/run"]
  inputs = ["none/**", "kept"]
}
task "path" {
  run    = ["t.sh"]
  env    = { PATH = "${path.root}/tools:/usr/bin:/bin" }
  inputs = ["none/**", "kept"]
}
task "made" {
  run    = "cat src/made"
  inputs = ["src/made"]
}
task "outside" {
  run    = "cat src/outside"
  inputs = ["src/outside"]
}
task "data" {
  run    = "cat data/*"
  inputs = ["data/**"]
}
task "secret" {
  run    = "echo $S"
  dotenv = [".secret"]
  inputs = ["none/**", "kept"]
}
task "ignored" {
  run    = "cat cache/deep/*"
  inputs = ["cache/deep/**"]
}
task "module" {
  run    = "cat src/d/c"
  inputs = ["mod/**"]
}
task "nested" {
  run    = "true; env -C tools ./nested.sh; sh -c ./tools/text.sh"
  inputs = ["none/**", "kept"]
}
task "each" {
  for_each = toset(["l", "m"])
  run      = ["cat", "lib/${each.key}"]
  inputs   = ["lib/${each.key}"]
}
`

// What the cache would not answer, after any change of files, is what run --affected runs, or less: a task that it leaves
// out would have been cached.
func TestAffectedMissesNothing(t *testing.T) {
	t.Parallel()
	needProc(t)
	runs := regexp.MustCompile(`(?m)^ +\d+\. (\S+).*\n(?:.*\n)? +runs: `)
	affected := regexp.MustCompile(`(?m)^ +\d+\. (\S+)  affected`)
	names := func(re *regexp.Regexp, text string) (all []string) {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		return all
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // for a test
			v := emptyVictim(t)
			at := func(name string) string { return filepath.Join(v.dir, name) }
			write := func(name, text string, mode os.FileMode) {
				must(t, os.MkdirAll(filepath.Dir(at(name)), 0o755))
				must(t, os.WriteFile(at(name), []byte(text), mode))
			}
			for name, text := range map[string]string{
				".gitignore": ".async/\nout/\ncache/\n.secret\nmade\n", ".secret": "S=1\n", "src/made": "1\n", "cache/deep/x": "1\n", "data/lf": "1\n", "data/id": "$Id$\n",
				"data/assumed": "1\n", "data/skipped": "1\n", "data/mode": "1\n", ".gitattributes": "data/lf text=auto\ndata/id ident\n", "src/a": "a\n", "src/b.md": "b\n", "src/d/c": "c\n", "lib/l": "l\n", "lib/m": "m\n",
				"conf/x.json": "{}\n", "env/vars": "A=1\n", "sub/s": "s\n", "other": "o\n", "kept": "", "PIPELINE.hcl": affectedProject,
				"sub/PIPELINE.hcl": "task \"t\" {\n  run    = \"cat s\"\n  inputs = [\"s\", \"k/**\"]\n}\n",
			} {
				write(name, text, 0o644)
			}
			write("tools/t.sh", "#!/bin/sh\necho t\n", 0o755)
			write("tools/i", "#!/bin/sh\necho i\n", 0o755)
			write("bin/run", "#!"+at("tools/i")+"\n", 0o755)
			must(t, os.Symlink("../lib/l", at("src/link")))
			must(t, os.Symlink("link", at("src/two")))
			outside := filepath.Join(t.TempDir(), "outside")
			must(t, os.WriteFile(outside, []byte("1\n"), 0o644)) //nolint:gosec // a test
			must(t, os.Symlink(outside, at("src/outside")))
			write("tools/nested.sh", "#!/bin/sh\n", 0o755)
			write("tools/text.sh", "#!/bin/sh\n", 0o755)
			write("mod/m", "1\n", 0o644)
			for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "m"}} {
				v.git(t, append([]string{"-C", "mod", "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
			}
			run := func(args ...string) string {
				code, out := v.run(t, append([]string{"run"}, args...)...)
				if code != 0 {
					t.Fatalf("run %q: exit %d\n%s", args, code, out)
				}
				return out
			}
			run()
			commitAll(t, v.dir)
			v.git(t, "config", "core.fileMode", "false")
			v.git(t, "update-index", "--assume-unchanged", "data/assumed")
			v.git(t, "update-index", "--skip-worktree", "data/skipped")
			unseen := map[string]func(){ // what git does not tell of
				"secret":  func() { write(".secret", "S=2\n", 0o644) },
				"made":    func() { write("src/made", "2\n", 0o644) },
				"outside": func() { must(t, os.WriteFile(outside, []byte("2\n"), 0o644)) }, //nolint:gosec // a test
				"deep":    func() { write("cache/deep/y", "2\n", 0o644) },
				"assumed": func() { write("data/assumed", "2\n", 0o644) },
				"skipped": func() { write("data/skipped", "2\n", 0o644) },
				"mode":    func() { must(t, os.Chmod(at("data/mode"), 0o755)) },
				"lf":      func() { write("data/lf", "1\r\n", 0o644) },
				"id":      func() { write("data/id", "$Id: 2 $\n", 0o644) },
				"module":  func() { write("mod/m", "2\n", 0o644) },
				"new":     func() { write("mod/n", "2\n", 0o644) },
				"nested":  func() { write("tools/nested.sh", "#!/bin/sh\n# more\n", 0o755) },
				"text":    func() { write("tools/text.sh", "#!/bin/sh\n# more\n", 0o755) },
			}
			for _, name := range slices.Sorted(maps.Keys(unseen)) {
				run()
				if out := run("--affected=HEAD", "--dry-run"); !strings.HasPrefix(out, "Nothing is affected") {
					t.Errorf("before %s: %s", name, out)
				}
				unseen[name]()
				all, some := run("--dry-run"), run("--affected=HEAD", "--dry-run")
				if ran := names(runs, all); len(ran) == 0 {
					t.Errorf("%s changes nothing:\n%s", name, all)
				} else if chosen := names(affected, some); slices.ContainsFunc(ran, func(task string) bool { return !slices.Contains(chosen, task) }) {
					t.Errorf("%s: %q are affected, and %q run\n%s\n%s", name, chosen, ran, all, some)
				}
				v.git(t, "update-index", "--no-assume-unchanged", "data/assumed")
				v.git(t, "update-index", "--no-skip-worktree", "data/skipped")
				v.git(t, "reset", "-q", "--hard")
				v.git(t, "-C", "mod", "reset", "-q", "--hard")
				v.git(t, "-C", "mod", "clean", "-qf")
				must(t, os.Chmod(at("data/mode"), 0o644))
				v.git(t, "update-index", "--assume-unchanged", "data/assumed")
				v.git(t, "update-index", "--skip-worktree", "data/skipped")
			}
			v.git(t, "config", "core.fileMode", "true")
			paths := []string{
				"src/a", "src/b.md", "src/d/c", "src/d/new", "lib/l", "lib/m", "lib/new", "conf/x.json", "conf/y", "env/vars", "tools/t.sh", "tools/i",
				"bin/run", "sub/s", "sub/k/new", "other", "src/link", "none/new", "src/.gitignore", "sub/PIPELINE.hcl", "tools/cat",
			}
			needed := []string{"conf/x.json", "env/vars", "bin/run", "src/.gitignore", "sub/PIPELINE.hcl"}
			for step := range 15 {
				run() // all is cached now
				name := paths[rng.IntN(len(paths))]
				old, err := os.ReadFile(at(name))
				switch what := rng.IntN(4); {
				case name == "src/link":
					must(t, os.Remove(at(name)))
					must(t, os.Symlink([]string{"a", "../lib/m", "../other"}[rng.IntN(3)], at(name)))
				case err == nil && what == 0 && !slices.Contains(needed, name):
					must(t, os.Remove(at(name)))
				case err == nil && what == 1:
					info, err := os.Stat(at(name))
					must(t, err)
					must(t, os.Chmod(at(name), info.Mode()^0o100))
				case name == "env/vars":
					write(name, fmt.Sprintf("A=%d\n", step+2), 0o644)
				case name == "src/.gitignore":
					write(name, []string{"new\n", "c\n", "*.md\n"}[rng.IntN(3)], 0o644)
				case name == "conf/x.json" || err != nil:
					write(name, fmt.Sprintf("[%d]\n", step), 0o644)
				default:
					write(name, string(old)+"# more\n", 0o644)
				}
				all, some := run("--dry-run"), run("--affected=HEAD", "--dry-run")
				chosen := names(affected, some)
				for _, task := range names(runs, all) {
					if !slices.Contains(chosen, task) {
						t.Fatalf("step %d, %s: %s is not affected\n%s\n%s", step, name, task, all, some)
					}
				}
				v.git(t, "reset", "-q", "--hard")
				v.git(t, "clean", "-qfd")
			}
			if out := run("--dry-run"); strings.Contains(out, "runs: ") { // else what follows a change is not what it seems
				t.Errorf("not all is as it was:\n%s", out)
			}
		})
	}
}
