// Only a person's `fix apply` writes a patch: every other verb, with every flag, environment variable and attribute
// that the product has, leaves the tree as it is while there is a verified fix. What has no case here fails the
// test.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// A byHand is a project whose PIPELINE.hcl has every word.
type byHand struct {
	root, home string
	exercised  map[string]bool // "async-pipeline run --heal"
}

func TestApplyByHand(t *testing.T) {
	t.Parallel()
	notShort(t)
	base := t.TempDir()
	p := &byHand{root: filepath.Join(base, "project"), home: filepath.Join(base, "home"), exercised: map[string]bool{}}
	must(t, os.MkdirAll(filepath.Join(p.home, "tmp"), 0o700))
	for name, text := range map[string]string{
		"PIPELINE.hcl": everyWord(t), "greeting.txt": "goodbye\n", "apply.env": "APPLY=yes\nAUTO_APPLY=1\n",
		"../home/apply.hcl":  "apply = true\n",
		"apply/PIPELINE.hcl": "variable \"apply\" {\n}\ntask \"apply\" {\n  run = [\"true\", var.apply]\n}\njob \"default\" {\n  tasks = [task.apply]\n}\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(p.root, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(p.root, name), []byte(text), 0o644))
	}
	commitAll(t, p.root)
	before := p.digest(t)
	same := func(what string) {
		t.Helper()
		if now := p.digest(t); now != before {
			t.Fatalf("%s changed the tree:\n%s\nit was\n%s", what, now, before)
		}
	}

	// Every attribute: the run makes a verified proposal and applies nothing. It stays there from now on.
	code, out := p.call(t, nil, "run", "-C", p.root)
	if code != exit.Failed || !strings.Contains(out, "Proposed fix for check: verified") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	same("run with every attribute")

	p.flags(t, same)
	p.underVariables(t, same)
	p.writers(t, same)

	// All this proves something only if the proposal can be applied.
	if code, out := p.call(t, nil, "fix", "apply", "-C", p.root); code != 0 || p.digest(t) == before {
		t.Errorf("fix apply: exit %d\n%s", code, out)
	}
}

// everyWord is a PIPELINE.hcl made of all words of the language, in the order of its table.
func everyWord(t *testing.T) string {
	t.Helper()
	words := hclfile.Words()
	for _, w := range words {
		if _, ok := attributes[w]; !ok {
			t.Errorf("the language has %s, and it is not shown that it applies nothing: add it to attributes", w)
		}
	}
	for w := range attributes {
		if !slices.Contains(words, w) {
			t.Errorf("the language has no %s: take it out of attributes", w)
		}
	}
	var b strings.Builder
	var write func(under string)
	write = func(under string) {
		for _, w := range words {
			name, ok := strings.CutPrefix(w, under)
			if !ok || strings.Contains(name, ".") {
				continue
			}
			b.WriteString(attributes[w] + "\n")
			write(w + ".")
			if strings.Contains(attributes[w], " {\n") || strings.HasSuffix(attributes[w], "{") {
				b.WriteString("}\n")
			}
		}
	}
	write("")
	for _, w := range slices.Sorted(maps.Keys(several)) {
		b.WriteString(several[w])
	}
	return b.String()
}

// call is one call of the program by somebody who says yes to whatever is asked.
func (p *byHand) call(t *testing.T, env []string, args ...string) (int, string) {
	t.Helper()
	for _, name := range given(t, args) {
		p.exercised[name] = true
	}
	var stdout, stderr bytes.Buffer
	h := process{
		args: args, stdin: strings.NewReader("yes\ny\napply\n"), stdout: &stdout, stderr: &stderr, dir: p.home,
		environ: append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "XDG_CACHE_HOME=" + filepath.Join(p.home, "cache"), "LANG=C.UTF-8",
			"TMPDIR=" + filepath.Join(p.home, "tmp"),
		}, env...),
	}
	code := h.main()
	return code, stdout.String() + stderr.String()
}

