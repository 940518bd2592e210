package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// answers asks everything the room can be asked of a tree, and gives it as one text.
func answers(t *testing.T, r *Repo) string {
	t.Helper()
	ctx := context.Background()
	var b strings.Builder
	say := func(name string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fmt.Fprintf(&b, "%s: %q\n", name, v)
	}
	found, err := Find(ctx, r.Top)
	say("find", fmt.Sprint(*found), err)
	commit, branch, err := r.Head(ctx)
	say("head", commit+" "+branch, err)
	files, err := r.Files(ctx)
	say("files", files, err)
	tracked, err := r.Tracked(ctx)
	say("tracked", tracked, err)
	ignored, err := r.Ignored(ctx)
	say("ignored", ignored, err)
	state, err := r.State(ctx)
	say("state", state, err)
	dirty, err := r.Dirty(ctx)
	say("dirty", dirty, err)
	partial, err := r.Partial(ctx)
	say("partial", partial, err)
	config, err := r.Config(ctx, "")
	say("config", config, err)
	head, err := r.HeadFile(ctx)
	say("head file", head, err)
	hit, err := Ignores(ctx, r.Dir, t.TempDir(), "", []string{"a", "x.o", ":x"})
	say("ignores", hit, err)
	say("connected", nil, r.Connected(ctx, time.Minute))
	return b.String()
}

// A person's configuration changes no answer.
func TestUserConfig(t *testing.T) {
	top, r := newRepo(t, map[string]string{"a": "1", "b": "1", "ü": "1"})
	write(t, top, map[string]string{"a": "2", "new": ""})
	plain := answers(t, r)
	home := t.TempDir()
	write(t, home, map[string]string{".gitconfig": `[diff]
	external = /bin/false
	noprefix = true
	mnemonicPrefix = true
	renames = copies
	orderFile = /nonexistent
	ignoreSubmodules = all
[color]
	ui = always
	diff = always
	status = always
[core]
	quotePath = true
	pager = false
[status]
	showUntrackedFiles = no
	relativePaths = true
[log]
	showSignature = true
[submodule]
	recurse = true
[column]
	ui = always
`})
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home+"/.config")
	t.Run("G68 diff.external, noprefix, mnemonicPrefix, color", func(t *testing.T) {
		if got := answers(t, r); got != plain {
			t.Errorf("with configuration:\n%s\nwithout:\n%s", got, plain)
		}
	})
	t.Run("core.excludesFile holds", func(t *testing.T) {
		write(t, home, map[string]string{".gitconfig": "[core]\n\texcludesFile = ~/ignore\n", "ignore": "new\n"})
		if got, err := r.Files(context.Background()); err != nil || slices.Contains(got, "new") {
			t.Error(got, err)
		}
		if got, err := r.ExcludesFile(context.Background()); err != nil || got != home+"/ignore" {
			t.Error(got, err)
		}
	})
}

