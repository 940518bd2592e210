// The documentation is run: README.md and docs/*.md are stories whose commands are typed and whose outputs are
// compared.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
)

const top = "../.." // of the repository, from here

// A docPage is one file of the documentation. In its text:
//
//	<!-- story: NAME -->   begins anew: in a clone of this repository ("clone"), in an empty git repository ("empty"), before an agent CLI is installed ("agent"), or in a copy of examples/NAME
//	<!-- file: PATH -->    the next block is written there; executable if it begins with #!
//	```console             commands behind "$ " and what they print; "# exit code N" behind a command; a line [...] is any lines
//	```hcl                 a whole PIPELINE.hcl, which must be valid
//	```json                must be JSON
//	```sh                  is not run: each line must be one of notRun
type docPage struct {
	t    *testing.T
	name string // relative to the top
	text string
	dir  string   // of the story
	env  []string // KEY=VALUE
	url  string   // of the scripted model, when one runs
}

// notRun are commands that need a network.
var notRun = []string{
	"go install github.com/async-pipeline/async-pipeline/cmd/async-pipeline@latest",
	"git clone https://github.com/async-pipeline/async-pipeline && cd async-pipeline",
	"go test -timeout 45m ./...", // .ci/run calls it
}

func TestDocs(t *testing.T) {
	t.Parallel()
	notShort(t)
	pages, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	must(t, err)
	for _, file := range append(pages, filepath.Join(top, "README.md")) {
		name, _ := filepath.Rel(top, file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &docPage{t: t, name: name, text: document(t, name)}
			p.links()
			p.play()
			if *update && !t.Failed() && p.text != document(t, name) {
				must(t, os.WriteFile(file, []byte(p.text), 0o644))
			}
		})
	}
}

// document returns the text of a file of the repository.
func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(top, name))
	must(t, err)
	return string(b)
}