// forget removes all records, for a run that is to heal: the same failure as an open proposal's is not healed again.
func (p *byHand) forget(t *testing.T) {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(p.root, ".async")))
}

// given lists the flags that args give, each with its verb.
func given(t *testing.T, args []string) []string {
	t.Helper()
	c, rest, err := command(process{}.open()).Find(args)
	if err != nil || c.ParseFlags(rest) != nil {
		return nil // a flag that is none
	}
	var names []string
	c.Flags().Visit(func(f *pflag.Flag) { names = append(names, c.CommandPath()+" --"+f.Name) })
	return names
}

func (p *byHand) flags(t *testing.T, same func(string)) {
	t.Helper()
	var verbs [][]string
	var all []string
	for _, c := range everyVerb() {
		verbs = append(verbs, strings.Fields(c.CommandPath())[1:])
		add := func(f *pflag.Flag) { all = append(all, c.CommandPath()+" --"+f.Name) }
		c.LocalFlags().VisitAll(add)
		c.InheritedFlags().VisitAll(add)
	}

	at, tier, values := []string{"-C", p.root}, string(sandbox.Best()), filepath.Join(p.home, "apply.hcl")
	calls := [][]string{
		{"--version"},
		{"run", "--heal", "--ci", "--only", "--sandbox", tier, "--var", "apply=true", "--concurrency", "1", "check"},
		{"run", "--heal", "--keep-going", "--progress", "plain", "--trace", filepath.Join(p.home, "trace.json"), "--var-file", values},
		{"run", "--no-heal", "--json", "--force", "--cache-dir", filepath.Join(p.home, "results")},
		{"run", "--no-heal", "--no-cache"},
		{"run", "--no-heal", "--check-inputs"},
		{"run", "--dry-run"},
		{"run", "--no-heal", "--affected=HEAD"},
		{"run", "--no-heal", "--resume", "latest"},
		{"run", "--no-heal", "--watch", "none"}, // ends at once, as there is no such task
		{"heal", "--ci", "--sandbox", tier, "--var", "apply=true"},
		{"heal", "--progress", "plain", "--var-file", values, "latest", "check"},
		{"validate", "--json", "--var", "apply=true", "--var-file", values},
		{"list", "--json", "--var", "apply=true", "--var-file", values},
		{"graph", "--format", "json", "--var", "apply=true", "--var-file", values, "check"},
		{"graph", "--affected=HEAD"},
		{"explain", "--var", "apply=true", "--var-file", values, "check"},
		{"explain", "--env", "--json", "check"},
		{"explain", "--run", "latest", "check"},
		{"explain", "--cache-dir", filepath.Join(p.home, "results"), "check"},
		{"explain", "--against", "latest", "check"},
		{"runs", "--json", "--limit", "5"},
		{"runs", "--flaky"},
		{"logs", "--follow", "--tail", "5", "latest", "check"},
		{"context", "--var", "apply=true", "--var-file", values, "latest", "check"},
		{"init", "--print"},
		{"init", "--print", "--agent", "claude"},
		{"fmt", "--check"},
		{"fmt", "--diff", "PIPELINE.hcl"},
		{"fmt", "-"},
		{"schema", "--markdown"},
		{"completion", "bash"},
		{"man", "fix", "apply"},
		{"man", "--dir", filepath.Join(p.home, "man")},
		{"doctor", "--agents", "--json", "--var", "apply=true", "--var-file", values},
		{"gc", "--dry-run", "--keep", "1", "--var", "apply=true", "--var-file", values},
		{"gc", "--cache-dir", filepath.Join(p.home, "results"), "--dry-run"},
		{"gc", "--keep", "1"}, // an open proposal stays
		{"cache", "verify", "--remove"},
		{"cache", "verify", "--cache-dir", filepath.Join(p.home, "results")},
		{"fix", "list", "--json"},
		{"fix", "show", "check"},
		{"fix", "show", "--transcript", "--unfold", "check"},
		{"fix", "diff", "check"},
		{"fix", "apply", "--dry-run"},
		{"fix", "apply", "--dry-run", "--allow-dirty", "--accept", "all", "--files", "greeting.txt"},
		{"fix", "apply", "--dry-run", "--3way", "--hunk", "1"},
		{"fix", "apply", "--dry-run", "--edit"},
		{"fix", "revert", "--dry-run", "--3way", "--files", "greeting.txt"},
		{"fix", "reject", "--dry-run", "--reason", "apply it"},
		{"fix", "list", "--recurring"},
		{"fix", "audit", "--json"},
		{"fix", "replay", "--json", "--sandbox", tier, "--var", "apply=true", "--var-file", values},
		{"fix", "import", filepath.Join(p.home, "nothing")},
		{"stats", "--json"},
		{"agents", "list", "--json"},
		{"agents", "bench", "--limit", "1", "--attempts", "1", "--wall-clock", "10m", "--tokens", "1000", "--cost-usd", "1", "--json"},
		{"agents", "bench", "--cases", filepath.Join(p.home, "nothing"), "--sandbox", tier, "--var", "apply=true", "--var-file", values},
		{"agents", "probe", "none", "--all", "--report", filepath.Join(p.home, "probe.md")},
		{"policy", "check", "--task", "check", "--var", "apply=true", "--var-file", values, "--", "async-pipeline", "fix", "apply"},
	}
	for _, verb := range verbs {
		calls = append(calls, verb, append(slices.Clone(verb), "--help"))
	}
	for _, call := range calls {
		switch strings.Join(call, " ") {
		case "fix apply", "fix reject", "run", "heal":
			continue // the first is a person's, the second would end the proposal; all have been called with more
		case "agents probe":
			continue // it would play with what is installed on this machine
		}
		if len(call) == 1 && writers[call[0]] != "" {
			continue // what they write is shown by writers
		}
		if slices.Contains(call, "--heal") {
			p.forget(t)
		}
		code, out := p.call(t, nil, append(slices.Clone(call), at...)...)
		what := strings.Join(call, " ")
		same(what)
		if refusal := regexp.MustCompile(`has no flag|takes no argument|must be|cannot be used with`).FindString(out); refusal != "" && code == exit.Refused {
			t.Errorf("%s: exit %d: %s", what, code, out)
		}
		heals := len(call) > 0 && call[0] == "heal" || slices.Contains(call, "--heal")
		if heals && !slices.Contains(call, "--help") && !strings.Contains(out, "verified") {
			t.Errorf("%s healed nothing: exit %d: %s", what, code, out)
		}
	}
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		if !p.exercised[name] {
			t.Errorf("there is %s, and it is not shown that it applies nothing: add a call with it", name)
		}
	}

	// The flags of fix apply are of no other verb, nor are those that somebody could hope for.
	for _, verb := range []string{"run", "heal"} {
		for _, flag := range []string{"--accept=all", "--allow-dirty", "--files=greeting.txt", "--apply", "--auto-apply", "--yes", "-y", "--force", "--auto", "--fix"} {
			if verb == "run" && flag == "--force" {
				continue // it is about the cache, and among the calls
			}
			if code, out := p.call(t, nil, verb, flag, "-C", p.root); code != exit.Refused || !strings.Contains(out, "has no flag") {
				t.Errorf("%s %s: exit %d: %s", verb, flag, code, out)
			}
			same(verb + " " + flag)
		}
	}
}