// Nothing that anybody's configuration names is executed.
func TestNothingRuns(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	bin := t.TempDir()
	script := filepath.Join(bin, "evil")
	write(t, bin, map[string]string{"evil": "#!/bin/sh\necho \"$0 $*\" >>" + mark + "\ncat\n"})
	write(t, bin, map[string]string{"hooks/x": ""})
	for _, hook := range []string{"post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"} {
		write(t, bin, map[string]string{"hooks/" + hook: "#!/bin/sh\necho hook " + hook + " >>" + mark + "\n"})
	}
	for _, err := range []error{os.Chmod(script, 0o755), os.Chmod(bin+"/hooks/post-index-change", 0o755), os.Chmod(bin+"/hooks/reference-transaction", 0o755), os.Chmod(bin+"/hooks/pre-commit", 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	config := strings.ReplaceAll(`[core]
	fsmonitor = EVIL
	hooksPath = BIN/hooks
	pager = EVIL
	editor = EVIL
	askPass = EVIL
	sshCommand = EVIL
	gitProxy = EVIL
	alternateRefsCommand = EVIL
[filter "x"]
	clean = EVIL clean
	smudge = EVIL smudge
	required = true
[filter "p"]
	process = EVIL process
	required = true
[filter "With.Dots = and\\more"]
	clean = EVIL dots
[filter "included"]
	clean = EVIL
[diff]
	external = EVIL
[diff "x"]
	textconv = EVIL textconv
	command = EVIL command
[merge "x"]
	driver = EVIL
[pager]
	diff = EVIL
	ls-files = EVIL
	rev-parse = EVIL
	config = EVIL
[alias]
	ls-files = !EVIL
	rev-parse = !EVIL
	config = !EVIL
[credential]
	helper = !EVIL
[gpg]
	program = EVIL
[commit]
	gpgSign = true
[sequence]
	editor = EVIL
[uploadpack]
	packObjectsHook = EVIL
[interactive]
	diffFilter = EVIL
[trailer "x"]
	command = EVIL
[include]
	path = BIN/more
`, "EVIL", script)
	config = strings.ReplaceAll(config, "BIN", bin)
	write(t, bin, map[string]string{"more": "[filter \"included\"]\n\tprocess = " + script + " included\n[core]\n\tfsmonitor = " + script + " included\n"})
	attributes := "*.x filter=x diff=x merge=x\n*.p filter=p\n*.i filter=included\n*.d filter=With.Dots\n"

	for _, where := range []string{"repository", "person"} {
		t.Run("G69 configuration of the "+where, func(t *testing.T) {
			top, r := newRepo(t, map[string]string{"a.x": "1", "b.p": "1", "c.i": "1", "d.x": "1", "dir/e.x": "1"})
			write(t, top, map[string]string{".gitattributes": attributes})
			run(t, top, "add", ".gitattributes")
			run(t, top, "-c", "filter.p.process=", "commit", "-q", "-m", "attributes")
			if where == "repository" {
				old, err := os.ReadFile(top + "/.git/config")
				if err != nil {
					t.Fatal(err)
				}
				write(t, top, map[string]string{".git/config": string(old) + config})
				for _, hook := range []string{"post-index-change", "reference-transaction"} {
					write(t, top, map[string]string{".git/hooks/" + hook: "#!/bin/sh\necho hook >>" + mark + "\n"})
					if err := os.Chmod(top+"/.git/hooks/"+hook, 0o755); err != nil {
						t.Fatal(err)
					}
				}
			} else {
				home := t.TempDir()
				write(t, home, map[string]string{".gitconfig": config})
				t.Setenv("HOME", home)
				t.Setenv("XDG_CONFIG_HOME", home+"/.config")
			}
			write(t, top, map[string]string{"a.x": "2", "b.p": "2", "c.i": "2", "new.x": "2"})
			later := time.Now().Add(3 * time.Second)
			if err := os.Chtimes(top+"/dir/e.x", later, later); err != nil { // same content, other stat data
				t.Fatal(err)
			}
			answers(t, r)
			if err := r.Refresh(context.Background()); err != nil { // in a copy; here for the hooks and filters
				t.Error(err)
			}
			fresh := t.TempDir()
			write(t, fresh, map[string]string{".gitattributes": attributes, "a.x": "1"})
			if err := Init(context.Background(), fresh, []string{".gitattributes", "a.x"}, []byte("[core]\n\tbare = false\n")); err != nil {
				t.Error(err)
			}
			if ran, err := os.ReadFile(mark); err == nil {
				t.Errorf("executed:\n%s", ran)
			}
			// The trap works: the person's own git falls into it.
			run(t, top, "hash-object", "a.x")
			if _, err := os.Stat(mark); err != nil {
				t.Error("the trap is no trap")
			}
			if err := os.Remove(mark); err != nil {
				t.Error(err)
			}
		})
	}
}

// With a filter in between, the stat data of the index decides.
func TestDirtyFiltered(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{".gitattributes": "*.up filter=up\n"})
	run(t, top, "config", "filter.up.clean", "tr a-z A-Z")
	write(t, top, map[string]string{"a.up": "text", "b.up": "text"})
	past := time.Now().Add(-time.Hour)
	for _, f := range []string{"a.up", "b.up"} {
		if err := os.Chtimes(filepath.Join(top, f), past, past); err != nil {
			t.Fatal(err)
		}
	}
	run(t, top, "add", "-A")
	run(t, top, "commit", "-q", "-m", "two")
	if got, err := r.Dirty(context.Background()); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	if err := os.WriteFile(top+"/b.up", []byte("more text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Dirty(context.Background()); err != nil || !slices.Equal(got, []string{"b.up"}) {
		t.Fatal(got, err)
	}
	// Racily clean: the index is as old as the file, so git would have to ask the filter.
	index := past
	if err := os.Chtimes(top+"/.git/index", index, index); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Dirty(context.Background()); err != nil || !slices.Equal(got, []string{"b.up"}) {
		t.Fatal("racy:", got, err)
	}
}

// A partial clone fetches nothing, whatever is missing.
func TestPartialClone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	from, _ := newRepo(t, map[string]string{"a": "1", "b": "22"})
	run(t, from, "config", "uploadpack.allowFilter", "true")
	run(t, from, "config", "uploadpack.allowAnySHA1InWant", "true")
	top := filepath.Join(t.TempDir(), "clone")
	run(t, from, "-c", "protocol.file.allow=always", "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+from, top)
	r, err := Find(ctx, top)
	if err != nil {
		t.Fatal(err)
	}
	if partial, err := r.Partial(ctx); !partial || err != nil {
		t.Fatal(partial, err)
	}
	out, err := call{dir: r.Top, args: []string{"cat-file", "-p", "HEAD:a"}}.run(ctx)
	if err == nil {
		t.Errorf("an object was fetched: %q", out)
	}
	if err := r.Connected(ctx, time.Minute); err != nil && !strings.Contains(err.Error(), "could not fetch") && !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}

func TestConnected(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	top, r := newRepo(t, map[string]string{"a": "some text"})
	if err := r.Connected(ctx, time.Minute); err != nil {
		t.Fatal(err)
	}
	id := run(t, top, "rev-parse", "HEAD:a")
	if err := os.Remove(filepath.Join(r.Common, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	if err := r.Connected(ctx, time.Minute); err == nil {
		t.Error("a missing blob was not noticed")
	}
}

func TestIgnores(t *testing.T) {
	t.Parallel()
	_, r := newRepo(t, map[string]string{"a": ""})
	rules := t.TempDir()
	write(t, rules, map[string]string{".gitignore": "*.o\nbuild/\n!keep.o\n", "sub/.gitignore": "/only\n"})
	write(t, r.Dir, map[string]string{"info/exclude": "private\n"})
	excludes := filepath.Join(t.TempDir(), "ex")
	write(t, filepath.Dir(excludes), map[string]string{"ex": "*.swp\n"})
	ask := []string{"a.o", "keep.o", "build/x", "build", "sub/only", "only", "private", "x.swp", ":a.o", "-x", "li\nne.o", " sp.o", "dir/deep/b.o", "*"}
	got, err := Ignores(context.Background(), r.Dir, rules, excludes, ask)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ask {
		want := slices.Contains([]string{"a.o", "build/x", "sub/only", "private", "x.swp", ":a.o", "li\nne.o", " sp.o", "dir/deep/b.o"}, p)
		if got[p] != want {
			t.Errorf("%q: %v", p, got[p])
		}
	}
	if none, err := Ignores(context.Background(), r.Dir, rules, "", nil); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
}