var (
	block     = regexp.MustCompile("(?s)\n```(\\w*)\n(.*?)\n?```\n")
	directive = regexp.MustCompile(`<!-- (story|file): (\S+) -->`)
	link      = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// links checks that what a page links to is there.
func (p *docPage) links() {
	for _, m := range link.FindAllStringSubmatch(block.ReplaceAllString(p.text, "\n"), -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(target, "://") {
			continue
		}
		file := p.name
		if target != "" {
			file = filepath.Join(filepath.Dir(p.name), target)
		}
		if _, err := os.Stat(filepath.Join(top, file)); err != nil {
			p.t.Errorf("%s links to %s: %v", p.name, m[1], err)
			continue
		}
		if anchor == "" {
			continue
		}
		if !slices.ContainsFunc(heading.FindAllStringSubmatch(document(p.t, file), -1), func(h []string) bool { return anchorOf(h[1]) == anchor }) {
			p.t.Errorf("%s links to %s, and there is no such heading", p.name, m[1])
		}
	}
}

// anchorOf returns the anchor that GitHub gives a heading.
func anchorOf(heading string) string {
	heading = strings.ToLower(strings.ReplaceAll(heading, "`", ""))
	heading = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(heading, "")
	return strings.ReplaceAll(heading, " ", "-")
}

// play goes through the blocks in order. With -update it puts what was printed into the text.
func (p *docPage) play() {
	type change struct {
		start, end int
		text       string
	}
	var changes []change
	at := 0
	for _, m := range block.FindAllStringSubmatchIndex(p.text, -1) {
		file := ""
		for _, d := range directive.FindAllStringSubmatch(p.text[at:m[0]+1], -1) {
			if d[1] == "story" {
				p.begin(d[2])
			} else {
				file = d[2]
			}
		}
		at = m[1]
		language, body := p.text[m[2]:m[3]], p.text[m[4]:m[5]]
		switch {
		case file != "":
			p.write(file, body)
		case language == "console":
			if printed := p.console(body); printed != body {
				changes = append(changes, change{m[4], m[5], printed})
			}
		case language == "hcl":
			p.valid(body)
		case language == "json":
			var v any
			if err := json.Unmarshal([]byte(body), &v); err != nil {
				p.t.Errorf("%s: %v\n%s", p.name, err, body)
			}
		case language == "sh":
			for line := range strings.Lines(body) {
				if !slices.Contains(notRun, strings.TrimSpace(line)) {
					p.t.Errorf("%s: %q is neither run nor known to need a network", p.name, line)
				}
			}
		}
	}
	for _, c := range slices.Backward(changes) {
		p.text = p.text[:c.start] + c.text + p.text[c.end:]
	}
}

// begin starts a story.
func (p *docPage) begin(name string) {
	p.t.Helper()
	switch name {
	case "clone":
		p.dir = cloneHere(p.t)
	case "agent":
		p.installable()
	case "empty":
		p.dir = filepath.Join(p.t.TempDir(), "shop")
		p.git("init", "-q")
	default:
		p.dir = filepath.Join(p.t.TempDir(), name)
		if err := os.CopyFS(p.dir, os.DirFS(filepath.Join(top, "examples", name))); err != nil {
			p.t.Fatal(err)
		}
		p.git("init", "-q")
		p.git("add", "-A")
		p.git("-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "x")
	}
	home, bin := p.t.TempDir(), p.t.TempDir()
	program, err := os.Executable()
	if err == nil {
		err = os.Symlink(program, filepath.Join(bin, "async-pipeline"))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	goes, err := goEnvironment()
	if err == nil {
		err = warmGoCache(filepath.Join(home, ".cache", "go-build"))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.env = append([]string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "GOTOOLCHAIN=local", "GOPROXY=off", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e@example.com", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e@example.com",
		"GOFLAGS=-trimpath", "CGO_ENABLED=0", // as the task build: what is compiled in one clone serves every other
	}, goes...)
	if name == "agent" {
		p.provided()
	}
}

func (p *docPage) git(args ...string) {
	p.t.Helper()
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	c := exec.CommandContext(p.t.Context(), "git", args...)
	c.Dir, c.Env = p.dir, append(withoutGit(), "GIT_CONFIG_GLOBAL="+os.DevNull)
	if out, err := c.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (p *docPage) write(name, body string) {
	p.t.Helper()
	if p.dir == "" {
		p.begin("empty")
	}
	file, text := filepath.Join(p.dir, name), []byte(body+"\n")
	must(p.t, os.MkdirAll(filepath.Dir(file), 0o755))
	if strings.HasPrefix(body, "#!") {
		must(p.t, writeProgram(file, text))
	} else {
		must(p.t, os.WriteFile(file, text, 0o644))
	}
}

// valid checks a pipeline.
func (p *docPage) valid(body string) {
	p.t.Helper()
	dir := p.t.TempDir()
	api := filepath.Join(dir, "services", "api") // what the example of include names
	must(p.t, os.MkdirAll(api, 0o755))
	for at, text := range map[string]string{dir: body, api: "variable \"region\" {\n}\ntask \"test\" {\n  run = [\"true\"]\n}"} {
		must(p.t, os.WriteFile(filepath.Join(at, "PIPELINE.hcl"), []byte(text+"\n"), 0o644))
	}
	if p.env == nil {
		p.begin("empty")
	}
	if out, code := p.sh(dir, "async-pipeline validate"); code != 0 {
		p.t.Errorf("%s: not a valid PIPELINE.hcl: exit code %d\n%s\n%s", p.name, code, out, body)
	}
}

// console types the commands of a block and returns the block as it is now.
func (p *docPage) console(body string) string {
	p.t.Helper()
	if p.dir == "" {
		p.t.Fatalf("%s: a console before a story", p.name)
	}
	var now []string
	for _, part := range regexp.MustCompile(`(?m)^\$ `).Split(body, -1)[1:] {
		command, want, _ := strings.Cut(part, "\n")
		for strings.HasSuffix(command, `\`) {
			more, rest, _ := strings.Cut(want, "\n")
			command, want = command+"\n"+more, rest
		}
		code := 0
		if m := regexp.MustCompile(`# exit code (\d+)$`).FindStringSubmatch(command); m != nil {
			_, _ = fmt.Sscan(m[1], &code)
		}
		out, got := p.typed(command)
		if got != code {
			p.t.Fatalf("%s: %s: exit code %d, want %d\n%s", p.name, command, got, code, out)
		}
		want = strings.TrimRight(want, "\n")
		if !alike(want, out) {
			if !*update || strings.Contains(want, "[...]") {
				p.t.Errorf("%s: $ %s\n--- prints\n%s--- and the page says\n%s", p.name, command, out, want)
			}
			want = strings.TrimRight(out, "\n")
		}
		if *update {
			want = withRunsOf(want, out)
		}
		now = append(now, strings.TrimSuffix("$ "+command+"\n"+want, "\n"))
	}
	return strings.Join(now, "\n")
}

// typed runs one command of a story. One that ends in & is the scripted model.
func (p *docPage) typed(command string) (out string, code int) {
	p.t.Helper()
	if serve, ok := strings.CutSuffix(command, " &"); ok {
		p.serve(serve)
		return "", 0
	}
	if p.url != "" && strings.Contains(command, "examples/native") {
		command = regexp.MustCompile(`( # exit code \d+)?$`).ReplaceAllString(command, " --var base_url="+p.url+"$1")
	}
	return p.sh(p.dir, command)
}

func (p *docPage) sh(dir, command string) (out string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Dir, c.Env = dir, p.env
	b, err := c.CombinedOutput()
	return swept.ReplaceAllString(string(b), ""), exitCode(err)
}

// serve starts the scripted model at a free port, and ends it with the test. `go run` would leave its child behind.
func (p *docPage) serve(command string) {
	p.t.Helper()
	binary := filepath.Join(p.t.TempDir(), "scripted-model")
	if out, code := p.sh(p.dir, "go build -o "+binary+" ./cmd/scripted-model"); code != 0 {
		p.t.Fatal(out)
	}
	words := strings.Fields(strings.Replace(command, "go run ./cmd/scripted-model", binary+" --listen 127.0.0.1:0", 1))
	c := exec.CommandContext(p.t.Context(), words[0], words[1:]...)
	c.Dir, c.Env, c.Stderr = p.dir, p.env, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	p.url = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
}

// alike reports whether an output is what a page says, but for run ids, digests, times, and where lines break. A line [...] of the page
// is any lines.
func alike(page, out string) bool {
	out = flat(out)
	pieces := strings.Split(page, "[...]")
	for i, piece := range pieces {
		piece = flat(piece)
		switch at := strings.Index(out, piece); {
		case i == 0 && at != 0 && piece != "", at < 0:
			return false
		case i == len(pieces)-1 && i > 0:
			return strings.HasSuffix(out, piece)
		default:
			out = out[at+len(piece):]
		}
	}
	return strings.TrimSpace(out) == ""
}

var runID = regexp.MustCompile(`\d{8}T\d{6}Z-[0-9a-f]{4}`)

// withRunsOf returns page with the run ids that out has, in their order, so that one story has the same runs
// throughout.
func withRunsOf(page, out string) string {
	ids := slices.Compact(runID.FindAllString(out, -1))
	i, last := -1, ""
	return runID.ReplaceAllStringFunc(page, func(id string) string {
		if id != last {
			i, last = i+1, id
		}
		if i < len(ids) {
			return ids[i]
		}
		return id
	})
}

var unsteady = regexp.MustCompile(`\(cached\)|\b[0-9]+(?:\.[0-9]+)?m?s\b|commit [0-9a-f]{40}|\b[A-Z][a-z]{2} [ 0-9]?[0-9] [0-9]{2}:[0-9]{2}|127\.0\.0\.1:[0-9]+`)

func flat(text string) string {
	text = unsteady.ReplaceAllString(steady(text), "0s")
	return strings.TrimSpace(strings.Join(strings.Fields(text), " "))
}

// The README is read to its end, and its second command is the one that .ci/run calls.
func TestReadme(t *testing.T) {
	t.Parallel()
	text := document(t, "README.md")
	if n := strings.Count(text, "\n"); n > 150 {
		t.Errorf("README.md has %d lines, more than 150", n)
	}
	const tests = "go test -timeout 45m ./..."
	if !strings.Contains(text, tests) || !strings.Contains(document(t, ".ci/run"), "\n"+tests+"\n") {
		t.Errorf("README.md and .ci/run do not have %q both", tests)
	}
}

// Each promise names its scripts; each script that is named exists and starts the program.
func TestPromises(t *testing.T) {
	t.Parallel()
	rows := 0
	for line := range strings.Lines(document(t, "docs/promises.md")) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise") {
			continue
		}
		rows++
		scripts := regexp.MustCompile("`([^`]+\\.txtar)`").FindAllStringSubmatch(line, -1)
		if len(scripts) == 0 {
			t.Errorf("no script holds: %s", line)
		}
		for _, s := range scripts {
			text, err := os.ReadFile(filepath.Join("testdata", "script", s[1]))
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(string(text), " async-pipeline ") {
				t.Errorf("%s does not start the program", s[1])
			}
		}
	}
	if rows < 15 {
		t.Errorf("only %d promises found", rows)
	}
}

// docs/fixes.md has the table of rules that a review follows.
func TestRulesTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("<!-- rules -->\n\n| rule | what it reports | caps |\n|---|---|---|\n")
	for _, r := range rules.Kinds {
		caps := r.Also
		if r.Caps {
			caps = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, r.Why, caps)
	}
	b.WriteString("\n<!-- end of rules -->")
	text := document(t, "docs/fixes.md")
	if !strings.Contains(text, b.String()) {
		t.Errorf("docs/fixes.md does not have this table:\n%s", b.String())
	}
}

// cloneHere returns a fresh clone of this repository as it is, committed or not.
func cloneHere(t *testing.T) string {
	t.Helper()
	clone := t.TempDir()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", "-z")
	list.Dir, list.Env = top, withoutGit()
	out, err := list.Output()
	if err != nil {
		t.Skipf("this is no git checkout: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from, to := filepath.Join(top, name), filepath.Join(clone, name)
		info, err := os.Lstat(from)
		if err != nil {
			continue // deleted and not yet committed
		}
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, b, info.Mode().Perm())
		}
		must(t, err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "x"}} {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir, c.Env = clone, append(withoutGit(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return clone
}
