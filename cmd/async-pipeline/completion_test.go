package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/completion"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/verb"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A completed is a project that somebody completes in.
func completed(t *testing.T, pipeline string) string {
	t.Helper()
	dir := t.TempDir()
	if pipeline != "" {
		must(t, os.WriteFile(filepath.Join(dir, "PIPELINE.hcl"), []byte(pipeline), 0o644))
	}
	return dir
}

// offered is what the program answers a shell, without descriptions and the number behind it. A machine that is
// busy may need more than the time somebody who pressed a key has: then it is asked again, up to 5 minutes.
func offered(t *testing.T, dir string, want []string, words ...string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var stdout, stderr bytes.Buffer
		h := process{
			args: append([]string{"__complete"}, words...), stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, dir: dir,
			environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir},
		}
		if code := h.main(); code != 0 || stderr.Len() > 0 {
			t.Fatalf("%v: exit %d, %s", words, code, stderr.String())
		}
		got = nil
		for line := range strings.Lines(stdout.String()) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if !strings.HasPrefix(word, ":") {
				got = append(got, word)
			}
		}
		if cmp.Equal(got, want) {
			return
		}
		if time.Now().After(end) || len(got) > 0 {
			t.Errorf("%v:\n%s", words, cmp.Diff(want, got))
			return
		}
	}
}

const completedPipeline = `
variable "word" {
  type    = string
  default = "hello-secret"
}
task "build" {
  description = "Compile ${var.word}"
  run = ["true"]
}
task "test" {
  depends_on = [task.build]
  run = ["true"]
  env = { TOKEN = secret("NOT_SET") }
}
job "all" {
  tasks = [task.build, task.test]
}
`

