package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// answers asks everything that can be asked about a tree, and returns it as one text.
func answers(t *testing.T, r *Repo) string {
	t.Helper()
	var b strings.Builder
	say := func(name string, v any, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fmt.Fprintf(&b, "%s: %q\n", name, v)
	}
	found, err := Find(t.Context(), r.Top)
	say("find", fmt.Sprint(*found), err)
	commit, branch, err := r.Head(t.Context())
	say("head", commit+" "+branch, err)
	census, err := r.Census(t.Context())
	say("census", fmt.Sprint(*census), err)
	state, err := r.State(t.Context())
	say("state", state, err)
	dirty, err := r.Dirty(t.Context())
	say("dirty", dirty, err)
	if facts, err := FactsOf(t.Context(), r.Top); err == nil && facts != (Facts{commit, branch, len(dirty) > 0}) {
		t.Errorf("facts %+v, but commit %s, branch %s, dirty %q", facts, commit, branch, dirty)
	}
	partial, err := r.Partial(t.Context())
	say("partial", partial, err)
	config, err := r.Config(t.Context(), "")
	say("config", config, err)
	head, err := r.HeadFile(t.Context())
	say("head file", head, err)
	hit, err := Ignores(t.Context(), r.Dir, t.TempDir(), "", []string{"a", "x.o", ":x"})
	say("ignores", hit, err)
	say("connected", nil, r.Connected(t.Context(), time.Minute))
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
		if c, err := r.Census(t.Context()); err != nil || slices.Contains(c.Files, "new") {
			t.Error(c, err)
		}
		if got, err := r.ExcludesFile(t.Context()); err != nil || got != home+"/ignore" {
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
	must(t, os.Chmod(script, 0o755))
	for _, hook := range []string{"pre-commit", "post-index-change", "reference-transaction"} {
		must(t, os.Chmod(bin+"/hooks/"+hook, 0o755))
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
				must(t, err)
				write(t, top, map[string]string{".git/config": string(old) + config})
				for _, hook := range []string{"post-index-change", "reference-transaction"} {
					write(t, top, map[string]string{".git/hooks/" + hook: "#!/bin/sh\necho hook >>" + mark + "\n"})
					must(t, os.Chmod(top+"/.git/hooks/"+hook, 0o755))
				}
			} else {
				home := t.TempDir()
				write(t, home, map[string]string{".gitconfig": config})
				t.Setenv("HOME", home)
				t.Setenv("XDG_CONFIG_HOME", home+"/.config")
			}
			write(t, top, map[string]string{"a.x": "2", "b.p": "2", "c.i": "2", "new.x": "2"})
			later := time.Now().Add(3 * time.Second)
			must(t, os.Chtimes(top+"/dir/e.x", later, later))
			answers(t, r)
			if err := r.Refresh(t.Context()); err != nil { // in a copy; here for the hooks and filters
				t.Error(err)
			}
			fresh := t.TempDir()
			write(t, fresh, map[string]string{".gitattributes": attributes, "a.x": "1"})
			must(t, Init(t.Context(), fresh, []string{".gitattributes", "a.x"}, []byte("[core]\n\tbare = false\n")))
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
		must(t, os.Chtimes(filepath.Join(top, f), past, past))
	}
	run(t, top, "add", "-A")
	run(t, top, "commit", "-q", "-m", "two")
	wantPaths(t)(r.Dirty(t.Context()))
	must(t, os.WriteFile(top+"/b.up", []byte("more text"), 0o644))
	wantPaths(t, "b.up")(r.Dirty(t.Context()))
	// Racily clean: the index is as old as the file, so git would have to ask the filter.
	index := past
	must(t, os.Chtimes(top+"/.git/index", index, index))
	wantPaths(t, "b.up")(r.Dirty(t.Context()))
}

// A file that somebody removes while it is looked at has changed, and the others are looked at all the same.
func TestGoneMeanwhile(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{".gitattributes": "*.up filter=up\n", "a": "a", "b.up": "b", "c": "c"})
	must(t, errors.Join(os.Remove(filepath.Join(top, "a")), os.Remove(filepath.Join(top, "b.up"))))
	id, err := blob(filepath.Join(top, "c"), 40)
	must(t, err)
	off := []setting{{"filter.up.clean", ""}}
	same, _, err := r.same(t.Context(), map[string]string{"a": id, "a/under": id, "b.up": id, "c/under": id, "c": id}, off)
	if err != nil || len(same) != 2 || !same["c"] || same["b.up"] {
		t.Error(same, err)
	}
}

