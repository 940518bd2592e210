package git

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The facts are those of Head and Dirty, and are known in ordinary work trees.
func TestFactsOf(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, top string){
		"clean":     func(*testing.T, string) {},
		"untracked": func(t *testing.T, top string) { write(t, top, map[string]string{"dir/new": ""}) },
		"ignored":   func(t *testing.T, top string) { write(t, top, map[string]string{"build/new": ""}) },
		"changed":   func(t *testing.T, top string) { write(t, top, map[string]string{"a": "2"}) },
		"removed":   func(t *testing.T, top string) { must(t, os.Remove(top+"/a")) },
		"touched":   func(t *testing.T, top string) { write(t, top, map[string]string{"a": "1"}) },
		"staged": func(t *testing.T, top string) {
			write(t, top, map[string]string{"a": "2"})
			run(t, top, "add", "a")
		},
		"staged and undone": func(t *testing.T, top string) {
			write(t, top, map[string]string{"a": "2"})
			run(t, top, "add", "a")
			write(t, top, map[string]string{"a": "1"})
		},
		"renamed":    func(t *testing.T, top string) { run(t, top, "mv", "a", "z") },
		"executable": func(t *testing.T, top string) { must(t, os.Chmod(top+"/a", 0o755)) },
		"only noticed": func(t *testing.T, top string) {
			write(t, top, map[string]string{"n": ""})
			run(t, top, "add", "-N", "n")
		},
		"detached":   func(t *testing.T, top string) { run(t, top, "checkout", "-q", "--detach") },
		"packed":     func(t *testing.T, top string) { run(t, top, "pack-refs", "--all") },
		"other refs": func(t *testing.T, top string) { run(t, top, "symbolic-ref", "HEAD", "refs/other/x") },
		"conflict": func(t *testing.T, top string) {
			run(t, top, "checkout", "-q", "-b", "two")
			write(t, top, map[string]string{"a": "2"})
			run(t, top, "commit", "-q", "-a", "-m", "two")
			run(t, top, "checkout", "-q", "main")
			write(t, top, map[string]string{"a": "3"})
			run(t, top, "commit", "-q", "-a", "-m", "three")
			run(t, top, "-c", "alias.try=!git merge -q two || :", "try")
		},
		"nested repository": func(t *testing.T, top string) {
			must(t, os.Mkdir(top+"/nested", 0o755))
			run(t, top+"/nested", "init", "-q")
			write(t, top, map[string]string{"nested/x": ""})
		},
		"no commit": func(t *testing.T, top string) { run(t, top, "update-ref", "-d", "HEAD") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, r := newRepo(t, map[string]string{"a": "1", "b": "1", ".gitignore": "build/\n"})
			change(t, top)
			got, err := FactsOf(t.Context(), top)
			if err != nil {
				t.Fatal(err)
			}
			if want := slowFacts(t, r); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// They are those of the whole work tree also for a folder in it, by whatever path, and for a linked one.
func TestFactsOfPlaces(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(t *testing.T, top string) (root string){
		"below the top": func(t *testing.T, top string) string {
			write(t, top, map[string]string{"dir/deep/.async/x": "", "dir/deep/.async/.gitignore": "*\n"})
			return top + "/dir/deep"
		},
		"by a link": func(t *testing.T, top string) string {
			write(t, top, map[string]string{"dir/x": ""})
			link := filepath.Join(t.TempDir(), "link")
			must(t, os.Symlink(top+"/dir", link))
			return link
		},
		"linked": func(t *testing.T, top string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			run(t, top, "worktree", "add", "-q", "-b", "two", linked)
			return linked
		},
		"linked, no branch, changed": func(t *testing.T, top string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			run(t, top, "worktree", "add", "-q", "--detach", linked)
			write(t, linked, map[string]string{"a": "2"})
			return linked
		},
		"with the folder of git elsewhere": func(t *testing.T, top string) string {
			must(t, os.Rename(top+"/.git", top+".git"))
			write(t, top, map[string]string{".git": "gitdir: " + top + ".git\n"})
			return top
		},
		"below a linked one": func(t *testing.T, top string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			run(t, top, "worktree", "add", "-q", "-b", "two", linked)
			write(t, linked, map[string]string{"dir/x": ""})
			return linked + "/dir"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, _ := newRepo(t, map[string]string{"a": "1"})
			root := place(t, top)
			got, err := FactsOf(t.Context(), root)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Of(t.Context(), root)
			must(t, err)
			if want := slowFacts(t, r); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// slowFacts asks Head and Dirty.
func slowFacts(t *testing.T, r *Repo) (f Facts) {
	t.Helper()
	var err error
	f.Commit, f.Branch, err = r.Head(t.Context())
	must(t, err)
	dirty, err := r.Dirty(t.Context())
	must(t, err)
	f.Dirty = len(dirty) > 0
	return f
}

// Where the short answer could be wrong there is none.
func TestFactsUnclear(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(t *testing.T, top string) (root string){
		"below a repository without a work tree": func(t *testing.T, top string) string {
			write(t, top, map[string]string{"dir/below/x": ""})
			run(t, top+"/dir", "init", "-q", "--bare", ".")
			return top + "/dir/below"
		},
		"in the folder of git": func(_ *testing.T, top string) string { return top + "/.git/refs" },
		"a broken repository below another": func(t *testing.T, top string) string {
			write(t, top, map[string]string{"dir/.git/config": ""})
			return top + "/dir"
		},
		"a linked work tree with a configuration of its own": func(t *testing.T, top string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			run(t, top, "worktree", "add", "-q", linked)
			run(t, top, "config", "extensions.worktreeConfig", "true")
			return linked
		},
		"a linked work tree that is gone": func(t *testing.T, top string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			run(t, top, "worktree", "add", "-q", linked)
			must(t, os.RemoveAll(top+"/.git/worktrees"))
			return linked
		},
		"a folder that is ignored": func(t *testing.T, top string) string {
			write(t, top, map[string]string{".gitignore": "dir/\n", "dir/deep/x": ""})
			return top + "/dir/deep"
		},
		"a pipe in the place of .git": func(t *testing.T, _ string) string {
			dir := t.TempDir()
			must(t, syscall.Mkfifo(dir+"/.git", 0o600))
			return dir
		},
		"a pipe in the place of the configuration": func(t *testing.T, top string) string {
			must(t, os.Remove(top+"/.git/config"))
			must(t, syscall.Mkfifo(top+"/.git/config", 0o600))
			return top
		},
		"no work tree": func(t *testing.T, _ string) string { return t.TempDir() },
		"work tree elsewhere": func(t *testing.T, top string) string {
			run(t, top, "config", "core.workTree", t.TempDir())
			return top
		},
		"bare": func(t *testing.T, top string) string {
			run(t, top, "config", "core.bare", "true")
			return top
		},
		"damaged index": func(t *testing.T, top string) string {
			write(t, top, map[string]string{".git/index": "garbage, garbage, garbage, garbage"})
			return top
		},
		"a branch that is named as no branch": func(t *testing.T, top string) string {
			run(t, top, "checkout", "-q", "-b", "(detached)")
			return top
		},
		"a filter may be all that differs": func(t *testing.T, top string) string {
			run(t, top, "config", "filter.x.clean", "false")
			write(t, top, map[string]string{".git/info/attributes": "* filter=x\n", "a": "2"})
			return top
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, _ := newRepo(t, map[string]string{"a": "1"})
			if f, err := FactsOf(t.Context(), make(t, top)); err == nil {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A git that ignores settings in its environment would run filters: it is asked nothing more.
func TestFactsOldGit(t *testing.T) {
	top, _ := newRepo(t, map[string]string{"a": "1"})
	dir := t.TempDir()
	mark := filepath.Join(dir, "asked")
	must(t, os.WriteFile(dir+"/git", []byte("#!/bin/sh\ncase \"$*\" in *status*) : >"+mark+";; esac\n"), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if f, err := FactsOf(t.Context(), top); err == nil {
		t.Errorf("%+v", f)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it was asked")
	}
}

// Where no file of configuration can define a filter, git is not asked for filters.
func TestIsSilent(t *testing.T) {
	if text, err := os.ReadFile(systemConfig); err == nil && strings.Contains(string(text), "filter") {
		t.Skip("all users have filters here")
	}
	const filter, include = "[FILTER \"x\"]\n\tclean = false\n", "[Include]\n\tpath = other\n"
	for name, c := range map[string]struct {
		file, text string
		want       bool
	}{
		"none":                      {"home/.gitconfig", "[user]\n\tname = A\n", true},
		"of the repository":         {"tree/.git/config", filter, false},
		"included by it":            {"tree/.git/config", include, false},
		"of the person":             {"home/.gitconfig", filter, false},
		"included by the person":    {"home/.gitconfig", include, false},
		"of the person, second":     {"config/git/config", filter, false},
		"of a repository elsewhere": {"tree/.git/commondir", "../other\n", false},
		"unreadable":                {"home/.gitconfig/a folder", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("HOME", filepath.Join(dir, "home"))
			t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
			write(t, dir, map[string]string{"tree/.git/config": "[core]\n\tbare = false\n"})
			write(t, dir, map[string]string{c.file: c.text})
			if got := isSilent(filepath.Join(dir, "tree", ".git"), "filter"); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// The person's file of ignore rules is found, wherever it is set.
func TestExcludesFileOf(t *testing.T) {
	const set = "[core]\n\tExcludesFile = ~/mine\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"default":           {"home/.gitconfig", "[user]\n\tname = A\n", ""},
		"of the person":     {"home/.gitconfig", set, "home/mine"},
		"second":            {"config/git/config", set, "home/mine"},
		"of the repository": {"tree/.git/config", "[core]\n\tbare = false\n\texcludesfile = rules\n", "tree/rules"},
		"included":          {"home/.gitconfig", "[include]\n\tpath = other\n", "home/mine"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			t.Setenv("HOME", filepath.Join(dir, "home"))
			t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
			write(t, dir, map[string]string{"tree/below/x": "", "home/other": set})
			run(t, filepath.Join(dir, "tree"), "init", "-q")
			write(t, dir, map[string]string{c.file: c.text})
			want := ""
			if c.want != "" {
				want = filepath.Join(dir, c.want)
			}
			for _, root := range []string{"tree", "tree/below"} {
				if got, err := ExcludesFileOf(t.Context(), filepath.Join(dir, root)); err != nil || got != want {
					t.Errorf("%s: %q, %v; want %q", root, got, err, want)
				}
			}
		})
	}
	if got, err := ExcludesFileOf(t.Context(), t.TempDir()); err == nil {
		t.Errorf("outside of a repository: %q", got)
	}
}

// A filter of the person is not run, though only one more question finds it.
func TestFactsRunNoFilter(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	mark := filepath.Join(home, "ran")
	write(t, home, map[string]string{".gitconfig": "[filter \"x\"]\n\tclean = \"touch '" + mark + "'; cat\"\n"})
	top, _ := newRepo(t, map[string]string{"a": "1"})
	write(t, top, map[string]string{".git/info/attributes": "* filter=x\n", "a": "2", "b": "untracked"})
	if f, err := FactsOf(t.Context(), top); err != nil || !f.Dirty {
		t.Error(f, err)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("it ran")
	}
}

// The folder of the records has its .gitignore a moment after it is there, while git may be asked.
func TestRecordsAreNoChange(t *testing.T) {
	t.Parallel()
	top, repo := newRepo(t, map[string]string{"a": "1", "dir/b": "1"})
	write(t, top, map[string]string{".async/run.lock": "", "dir/.async/run.lock": ""})
	if f, err := FactsOf(t.Context(), top); err != nil || f.Dirty {
		t.Errorf("%+v, %v", f, err)
	}
	if paths, err := repo.Dirty(t.Context()); err != nil || len(paths) > 0 {
		t.Errorf("%q, %v", paths, err)
	}
}
