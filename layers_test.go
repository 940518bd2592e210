// Which package may import which, and which packages may reach out of the program: start processes, use the
// network, read the environment. ARCHITECTURE.md gives the reasons.
package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/async-pipeline/async-pipeline"

// An entry gives a package's layer and what it may import: packages of lower layers. Every package may import those
// of layer 0.
type entry struct {
	layer int
	may   []string // packages, or a folder and all below it ("internal/...")
}

// table is the rule. Where an import does not fit, change the import, not the table. A new package gets its line in
// the commit that makes it.
var table = map[string]entry{
	"cmd/async-pipeline":               {9, []string{"..."}},
	"cmd/scripted-model":               {7, []string{"internal/model/modeltest"}},
	"cmd/async-pipeline/internal/view": {6, []string{"pipeline", "pipeline/cache/store", "pipeline/flake", "pipeline/record", "hooks/fix", "hooks/fix/apply", "internal/journal", "internal/patch", "internal/testreport"}},
	"hooks":                            {5, []string{"pipeline", "pipeline/record", "scratch", "hooks/...", "internal/..."}},
	"pipeline/resume":                  {7, []string{"pipeline", "pipeline/cache", "pipeline/record", "pipeline/run", "internal/journal"}},
	"pipeline/rounds":                  {7, []string{"pipeline", "pipeline/cache", "pipeline/cache/files", "pipeline/record", "pipeline/run", "internal/git", "internal/watch"}},
	"pipeline/run":                     {6, []string{"pipeline", "pipeline/cache", "pipeline/flake", "pipeline/record", "pipeline/task", "internal/sandbox", "internal/git", "internal/patch", "internal/recordfile"}},
	"pipeline/cache":                   {4, []string{"internal/git", "pipeline", "pipeline/cache/files", "pipeline/cache/reads", "pipeline/cache/store", "pipeline/record", "internal/recordfile", "internal/tree"}},
	"pipeline/cache/store":             {3, []string{"pipeline/cache/files", "internal/recordfile", "internal/tree"}},
	"pipeline/cache/files":             {2, []string{"internal/git", "internal/recordfile", "internal/tree"}},
	"pipeline/cache/reads":             {3, []string{"pipeline/cache/files"}},
	"pipeline/flake":                   {3, []string{"pipeline/record", "internal/recordfile"}},
	"pipeline/task":                    {5, []string{"pipeline", "pipeline/cache", "pipeline/record", "internal/sandbox"}},
	"hooks/reproduce":                  {4, []string{"pipeline", "pipeline/record", "scratch", "hooks/fix", "hooks/failedtask", "hooks/homes", "hooks/progress", "internal/..."}},
	"hooks/attempt":                    {4, []string{"pipeline", "pipeline/record", "scratch", "hooks/agent", "hooks/budget", "hooks/fix/...", "hooks/failedtask", "hooks/homes", "hooks/progress", "internal/..."}},
	"hooks/verify":                     {4, []string{"pipeline", "pipeline/cache/files", "pipeline/record", "scratch", "hooks/agent", "hooks/budget", "hooks/checkfile", "hooks/review", "hooks/fix", "hooks/failedtask", "hooks/homes", "hooks/progress", "internal/..."}},
	"hooks/leftovers":                  {4, []string{"pipeline/record", "scratch", "hooks/fix/...", "hooks/homes", "internal/..."}},
	"hooks/runaudit":                   {4, []string{"pipeline/record", "hooks/fix/...", "internal/..."}},
	"hooks/agent/configured":           {5, []string{"pipeline", "hooks/agent/...", "hooks/homes", "internal/..."}},
	"hooks/person":                     {3, []string{"pipeline/record", "internal/sandbox"}},
	"hooks/budget":                     {3, []string{"pipeline", "hooks/agent", "internal/..."}},
	"hooks/progress":                   {2, nil},
	"hooks/agenttask":                  {5, []string{"pipeline", "pipeline/record", "scratch", "hooks/...", "internal/..."}},
	"hooks/replay":                     {5, []string{"pipeline", "pipeline/record", "scratch", "hooks/...", "internal/..."}},
	"hooks/contextpack":                {4, []string{"pipeline", "pipeline/record", "hooks/fix", "hooks/fix/draft", "hooks/failedtask", "hooks/agent", "internal/..."}},
	"hooks/homes":                      {3, []string{"pipeline", "pipeline/record", "scratch", "internal/..."}},
	"hooks/failedtask":                 {3, []string{"pipeline", "pipeline/record", "hooks/fix", "hooks/agent", "internal/..."}},
	"hooks/agent/cli":                  {3, []string{"hooks/agent", "internal/..."}},
	"hooks/agent/native":               {4, []string{"hooks/agent", "hooks/agent/native/...", "internal/..."}},
	"hooks/agent/native/loopguard":     {3, []string{"hooks/agent/native/tools", "internal/model"}},
	"hooks/agent/native/tools":         {2, []string{"hooks/agent", "internal/..."}},
	"hooks/fix":                        {2, []string{"internal/recordfile", "internal/patch", "internal/tree", "internal/journal"}},
	"hooks/fix/draft":                  {3, []string{"hooks/fix", "internal/..."}},
	"hooks/fix/apply":                  {3, []string{"hooks/fix", "internal/..."}},
	"hooks/fix/audit":                  {3, []string{"hooks/fix", "internal/..."}},
	"hooks/fix/fixtest":                {4, []string{"hooks/fix", "hooks/fix/draft", "pipeline", "pipeline/record", "internal/..."}},
	"pipeline/hclfile":                 {3, []string{"pipeline", "pipeline/hclfile/guard", "pipeline/hclfile/layout", "internal/model", "internal/knowncli", "internal/policy"}},
	"pipeline/hclfile/guard":           {2, nil},
	"pipeline/hclfile/layout":          {2, nil},
	"pipeline/record":                  {2, []string{"internal/journal", "internal/recordfile"}},
	"pipeline/report":                  {4, []string{"pipeline/record"}},
	"pipeline/detect":                  {3, nil},
	"pipeline/diagram":                 {2, []string{"pipeline"}},
	"hooks/agent":                      {1, nil},
	"hooks/checkfile":                  {2, []string{"internal/lang", "internal/patch"}},
	"hooks/review":                     {3, []string{"hooks/checkfile", "hooks/review/rules", "internal/lang", "internal/patch"}},
	"hooks/review/rules":               {1, []string{"internal/redact"}},
	"internal/lang":                    {1, nil},
	"internal/shelltext":               {0, nil},
	"internal/testreport":              {1, nil},
	"scratch":                          {2, []string{"internal/tree", "internal/patch", "internal/git"}},
	"pipeline":                         {1, nil},
	"internal/sandbox":                 {1, nil},
	"internal/model":                   {1, nil},
	"internal/model/modeltest":         {2, []string{"internal/model"}},
	"internal/relay":                   {2, []string{"internal/model"}},
	"internal/policy":                  {1, nil},
	"internal/tree":                    {1, nil},
	"internal/packed":                  {0, nil},
	"internal/patch":                   {1, nil},
	"internal/git":                     {1, nil},
	"internal/digest":                  {0, nil},
	"internal/redact":                  {0, nil},
	"internal/process":                 {0, nil},
	"internal/recordfile":              {1, nil},
	"internal/rmtree":                  {0, nil},
	"internal/journal":                 {1, nil},
	"internal/access":                  {0, nil},
	"internal/reapi":                   {0, nil},
	"internal/filename":                {0, nil},
	"internal/knowncli":                {0, nil},
	"internal/advice":                  {0, nil},
	"internal/lazily":                  {0, nil},
	"internal/english":                 {0, nil},
	"internal/failure":                 {0, nil},
	"internal/reset":                   {0, nil},
	"internal/unixat":                  {0, nil},
	"internal/timestamp":               {0, nil},
	"internal/watch":                   {1, nil},

	// packages of the command
	"cmd/async-pipeline/internal/console":    {7, []string{"cmd/async-pipeline/internal/view", "pipeline/record", "internal/sandbox"}},
	"cmd/async-pipeline/internal/project":    {7, []string{"cmd/async-pipeline/internal/view", "pipeline", "pipeline/hclfile", "hooks/agent", "hooks/agent/configured", "internal/policy", "internal/model"}},
	"cmd/async-pipeline/internal/early":      {2, []string{"internal/sandbox"}},
	"cmd/async-pipeline/internal/exit":       {0, nil},
	"cmd/async-pipeline/internal/verb":       {0, nil},
	"cmd/async-pipeline/internal/man":        {6, []string{"cmd/async-pipeline/internal/verb"}},
	"cmd/async-pipeline/internal/completion": {8, []string{"cmd/async-pipeline/internal/...", "pipeline", "pipeline/diagram", "pipeline/hclfile", "pipeline/record", "hooks/fix", "internal/sandbox"}},
	"cmd/async-pipeline/internal/doctor":     {8, []string{"cmd/async-pipeline/internal/...", "pipeline/...", "pipeline", "hooks/...", "hooks", "internal/..."}},
	"cmd/async-pipeline/internal/agentbench": {8, []string{"cmd/async-pipeline/internal/project", "pipeline", "pipeline/record", "pipeline/run", "pipeline/task", "hooks", "hooks/...", "scratch", "internal/..."}},
	"cmd/async-pipeline/internal/agentprobe": {8, []string{"hooks/fix", "internal/..."}},
	"cmd/async-pipeline/internal/gc":         {8, []string{"cmd/async-pipeline/internal/...", "pipeline/...", "hooks/...", "hooks", "scratch", "internal/..."}},
	"cmd/async-pipeline/internal/cachedir":   {0, nil},
}