func (p *byHand) underVariables(t *testing.T, same func(string)) {
	t.Helper()
	names := namesInSource(t)
	for _, name := range names {
		if _, ok := variables[name]; !ok {
			t.Errorf("the source names %s, and it is not shown that it applies nothing: add it to variables", name)
		}
	}
	env := slices.Clone(strangers)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !slices.Contains(names, name) {
			t.Errorf("the source does not name %s: take it out of variables", name)
		}
		if v := variables[name]; v != "" && name != "ASYNC_PIPELINE_HOOK" {
			env = append(env, name+"="+v)
		}
	}
	hook := append(slices.Clone(env), "ASYNC_PIPELINE_HOOK="+variables["ASYNC_PIPELINE_HOOK"])
	for _, call := range []struct {
		env   []string
		args  []string
		heals bool
	}{
		{env, []string{"run", "--heal"}, true},
		{env, []string{"fix", "list"}, false},
		{env, []string{"fix", "show"}, false},
		{env, []string{"fix", "diff"}, false},
		{env, []string{"validate"}, false},
		{hook, []string{"run", "--heal"}, false},
		{hook, []string{"heal"}, false},
		{hook, []string{"fix", "show"}, false},
		{env, []string{"explain", "check"}, false},
		{env, []string{"explain", "--env", "check"}, false},
		{env, []string{"logs", "check"}, false},
		{env, []string{"doctor"}, false},
		{env, []string{"gc"}, false},
		{env, []string{"man", "run"}, false},
		{env, []string{"fmt", "--check"}, false},
		{env, []string{"init", "--print"}, false},
		{hook, []string{"gc"}, false},
		{hook, []string{"doctor"}, false},
	} {
		if call.heals {
			p.forget(t)
		}
		code, out := p.call(t, call.env, append(slices.Clone(call.args), "-C", p.root)...)
		same(fmt.Sprintf("%v with %v", call.args, call.env))
		if strings.Contains(out, ": verified") != call.heals && call.args[0] == "run" {
			t.Errorf("%v: healed: %v, want %v: exit %d\n%s", call.args, !call.heals, call.heals, code, out)
		}
	}
}

