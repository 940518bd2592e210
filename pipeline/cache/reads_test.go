package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/internal/access"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A script is a task with inputs = auto that is carried out in this process. It begins with the file start. Each line of a
// file that it runs is one step: r FILE reads one, s FILE asks what it is, l FOLDER lists one, x FILE runs one, w FILE
// writes one.
type script struct {
	root string
	see  func(access.Path) // nil: nobody looks
	used map[string]bool
	out  strings.Builder
}

func (s *script) access(kind access.Kind, name string) string {
	at := filepath.Join(s.root, name)
	if s.see != nil {
		s.see(access.Path{Kind: kind, Name: at, Add: true})
	}
	s.used[name] = true
	return at
}

func (s *script) run(name string, depth int) {
	text, err := os.ReadFile(s.access(access.Read, name))
	if err != nil {
		fmt.Fprintln(&s.out, name, "cannot be run")
		return
	}
	for line := range strings.Lines(string(text)) {
		step, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		switch step {
		case "r":
			b, err := os.ReadFile(s.access(access.Read, name))
			fmt.Fprintf(&s.out, "%s: %q %v\n", name, b, err == nil)
		case "s":
			info, err := os.Stat(s.access(access.Looked, name))
			if err == nil && info.IsDir() {
				fmt.Fprintln(&s.out, name, "is a folder")
			} else if err == nil {
				fmt.Fprintln(&s.out, name, info.Size())
			} else {
				fmt.Fprintln(&s.out, name, "is not there")
			}
		case "l":
			dir := s.access(access.Read, name)
			all, _ := os.ReadDir(dir)
			if at, err := filepath.EvalSymlinks(dir); err == nil && s.see != nil { // the kernel knows the folder itself
				s.see(access.Path{Kind: access.Listed, Name: at})
			}
			for _, e := range all {
				if n := e.Name(); n != ".async" && n != "out" && n != "scrap" {
					fmt.Fprintln(&s.out, name, "has", n)
				}
			}
		case "w":
			_ = os.WriteFile(s.access(access.Made, "scrap"), []byte(name), 0o600)
		case "x":
			if depth < 4 {
				s.run(name, depth+1)
			}
		}
	}
}

// carryScript is carry for a script. It returns what it wrote, and which paths it used if it was carried out.
func carryScript(t *rapid.T, p *project, c *Cache) (e *Entry, used map[string]bool) {
	task := p.config.Tasks[0]
	e = c.Look(t.Context(), task)
	if e.Result == Hit {
		if _, _, _, err := c.Restore(t.Context(), e); err == nil {
			return e, nil
		}
	}
	s := script{root: p.root, see: e.See(), used: map[string]bool{}}
	s.run("start", 0)
	p.write("out/log", s.out.String())
	s.see(access.Path{Kind: access.Made, Name: filepath.Join(p.root, "out/log")})
	must(t, os.WriteFile(p.log, nil, 0o600))
	c.Ran(e.task)
	must(t, c.Store(t.Context(), e, p.log, time.Second))
	if e.NotStored != "" {
		t.Fatalf("not stored: %s", e.NotStored)
	}
	return e, s.used
}

// Whatever changes, a task with inputs = auto ends up with what a clean run makes; what it did not use changes nothing.
func TestAutoRandom(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: it runs in one goroutine, so the race detector finds nothing")
	}
	top := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		root := filepath.Join(top, fmt.Sprint(n), "root")
		must(t, os.MkdirAll(root, 0o755))
		root, err := filepath.EvalSymlinks(root)
		must(t, err)
		p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Auto: true, Outputs: []string{"out/**"}})
		names := rapid.SampledFrom([]string{"start", "a", "b", "d/a", "d/b", "d/e/a", "l", "l/a", "d", "d/e", "l/e/a"})
		text := rapid.Custom(func(t *rapid.T) string {
			var b strings.Builder
			for range rapid.IntRange(0, 4).Draw(t, "lines") {
				fmt.Fprintln(&b, rapid.SampledFrom([]string{"r", "s", "l", "x", "w"}).Draw(t, "step"), names.Draw(t, "of"))
			}
			return b.String()
		})
		p.write("start", "x a\nl d\ns l\n"+text.Draw(t, "start"))
		edit := func(t *rapid.T) string {
			name := names.Draw(t, "name")
			at := filepath.Join(root, name)
			switch rapid.IntRange(0, 5).Draw(t, "how") {
			case 0:
				if name != "start" {
					_ = os.RemoveAll(at)
				}
			case 1:
				if name != "start" {
					_ = os.RemoveAll(at)
					_ = os.MkdirAll(filepath.Dir(at), 0o755)
					_ = os.Symlink(filepath.Join(root, names.Draw(t, "target")), at)
				}
			case 2:
				_ = os.MkdirAll(at, 0o755)
			default:
				_ = os.MkdirAll(filepath.Dir(at), 0o755)
				_ = os.WriteFile(at, []byte(text.Draw(t, "text")), 0o600)
			}
			return name
		}
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			edit(t)
		}
		for range 2 {
			c := p.cache()
			_, used := carryScript(t, p, c)
			clean := script{root: root, used: map[string]bool{}}
			clean.run("start", 0)
			if got := p.read("out/log"); got != clean.out.String() {
				t.Fatalf("got %q, want %q", got, clean.out.String())
			}
			must(t, c.Close())
			if used != nil { // what it did not use
				_ = os.WriteFile(filepath.Join(root, "unused"), []byte(rapid.String().Draw(t, "unused")), 0o600)
				rootListed := used["."]
				c := p.cache()
				if e := c.Look(t.Context(), p.config.Tasks[0]); e.Result != Hit && !rootListed {
					t.Fatalf("a file that is not used: %s %q", e.Result, e.Why)
				}
				must(t, c.Close())
			}
			time.Sleep(12 * time.Millisecond) // the clock of files is coarse: what changes now is after what was read
			edit(t)
		}
	})
}