// doors lists what reaches out of the program, an import path or a package and a name of it, and the packages that
// may use it.
var doors = []struct {
	what     string
	packages []string
}{
	{"os/exec", []string{"internal/sandbox", "internal/git"}},
	{"syscall.ForkExec", []string{"internal/sandbox"}},
	{"syscall.Exec", []string{"internal/sandbox"}},
	{"os.StartProcess", []string{"internal/sandbox"}},
	{"net/http", []string{"internal/model", "internal/model/modeltest", "internal/relay", "cmd/scripted-model"}},
	{"net", []string{"internal/model", "internal/model/modeltest", "internal/relay", "cmd/scripted-model", "pipeline/run"}}, // run: ports of services
	{"github.com/hashicorp/hcl/v2/...", []string{"pipeline/hclfile", "pipeline/hclfile/guard", "pipeline/hclfile/layout"}},
	{"github.com/zclconf/go-cty/...", []string{"pipeline/hclfile", "pipeline/hclfile/guard"}},
	{"github.com/spf13/cobra", []string{"cmd/async-pipeline", "cmd/async-pipeline/internal/verb", "cmd/async-pipeline/internal/man", "cmd/async-pipeline/internal/completion"}},
	{"github.com/bluekeyes/go-gitdiff/gitdiff", []string{"internal/patch"}},
	{"github.com/sergi/go-diff/diffmatchpatch", []string{"internal/patch"}},
	{"mvdan.cc/sh/v3/...", []string{"internal/shelltext", "pipeline/detect"}},
	{"github.com/landlock-lsm/go-landlock/...", []string{"internal/sandbox"}},
	{"github.com/fsnotify/fsnotify", []string{"internal/watch"}},
	{"os.Getenv", []string{"cmd/async-pipeline"}},
	{"os.LookupEnv", []string{"cmd/async-pipeline"}},
	{"os.Environ", []string{"cmd/async-pipeline"}},
	{"os.Args", []string{"cmd/async-pipeline", "cmd/async-pipeline/internal/early"}},
	{"os.Exit", []string{"cmd/async-pipeline", "cmd/scripted-model"}},
	{"os.Stdout", []string{"cmd/async-pipeline"}},
	{"os.Stderr", []string{"cmd/async-pipeline", "cmd/scripted-model"}},
	{"unsafe", []string{"internal/sandbox"}},
	{"go statement", []string{"cmd/async-pipeline", "cmd/async-pipeline/internal/console", "cmd/async-pipeline/internal/completion", "pipeline", "pipeline/rounds", "pipeline/run", "internal/sandbox", "internal/model", "internal/model/modeltest", "internal/watch", "hooks/agent/native"}},
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for file, f := range sources(t) {
		here := path.Dir(file)
		own, ok := table[here]
		if !ok {
			t.Errorf("%s: package %s is not in the table", file, here)
			continue
		}
		seen[here] = true
		for _, imp := range f.Imports {
			target, ours := strings.CutPrefix(importPath(imp), module+"/")
			if !ours {
				continue
			}
			other, ok := table[target]
			if !ok {
				t.Errorf("%s imports %s, which is not in the table", file, target)
			} else if other.layer >= own.layer {
				t.Errorf("%s (layer %d) imports %s (layer %d)", file, own.layer, target, other.layer)
			} else if other.layer > 0 && !slices.ContainsFunc(own.may, func(m string) bool { return covers(m, target) }) {
				t.Errorf("%s: package %s may not import %s", file, here, target)
			}
		}
	}
	for name := range table {
		if !seen[name] {
			t.Errorf("package %s is in the table and does not exist", name)
		}
	}
}