// Who writes files asks for all that they would lose: what the index hides, and what another repository inside has.
func TestEdited(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{"a": "a", "assumed": "1", "skipped": "1", "absent": "1", "old/.git/HEAD": "", "same": "s"})
	wantEdited := func(want ...string) {
		t.Helper()
		wantPaths(t, want...)(r.Edited(t.Context(), "a", "assumed", "skipped", "absent", "in/deep/n", "in/m", "none/new", "old/f", "same"))
	}
	in := filepath.Join(top, "in")
	run(t, top, "init", "-q", "-b", "main", in)
	write(t, in, map[string]string{"deep/n": "n", "m": "m"})
	run(t, in, "add", "-A")
	run(t, in, "commit", "-q", "-m", "inside")
	write(t, top, map[string]string{"old/f": "of this repository"})
	wantEdited("old/f")
	run(t, top, "add", "old/f")
	run(t, top, "commit", "-q", "-m", "two")
	run(t, top, "update-index", "--assume-unchanged", "assumed")
	run(t, top, "update-index", "--skip-worktree", "skipped", "absent")
	must(t, os.Remove(filepath.Join(top, "absent"))) // as in a sparse work tree
	wantEdited()
	write(t, top, map[string]string{"assumed": "2", "skipped": "2", "in/deep/n": "edited"})
	wantEdited("assumed", "in/deep/n", "skipped")

	run(t, top, "config", "core.checkStat", "minimal")
	run(t, top, "config", "core.trustctime", "false")
	past := time.Now().Add(-time.Hour).Truncate(time.Second)
	must(t, os.Chtimes(filepath.Join(top, "a"), past, past))
	run(t, top, "update-index", "--refresh")
	write(t, top, map[string]string{"a": "A"})
	must(t, os.Chtimes(filepath.Join(top, "a"), past, past))
	wantEdited("a", "assumed", "in/deep/n", "skipped")
}

// A partial clone fetches nothing, whatever is missing.
func TestPartialClone(t *testing.T) {
	t.Parallel()
	from, _ := newRepo(t, map[string]string{"a": "1", "b": "22"})
	run(t, from, "config", "uploadpack.allowFilter", "true")
	run(t, from, "config", "uploadpack.allowAnySHA1InWant", "true")
	top := filepath.Join(t.TempDir(), "clone")
	run(t, from, "-c", "protocol.file.allow=always", "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+from, top)
	r, err := Find(t.Context(), top)
	must(t, err)
	if partial, err := r.Partial(t.Context()); !partial || err != nil {
		t.Fatal(partial, err)
	}
	out, err := call{dir: r.Top, args: []string{"cat-file", "-p", "HEAD:a"}}.run(t.Context())
	if err == nil {
		t.Errorf("an object was fetched: %q", out)
	}
	err = r.Connected(t.Context(), time.Minute)
	if err != nil && !strings.Contains(err.Error(), "could not fetch") && !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}

func TestConnected(t *testing.T) {
	t.Parallel()
	top, r := newRepo(t, map[string]string{"a": "some text"})
	must(t, r.Connected(t.Context(), time.Minute))
	id := run(t, top, "rev-parse", "HEAD:a")
	must(t, os.Remove(filepath.Join(r.Common, "objects", id[:2], id[2:])))
	if err := r.Connected(t.Context(), time.Minute); err == nil {
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
	got, err := Ignores(t.Context(), r.Dir, rules, excludes, ask)
	must(t, err)
	for _, p := range ask {
		want := slices.Contains([]string{"a.o", "build/x", "sub/only", "private", "x.swp", ":a.o", "li\nne.o", " sp.o", "dir/deep/b.o"}, p)
		if got[p] != want {
			t.Errorf("%q: %v", p, got[p])
		}
	}
	if none, err := Ignores(t.Context(), r.Dir, rules, "", nil); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
}