// What comes, goes or changes while a task with inputs = auto runs, and is not its own doing, keeps it out of the store.
func TestAutoChangedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *project){
		"a":     func(p *project) { p.write("a", "2") },
		"d/new": func(p *project) { p.write("d/new", "") },
		"d/old": func(p *project) { must(p.t, os.Remove(filepath.Join(p.root, "d/old"))) },
		"no":    func(p *project) { p.write("no", "") },
		"":      func(p *project) { p.write("other", "") },
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Auto: true})
		p.write("a", "1")
		p.write("d/old", "")
		time.Sleep(12 * time.Millisecond)
		c := p.cache()
		e := c.Look(t.Context(), p.config.Tasks[0])
		for _, at := range []string{"a", "d", "no"} {
			e.See()(access.Path{Kind: access.Read, Name: filepath.Join(root, at)})
			e.See()(access.Path{Kind: access.Listed, Name: filepath.Join(root, at)})
		}
		time.Sleep(12 * time.Millisecond)
		change(p)
		must(t, os.WriteFile(p.log, nil, 0o600))
		c.Ran(e.task)
		must(t, c.Store(t.Context(), e, p.log, time.Second))
		want := ""
		if name != "" {
			want = "its inputs changed while it ran: " + name
		}
		if e.NotStored != want {
			t.Errorf("%s: %q", name, e.NotStored)
		}
		must(t, c.Close())
	}
}

// A task with inputs = auto is not stored where what it read was replaced, also by what is old, or where a link leads
// to what changed.
func TestAutoReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	move := func(p *project, from, to string) {
		must(p.t, os.RemoveAll(filepath.Join(p.root, to)))
		must(p.t, os.Rename(filepath.Join(p.root, from), filepath.Join(p.root, to)))
	}
	folder := func(p *project) { move(p, "new", "lib") }
	for _, row := range []struct {
		kind   access.Kind
		path   string
		change func(p *project)
		want   string
	}{
		{access.Read, "lib/sub/f", folder, "lib/sub/f"},
		{access.Looked, "lib/sub/f", folder, "lib/sub/f"},
		{access.Looked, "lib", folder, "lib"}, // it may have worked in it
		{access.Looked, "lib/sub", folder, "lib/sub"},
		{access.Listed, "lib", folder, "lib"},
		{access.Listed, "lib", func(p *project) { move(p, "new", "lib/sub/f"); move(p, "lib/sub/f", "lib/one") }, "lib/one"}, // was a file
		{access.Looked, "lib", func(p *project) { move(p, "other", "lib") }, "lib"},
		{access.Looked, "empty", func(p *project) { must(p.t, os.Remove(filepath.Join(p.root, "empty"))); p.write("empty", "") }, "empty"},
		{access.Read, "lib/sub/f", func(p *project) { move(p, "new", "unread") }, ""},
		{access.Read, "link", func(p *project) { p.write("link", "new") }, "what is at link"},
		{access.Read, "link", func(*project) {}, ""},
		{access.Made, "other", func(p *project) { p.write("temp", "x"); move(p, "temp", "other") }, ""}, // its own file
		{access.Removed, "empty", func(p *project) { move(p, "empty", "gone"); must(p.t, os.Mkdir(filepath.Join(p.root, "empty"), 0o755)) }, ""},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		p := newProject(t, root, filepath.Join(root, ".async", "cache"), &pipeline.Task{Name: "t", Auto: true})
		for _, name := range []string{"lib/one", "lib/sub/f", "new/one", "new/sub/f", "other"} {
			p.write(name, name)
		}
		must(t, os.Mkdir(filepath.Join(root, "empty"), 0o755))
		outside := filepath.Join(t.TempDir(), "f")
		must(t, os.WriteFile(outside, nil, 0o600))
		must(t, os.Symlink(outside, filepath.Join(root, "link")))
		time.Sleep(12 * time.Millisecond)
		c := p.cache()
		e := c.Look(t.Context(), p.config.Tasks[0])
		e.See()(access.Path{Kind: row.kind, Name: filepath.Join(root, row.path)})
		row.change(p)
		if row.kind == access.Made {
			e.See()(access.Path{Kind: access.Looked, Name: filepath.Join(root, row.path)})
		}
		must(t, os.WriteFile(p.log, nil, 0o600))
		c.Ran(e.task)
		must(t, c.Store(t.Context(), e, p.log, time.Second))
		want := ""
		if row.want != "" {
			want = "its inputs changed while it ran: " + row.want
		}
		if e.NotStored != want {
			t.Errorf("%d %s: %q, want %q", row.kind, row.path, e.NotStored, want)
		}
		must(t, c.Close())
	}
}

