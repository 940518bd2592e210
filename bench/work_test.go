package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A work is one thing to do: as a PIPELINE.hcl, as files of the peers, and as the least that any program must do
// for it.
type work struct {
	name  string
	tasks int
	chain bool     // each task waits for the one before
	loud  bool     // the one task prints a gigabyte
	ours  []string // arguments of async-pipeline
	peers bool     // other task runners can do it
}

var works = []work{
	{name: "version", ours: []string{"--version"}},
	{name: "list_1000", tasks: 1000, ours: []string{"list"}},
	{name: "noop_1", tasks: 1, ours: []string{"run", "--concurrency", "2"}, peers: true},
	{name: "noop_1000_wide", tasks: 1000, ours: []string{"run", "--concurrency", "2"}, peers: true},
	{name: "noop_1000_chain", tasks: 1000, chain: true, ours: []string{"run", "--concurrency", "2"}, peers: true},
	{name: "noop_10000_wide", tasks: 10000, ours: []string{"run", "--concurrency", "2"}, peers: true},
	{name: "output_1GB", tasks: 1, loud: true, ours: []string{"run"}, peers: true},
}

// loudText prints a gigabyte of lines.
const loudText = `yes 'a line of output that a build may print, some eighty bytes long, like this one' | head -c 1073741824`

func (w work) label(i int) string { return fmt.Sprintf("t%05d", i) }

// needs returns a space and the task that task i waits for, or nothing.
func (w work) needs(i int) string {
	if w.chain && i > 0 {
		return " " + w.label(i-1)
	}
	return ""
}

// all returns the names of all tasks, each after a separator but the first.
func (w work) all(separator string) string {
	labels := make([]string, w.tasks)
	for i := range labels {
		labels[i] = w.label(i)
	}
	return strings.Join(labels, separator)
}

// make writes the files of all tools.
func (w work) make(tb testing.TB, dir string) {
	tb.Helper()
	for name, text := range map[string]string{
		"PIPELINE.hcl": w.hcl(), "Makefile": w.makefile(), "build.ninja": w.ninja(), "justfile": w.justfile(), "Taskfile.yml": w.taskfile(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

func (w work) hcl() string {
	var b strings.Builder
	for i := range w.tasks {
		fmt.Fprintf(&b, "task %q {\n", w.label(i))
		if w.chain && i > 0 {
			fmt.Fprintf(&b, "  depends_on = [task.%s]\n", w.label(i-1))
		}
		if w.loud {
			fmt.Fprintf(&b, "  run = %q\n}\n", loudText)
		} else {
			b.WriteString("  run = [\"/bin/true\"]\n}\n")
		}
	}
	return b.String()
}

func (w work) makefile() string {
	var b strings.Builder
	fmt.Fprintf(&b, "all: %s\n.PHONY: all\n", w.all(" "))
	for i := range w.tasks {
		fmt.Fprintf(&b, ".PHONY: %[1]s\n%[1]s:", w.label(i))
		fmt.Fprintf(&b, "%s\n\t@%s\n", w.needs(i), w.shell())
	}
	return b.String()
}

func (w work) shell() string {
	if w.loud {
		return loudText
	}
	return "/bin/true"
}

func (w work) ninja() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule do\n  command = %s\n", strings.ReplaceAll(w.shell(), "$", "$$"))
	for i := range w.tasks {
		fmt.Fprintf(&b, "build %s: do%s\n", w.label(i), w.needs(i))
	}
	return b.String()
}

func (w work) justfile() string {
	var b strings.Builder
	if !w.chain {
		b.WriteString("[parallel]\n")
	}
	fmt.Fprintf(&b, "all: %s\n", w.all(" "))
	for i := range w.tasks {
		b.WriteString(w.label(i) + ":")
		fmt.Fprintf(&b, "%s\n\t@%s\n", w.needs(i), w.shell())
	}
	return b.String()
}

func (w work) taskfile() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: '3'\nsilent: true\ntasks:\n  default:\n    deps: [%s]\n", w.all(", "))
	for i := range w.tasks {
		fmt.Fprintf(&b, "  %s:\n    run: once\n", w.label(i))
		if w.chain && i > 0 {
			fmt.Fprintf(&b, "    deps: [%s]\n", w.label(i-1))
		}
		fmt.Fprintf(&b, "    cmds:\n      - %q\n", w.shell())
	}
	return b.String()
}

// limit is the least for this work: a Go program that starts; reading the file with hclsyntax; that and starting each
// command from Go with a log file of its own; passing the output on with a prefix before each line.
func (w work) limit(tb testing.TB, dir string) contender {
	tb.Helper()
	if w.tasks == 0 {
		return command("Go hello world", dir, must(hello())(tb))
	}
	src := []byte(w.hcl())
	start := command("", dir, must(hello())(tb))
	return contender{"limit", func() (cost, error) {
		began, err := start.run() // what decodes must be started too
		if err != nil {
			return began, err
		}
		at := time.Now()
		if err := decode(src); err != nil {
			return began, err
		}
		switch {
		case w.ours[0] == "list":
		case w.loud:
			err = pump(tb.Context(), loudText)
		default:
			parallel := 2
			if w.chain {
				parallel = 1
			}
			err = spawn(dir, w.tasks, parallel)
		}
		return cost{Wall: began.Wall + time.Since(at)}, err
	}}
}

// decode reads a file and evaluates each attribute that refers to no other.
func decode(src []byte) error {
	f, diags := hclsyntax.ParseConfig(src, "PIPELINE.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return diags
	}
	body, _ := f.Body.(*hclsyntax.Body)
	for _, b := range body.Blocks {
		for _, a := range b.Body.Attributes {
			if len(a.Expr.Variables()) > 0 {
				continue
			}
			if _, diags := a.Expr.Value(nil); diags.HasErrors() {
				return diags
			}
		}
	}
	return nil
}

// spawn starts n commands, each with a log file. The logs stay: ext4 makes files slowly while inodes were freed a short
// time ago, so whoever is measured next would be slow.
func spawn(dir string, n, parallel int) error {
	logs, err := os.MkdirTemp(dir, "logs")
	if err != nil {
		return err
	}
	next := make(chan int)
	errs := make([]error, parallel)
	var done sync.WaitGroup
	for worker := range parallel {
		done.Go(func() {
			for i := range next {
				if err := one(filepath.Join(logs, fmt.Sprintf("%d.log", i))); err != nil {
					errs[worker] = err
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	done.Wait()
	return errors.Join(errs...)
}

func one(log string) error {
	f, err := os.Create(log)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	p, err := os.StartProcess("/bin/true", []string{"/bin/true"}, &os.ProcAttr{Files: []*os.File{nil, f, f}})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// pump passes a command's output on to /dev/null with a prefix before each line.
func pump(ctx context.Context, text string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	to, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	const prefix = "t00000 │ "
	in, lines := make([]byte, 64<<10), make([]byte, 0, 128<<10)
	fresh := true
	for {
		n, err := out.Read(in)
		lines = lines[:0]
		for rest := in[:n]; len(rest) > 0; {
			if fresh {
				lines = append(lines, prefix...)
			}
			end := bytes.IndexByte(rest, '\n') + 1
			if fresh = end > 0; !fresh {
				end = len(rest)
			}
			lines = append(lines, rest[:end]...)
			rest = rest[end:]
		}
		if _, err := to.Write(lines); err != nil {
			return err
		}
		if err == io.EOF {
			return cmd.Wait()
		}
		if err != nil {
			return err
		}
	}
}