// writers shows what the other verbs write that write to the tree.
func (p *byHand) writers(t *testing.T, same func(string)) {
	t.Helper()
	file := filepath.Join(p.root, "PIPELINE.hcl")
	text, err := os.ReadFile(file)
	must(t, err)
	others := func() string {
		return regexp.MustCompile(`(?m)^(PIPELINE\.hcl|\.) .*\n`).ReplaceAllString(p.digest(t), "")
	}
	before := others()
	for _, verb := range slices.Sorted(maps.Keys(writers)) {
		ready := func() {
			must(t, os.WriteFile(file, text, 0o644))
			if verb == "init" {
				must(t, os.Remove(file))
			}
		}
		ready()
		was := p.digest(t)
		code, out := p.call(t, []string{"ASYNC_PIPELINE_HOOK=run/check"}, verb, "-C", p.root)
		if code != exit.Refused || !strings.Contains(out, "started by a hook (ASYNC_PIPELINE_HOOK is set)") || p.digest(t) != was {
			t.Errorf("%s in a hook: exit %d\n%s", verb, code, out)
		}
		ready()
		if code, out := p.call(t, nil, verb, "-C", p.root); code != 0 || p.digest(t) == was {
			t.Errorf("%s wrote nothing, and the table says that it writes %s: exit %d\n%s", verb, writers[verb], code, out)
		}
		if now := others(); now != before {
			t.Errorf("%s changed more than PIPELINE.hcl:\n%s\nit was\n%s", verb, now, before)
		}
		must(t, os.WriteFile(file, text, 0o644))
		same(verb + ", after its own work was undone,")
	}
}