// strict compares what was opened with the inputs.
func TestStrict(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		opened []string
		want   string
	}{
		{[]string{"src/a", "gen/out", "out", "src"}, ""},
		{[]string{"src/a", "other"}, "it read other, which is not among its inputs"},
		{[]string{"other", "another", "src/not.md"}, "it read another and 2 more that are not among its inputs"},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		p := newProject(t, root, filepath.Join(root, ".async", "cache"),
			&pipeline.Task{Name: "gen", Inputs: []string{"x"}, Outputs: []string{"gen/**"}},
			&pipeline.Task{Name: "t", DependsOn: []string{"gen"}, Inputs: []string{"src/**", "!**/*.md"}, Outputs: []string{"out"}, Strict: true})
		for _, name := range []string{"src/a", "src/not.md", "other", "another", "gen/out", "out"} {
			p.write(name, name)
		}
		time.Sleep(12 * time.Millisecond)
		c := p.cache()
		e := c.Look(t.Context(), p.config.Tasks[1])
		for _, at := range row.opened {
			e.See()(access.Path{Kind: access.Read, Name: filepath.Join(root, at)})
		}
		e.See()(access.Path{Kind: access.Looked, Name: filepath.Join(root, "other")})
		must(t, os.WriteFile(p.log, nil, 0o600))
		c.Ran(e.task)
		must(t, c.Store(t.Context(), e, p.log, time.Second))
		if e.NotStored != row.want {
			t.Errorf("%q: %q, want %q", row.opened, e.NotStored, row.want)
		}
		must(t, c.Close())
	}
}

// What tools print counts in place of the program, is asked once, and is remembered for those who may run nothing.
func TestTools(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755))
	p := newProject(t, root, filepath.Join(root, ".async", "cache"),
		&pipeline.Task{Name: "t", Inputs: []string{"a"}, Tools: []pipeline.Tool{{Name: "join", Argv: []string{"join", "-v"}}}})
	must(t, os.WriteFile(filepath.Join(root, "..", "join"), []byte("1"), fs.ModePerm))
	p.write("a", "a")
	says, asked := "join 1", 0
	cached := func(peek bool) *Cache {
		return p.cache(func(c *Cache) {
			if c.Peek = peek; !peek {
				c.Ask = func(_ context.Context, _ *pipeline.Task, argv []string) ([]byte, error) {
					asked++
					if says == "" {
						return nil, errors.New("exit 1")
					}
					return []byte(says + strings.Join(argv, " ")), nil
				}
			}
		})
	}
	look := func(peek bool) string {
		c := cached(peek)
		e := c.Look(t.Context(), p.config.Tasks[0])
		must(t, c.Close())
		return strings.TrimSuffix(e.Result+": "+e.Reason(), ": ")
	}
	if got := look(true); got != `off: what "join -v" prints is not known until the task runs` {
		t.Error(got)
	}
	c := cached(false)
	p.carry(c, "t")
	must(t, c.Close())
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	must(t, os.WriteFile(filepath.Join(root, "..", "join"), []byte("22"), fs.ModePerm))
	if got := look(true); got != "hit" {
		t.Error(got)
	}
	says = "join 2"
	if got := look(false); got != "miss: program join: another version" {
		t.Error(got)
	}
	// A task before it may install another version.
	c = cached(false)
	asked = 0
	p.config.Tasks[0].DependsOn = []string{"install"}
	p.config.Tasks = append(p.config.Tasks, &pipeline.Task{Name: "install"}, &pipeline.Task{Name: "other"})
	for _, step := range []struct {
		ran   string
		asked int
	}{{"", 1}, {"", 1}, {"other", 1}, {"install", 2}, {"", 2}} {
		if step.ran != "" {
			c.Ran(p.config.Task(step.ran))
		}
		if c.Look(t.Context(), p.config.Tasks[0]); asked != step.asked {
			t.Errorf("after %q it was asked %d times", step.ran, asked)
		}
	}
	must(t, c.Close())
	says = ""
	if got := look(false); got != `off: tools: "join -v": exit 1` {
		t.Error(got)
	}
}