func TestDoors(t *testing.T) {
	for file, f := range sources(t) {
		here := path.Dir(file)
		use := func(what string, pos token.Pos) {
			for _, d := range doors {
				if covers(d.what, what) && !slices.Contains(d.packages, here) {
					t.Errorf("%s uses %s; only %s may", file, what, strings.Join(d.packages, ", "))
				}
			}
		}
		names := map[string]string{} // local name → import path
		for _, imp := range f.Imports {
			p := importPath(imp)
			use(p, imp.Pos())
			name := path.Base(p)
			if imp.Name != nil {
				name = imp.Name.Name
			}
			names[name] = p
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				use("go statement", n.Pos())
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && names[x.Name] != "" {
					use(names[x.Name]+"."+n.Sel.Name, n.Pos())
				}
			}
			return true
		})
	}
}

// A variable of a package that is a regular expression or a list of words is made by lazily: every call of the program
// would compile or split it.
func TestVariablesAreLazy(t *testing.T) {
	for file, f := range sources(t) {
		for _, d := range f.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			for _, s := range vars.Specs {
				for _, v := range s.(*ast.ValueSpec).Values {
					call, ok := v.(*ast.CallExpr)
					if !ok {
						continue
					}
					fun, ok := call.Fun.(*ast.SelectorExpr)
					if ok && (fun.Sel.Name == "MustCompile" || fmt.Sprint(fun.X) == "strings" && fun.Sel.Name == "Fields") {
						t.Errorf("%s makes %s at the start of the program; use package lazily", file, s.(*ast.ValueSpec).Names[0])
					}
				}
			}
		}
	}
}