func TestCompletionOfNames(t *testing.T) {
	t.Parallel()
	dir := completed(t, completedPipeline)
	must(t, os.Mkdir(filepath.Join(dir, "below"), 0o755))
	for _, in := range []string{dir, filepath.Join(dir, "below")} {
		offered(t, in, []string{"all", "build", "test"}, "run", "")
		offered(t, in, []string{"test"}, "run", "all", "build", "t")
	}
	offered(t, dir, []string{"all", "build", "test"}, "graph", "--format", "dot", "")
	offered(t, t.TempDir(), []string{"all", "build", "test"}, "-C", dir, "run", "--keep-going", "")
	many := completed(t, "task \"each\" {\n  for_each = [\"a\", \"b c\"]\n  run = [\"true\"]\n}\n")
	offered(t, many, []string{"each", `each["a"]`, `each["b c"]`}, "run", "")
	offered(t, many, []string{`each["b c"]`}, "run", "each", `each["a"]`, "")
	offered(t, many, []string{`each["b c"]`}, "run", `each["b`)
	offered(t, many, []string{`each["a"]`, `each["b c"]`}, "run", `each[`)
	offered(t, many, []string{`each[b c]`}, "run", `each[b`)
	must(t, os.WriteFile(filepath.Join(many, "PIPELINE.hcl"), []byte("variable \"all\" {\n  type = set(string)\n}\ntask \"each\" {\n  for_each = var.all\n  run = [\"true\"]\n}\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(many, "vars.json"), []byte(`{"all": ["x"]}`), 0o644))
	offered(t, many, []string{`each["x"]`}, "run", "--var-file", "vars.json", "each[")
	offered(t, many, []string{`each["y"]`}, "run", "--var", `all=["y"]`, "each[")
	offered(t, dir, []string{"view", "fence", "none"}, "run", "--sandbox", "")
	offered(t, dir, []string{"text", "json", "dot", "mermaid", "svg"}, "graph", "--format", "")
	offered(t, dir, []string{"auto", "live", "plain", "json"}, "run", "--progress", "")
	offered(t, dir, []string{"bash", "zsh", "fish", "powershell"}, "completion", "")
	offered(t, dir, nil, "completion", "bash", "")
	offered(t, dir, []string{"apply", "audit", "diff", "import", "list", "reject", "replay", "revert", "show"}, "man", "fix", "")
	offered(t, dir, nil, "validate", "")
	offered(t, dir, []string{"build", "test"}, "explain", "")
	offered(t, dir, nil, "explain", "build", "")
	offered(t, dir, []string{"run", "runs"}, "run")
}

func TestCompletionOfRecords(t *testing.T) {
	t.Parallel()
	dir := completed(t, "")
	store := record.At(dir)
	var ids []string
	for range 2 {
		d, err := store.Begin(time.Now(), func(b []byte) []byte { return b }, nil)
		must(t, err)
		s, err := d.Seal(record.Run{Status: record.Failed, ExitCode: 1, Tasks: []record.Task{
			{Name: "build", Status: record.Passed}, {Name: "test", Status: record.Failed},
		}})
		must(t, err)
		ids = append(ids, s.ID)
	}
	newestFirst := []string{"latest", ids[1], ids[0]}
	offered(t, dir, append([]string{"test"}, newestFirst...), "heal", "")
	offered(t, dir, newestFirst, "context", "")
	offered(t, dir, []string{"test"}, "context", ids[0], "")
	offered(t, dir, []string{"test"}, "heal", "latest", "")
	offered(t, dir, nil, "heal", "latest", "test", "")
	offered(t, dir, append([]string{"build", "test"}, newestFirst...), "logs", "")
	offered(t, dir, []string{"build", "test"}, "logs", ids[0], "")
	offered(t, dir, append([]string{"build", "test"}, newestFirst...), "explain", "--run", "")
	offered(t, dir, newestFirst, "explain", "build", "--against", "")
	offered(t, dir, newestFirst, "run", "--resume", "")
	offered(t, dir, nil, "fix", "show", "")
}

// Whatever a project is like, a shell gets an answer, no message, and the folder stays as it is.
func TestCompletionIsSilent(t *testing.T) {
	t.Parallel()
	for name, pipeline := range map[string]string{
		"no file": "", "broken": `task "x {`, "faults": `task "x" { depends_on = [task.y] }`, "empty": "\n",
		"a warning": "variable \"a\" {\n default = \"b\"\n}\ntask \"x\" {\n run = \"echo ${var.a}\"\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := completed(t, pipeline)
			for _, verb := range []string{"run", "graph", "heal", "context", "fix show", "validate"} {
				asked(t, dir, append(strings.Fields(verb), "")...)
			}
			entries, err := os.ReadDir(dir)
			must(t, err)
			if len(entries) > 1 || pipeline == "" && len(entries) > 0 {
				t.Errorf("it wrote something: %v", entries)
			}
		})
	}
}

// asked is one question without a wish for its answer.
func asked(t *testing.T, dir string, words ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	h := process{
		args: append([]string{"__complete"}, words...), stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, dir: dir,
		environ: []string{"HOME=" + dir},
	}
	if code := h.main(); code != 0 || stderr.Len() > 0 || !strings.HasSuffix(stdout.String(), ":4\n") {
		t.Errorf("%v: exit %d, %q, %q", words, code, stdout.String(), stderr.String())
	}
}

// Every verb that takes arguments says what they could be, and every flag whose help counts its values says them.
func TestOffers(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range everyVerb() {
		verb := verb.Name(c)
		known[verb] = true
		if _, arguments, _ := strings.Cut(c.Use, " "); arguments != "" && !slices.Contains(completion.Verbs(), verb) {
			t.Errorf("%s takes %s, and a shell is offered nothing for it", verb, arguments)
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			name := verb + " --" + f.Name
			known[name] = true
			if value, _ := pflag.UnquoteUsage(f); strings.Contains(value, "|") && strings.Join(completion.Values[name], "|") != value {
				t.Errorf("%s takes %s, and a shell is offered %v", name, value, completion.Values[name])
			}
			for _, v := range completion.Values[name] {
				if !strings.Contains(f.Usage, v) {
					t.Errorf("a shell is offered %s for %s, and its help does not say so: %s", v, name, f.Usage)
				}
			}
		})
	}
	for _, name := range completion.Verbs() {
		if !known[name] {
			t.Errorf("there is no verb %q", name)
		}
	}
	for name := range completion.Values {
		if !known[name] {
			t.Errorf("there is no flag %q", name)
		}
	}
}