// namesInSource lists the environment variables that the product asks for, and every ASYNC_PIPELINE_* it names.
func namesInSource(t *testing.T) []string {
	t.Helper()
	own := regexp.MustCompile(`^(ASYNC_PIPELINE_[A-Z_]*)=?$`)
	found := map[string]bool{}
	eachSource(t, func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			lit := func(e ast.Expr) string {
				b, _ := e.(*ast.BasicLit)
				if b == nil || b.Kind != token.STRING {
					return ""
				}
				s, err := strconv.Unquote(b.Value)
				must(t, err)
				return s
			}
			switch n := n.(type) {
			case *ast.BasicLit:
				if m := own.FindStringSubmatch(lit(n)); m != nil {
					found[m[1]] = true
				}
			case *ast.CallExpr:
				name := ""
				switch f := n.Fun.(type) {
				case *ast.Ident:
					name = f.Name
				case *ast.SelectorExpr:
					name = f.Sel.Name
				}
				if len(n.Args) > 0 && slices.Contains([]string{"env", "Env", "lookup", "Lookup", "Getenv", "LookupEnv", "lookupEnv"}, name) && lit(n.Args[0]) != "" {
					found[lit(n.Args[0])] = true
				}
			}
			return true
		})
	})
	return slices.Sorted(maps.Keys(found))
}

// eachSource parses every file of the product that is no test; name is relative to the module.
func eachSource(t *testing.T, do func(name string, file *ast.File)) {
	t.Helper()
	top := filepath.Join("..", "..")
	n := 0
	must(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name == "examples" || base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") && base != ".." && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err == nil {
			n++
			do(filepath.ToSlash(name), file)
		}
		return err
	}))
	if n < 50 {
		t.Errorf("only %d files of source were found", n)
	}
}

// applyNames is where the source may say Apply outside of hooks/fix and internal/patch, and what it means there.
var applyNames = map[string]string{
	"cmd/async-pipeline/fix_apply.go":                 "apply.Tree.Apply: the one writer",
	"cmd/async-pipeline/internal/view/fix_outcome.go": "a text: the command to type",
	"cmd/async-pipeline/engine.go":                    "a text: the command to type",
	"cmd/async-pipeline/internal/view/fix_show.go":    "a text: the command to type",
	"cmd/async-pipeline/fix_show.go":                  "a text: the command to type",
	"pipeline/hclfile/variabletype.go":                "cty",
	"pipeline/hclfile/secret.go":                      "cty",
}

// apply.Tree.Apply has one caller, and that has one way to it: the verb.
func TestOnlyTheVerbApplies(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	eachSource(t, func(name string, file *ast.File) {
		if strings.HasPrefix(name, "hooks/fix/") || strings.HasPrefix(name, "internal/patch/") {
			return
		}
		importsIt := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return strings.HasSuffix(i.Path.Value, `/hooks/fix/apply"`) })
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Apply" && importsIt && name != "cmd/async-pipeline/fix_apply.go" {
					t.Errorf("%s calls Apply of something: only the verb fix apply may", name)
				}
			}
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch s.Sel.Name {
			case "Apply":
				seen[name]++
				if applyNames[name] == "" {
					t.Errorf("%s says Apply: if it is not apply.Tree.Apply, add it to applyNames", name)
				}
			case "apply":
				if strings.HasPrefix(name, "cmd/") && name != "cmd/async-pipeline/fix_apply.go" {
					t.Errorf("%s uses what carries out the verb fix apply", name)
				}
			case "fixApplyCommand":
				if name != "cmd/async-pipeline/fix.go" {
					t.Errorf("%s uses the verb fix apply", name)
				}
			}
			return true
		})
	})
	if n := seen["cmd/async-pipeline/fix_apply.go"]; n != 1 {
		t.Errorf("fix_apply.go says Apply %d times", n)
	}
}

// digest is the tree with what git knows of it, in words.
func (p *byHand) digest(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.root, path)
		if err != nil {
			return err
		}
		if rel == ".async" || rel == filepath.Join(".git", "objects") {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil || rel == filepath.Join(".git", "index") {
			return err
		}
		var text []byte
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %v %x\n", rel, info.Mode(), sha256.Sum256(text))
		return nil
	}))
	out, err := exec.CommandContext(t.Context(), "git", "-C", p.root, "ls-files", "-s").Output()
	must(t, err)
	return b.String() + string(out)
}