// covers reports whether a pattern ("a/b", "a/...", "...") matches p.
func covers(pattern, p string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(p, prefix) || p == strings.TrimSuffix(prefix, "/")
	}
	return pattern == p
}

func importPath(s *ast.ImportSpec) string {
	p, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		return s.Path.Value
	}
	return p
}

// sources parses every Go file of the product, tests left out. In-process: an answer of `go list` would come from
// the test cache and miss a forbidden import.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	fset := token.NewFileSet()
	for file := range allGo(t) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.FromSlash(file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = f
	}
	if len(files) == 0 {
		t.Fatal("no sources found")
	}
	return files
}

// allGo lists every Go file of the module, slash-separated.
func allGo(t *testing.T) map[string]bool {
	t.Helper()
	files := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "examples") {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".go") {
			files[filepath.ToSlash(p)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// ARCHITECTURE.md lists the packages of the table, each with its layer.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d) \\| `([^`]+)` \\| .+ \\|$").FindAllStringSubmatch(string(text), -1) {
		listed[m[2]] = true
		if e, ok := table[m[2]]; !ok || strconv.Itoa(e.layer) != m[1] {
			t.Errorf("ARCHITECTURE.md has %s on layer %s, the table %d (there: %t)", m[2], m[1], e.layer, ok)
		}
	}
	for name := range table {
		if !listed[name] {
			t.Errorf("ARCHITECTURE.md does not list %s", name)
		}
	}
}