// The names of tasks come from a file that somebody else may have written: bash must not carry them out.
func TestBashCompletion(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	base := t.TempDir()
	dir, bin := filepath.Join(base, "project"), filepath.Join(base, "bin")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(bin, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "PIPELINE.hcl"), []byte(completedPipeline), 0o644))
	script := filepath.Join(base, "script")
	text := &bytes.Buffer{}
	if code := (process{args: []string{"completion", "bash"}, stdout: text, stderr: text, dir: dir}).main(); code != 0 {
		t.Fatalf("exit %d, %s", code, text)
	}
	must(t, os.WriteFile(script, text.Bytes(), 0o644))
	run := func(env []string, lines string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile", "-c", lines)
		c.Dir = dir
		c.Env = append(os.Environ(), env...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := run(nil, "bash -n "+script); out != "" {
		t.Error(out)
	}
	// press is a line with the words that bash makes of it; the last one is completed.
	press := func(env []string, line string, words ...string) []string {
		t.Helper()
		quoted := ""
		for _, w := range words {
			quoted += " '" + w + "'"
		}
		out := run(env, `source `+script+`
COLUMNS=80 COMP_TYPE=9 COMP_LINE='`+line+`' COMP_POINT=${#COMP_LINE} COMP_WORDS=(`+quoted+`) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_async-pipeline 2>&1
printf '%s\n' "${COMPREPLY[@]}"`)
		var got []string
		for line := range strings.Lines(out) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "compopt") { // it works only for a key that was pressed
				got = append(got, line)
			}
		}
		return got
	}
	for _, tt := range []struct {
		line  string
		words []string
		want  []string
	}{
		{"async-pipeline val", []string{"async-pipeline", "val"}, []string{"validate"}},
		{"async-pipeline run --sandbox ", []string{"async-pipeline", "run", "--sandbox", ""}, []string{"view", "fence", "none"}},
		{"async-pipeline run --sandbox=f", []string{"async-pipeline", "run", "--sandbox", "=", "f"}, []string{"fence"}},
		{"async-pipeline  completion  z", []string{"async-pipeline", "completion", "z"}, []string{"zsh"}},
	} {
		if got := press(nil, tt.line, tt.words...); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}

	// A program that answers as ours would for such names.
	must(t, os.WriteFile(filepath.Join(bin, "async-pipeline"), []byte(`#!/bin/sh
printf '%s\n' 'test["$(touch broken)"]' 'test["`+"`touch broken`"+`"]' 'test[";touch broken;"]' ':4'
`), 0o755))
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	if got := press(env, "async-pipeline run ", "async-pipeline", "run", ""); len(got) != 3 {
		t.Errorf("got %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "broken")); err == nil {
		t.Error("bash carried out the name of a task")
	}
}

// The name of an instance holds what a shell takes for its own: bash quotes it in the way in which it was begun.
func TestBashCompletionQuotes(t *testing.T) {
	t.Parallel()
	script := &bytes.Buffer{}
	if code := (process{args: []string{"completion", "bash"}, stdout: script, stderr: script, dir: t.TempDir()}).main(); code != 0 {
		t.Fatalf("exit %d, %s", code, script)
	}
	dir := newProject(t, "", "script", script.String(), "show", `
show() {
  if [[ $1 != __complete ]]; then
    printf '<%s>\n' "$@"
    return
  fi
  local w
  for w in 'ab["x"]' 'ab["y z"]' 'ab["yy"]' 'c["d'\''s=$1"]' 'ab[x]' plain --flag; do
    if [[ $w == 'ab[x]' && ${*: -1} != ab[[]x* ]]; then continue; fi
    [[ $w != "${*: -1}"* ]] || printf '%s\twhat it is\n' "$w"
  done
  echo :4
}
complete -o default -F __start_async-pipeline show
`)
	s := sit(t, 100, 60, dir, "bash", "--norc", "--noprofile", "-i").look()
	s.press("source ./script; source ./show; clear\n")
	for i, tt := range []struct{ keys, want string }{
		{"p\t", "<plain>"},
		{"ab[\tx\t", `<ab["x"]>`},
		{"ab[\ty\\ \t", `<ab["y z"]>`},
		{`ab\[\"yy` + "\t", `<ab["yy"]>`},
		{"'ab[\tx\t", `<ab["x"]>`},
		{"'ab[\ty\t \t", `<ab["y z"]>`},
		{"\"ab[\tx\t", `<ab["x"]>`},
		{`ab["x` + "\t", `<ab[x]>`},
		{`ab[x` + "\t", `<ab[x]>`},
		{"c\t", `<c["d's=$1"]>`},
		{"'c\t", `<c["d's=$1"]>`},
		{"\"c\t", `<c["d's=$1"]>`},
		{"'a b' --f\t", "<--flag>"},
		{"$(echo a) p\t", "<plain>"},
	} {
		end := "<end " + string(rune('a'+i)) + ">"
		s.press("clear; show run " + tt.keys + " 'end " + string(rune('a'+i)) + "'\n")
		s.until(end)
		if screen := s.screen(); !strings.Contains(screen, "\n"+tt.want+"\n"+end) {
			t.Errorf("%q becomes, want %s:\n%s", tt.keys, tt.want, screen)
		}
	}
	s.press("exit\n")
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
	<-s.read
}
