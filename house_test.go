// The house: which room may stand on which, and who holds the keys to the outside. ARCHITECTURE.md tells why.
package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/async-pipeline/async-pipeline"

// A room stands on a floor and may import the rooms named, all of them on lower floors.
type room struct {
	floor int
	may   []string // rooms, or a folder and all below it ("internal/...")
}

// floors is the law. Where an import does not fit, mend the import, not the table; a new room gets its line in the commit
// that makes it.
var floors = map[string]room{
	"cmd/async-pipeline":               {6, []string{"..."}},
	"cmd/scripted-model":               {6, []string{"internal/model/modeltest"}},
	"cmd/async-pipeline/internal/view": {5, []string{"pipeline", "pipeline/record", "hooks/fix", "internal/patch"}},
	"hooks":                            {4, []string{"pipeline", "pipeline/record", "scratch", "hooks/fix", "hooks/agent", "hooks/judge", "internal/..."}},
	"pipeline/run":                     {4, []string{"pipeline", "pipeline/record", "internal/sandbox", "internal/redact"}},
	"hooks/agent/cli":                  {3, []string{"hooks/agent", "internal/..."}},
	"hooks/agent/native":               {3, []string{"hooks/agent", "internal/..."}},
	"hooks/fix":                        {3, []string{"internal/patch", "internal/tree", "internal/git", "internal/redact", "internal/journal", "internal/filename", "internal/advice"}},
	"pipeline/hclfile":                 {3, []string{"pipeline"}},
	"pipeline/record":                  {3, []string{"internal/process", "internal/journal", "internal/filename", "internal/advice"}},
	"pipeline/report":                  {4, []string{"pipeline/record"}},
	"pipeline/detect":                  {3, []string{"internal/late"}},
	"pipeline/diagram":                 {2, []string{"pipeline"}},
	"hooks/agent":                      {2, []string{"internal/redact"}},
	"hooks/judge":                      {2, []string{"internal/patch", "internal/late"}},
	"scratch":                          {2, []string{"internal/tree", "internal/patch", "internal/git", "internal/process"}},
	"pipeline":                         {1, nil},
	"internal/sandbox":                 {1, []string{"internal/redact", "internal/process"}},
	"internal/model":                   {1, nil},
	"internal/model/modeltest":         {2, []string{"internal/model"}},
	"internal/policy":                  {1, nil},
	"internal/tree":                    {1, nil},
	"internal/patch":                   {1, []string{"internal/late"}},
	"internal/git":                     {1, []string{"internal/late"}},
	"internal/redact":                  {0, nil},
	"internal/process":                 {0, nil},
	"internal/journal":                 {0, nil},
	"internal/filename":                {0, nil},
	"internal/advice":                  {0, nil},
	"internal/late":                    {0, nil},
	"internal/english":                 {0, nil},
	"internal/timestamp":               {0, nil},
}

// doors says which rooms may use what reaches out of the program: an import path, or a package and a name of it.
var doors = []struct {
	what  string
	rooms []string
}{
	{"os/exec", []string{"internal/sandbox", "internal/git"}},
	{"syscall.ForkExec", []string{"internal/sandbox"}},
	{"syscall.Exec", []string{"internal/sandbox"}},
	{"os.StartProcess", []string{"internal/sandbox"}},
	{"net/http", []string{"internal/model", "internal/model/modeltest", "cmd/scripted-model"}},
	{"net", []string{"internal/model", "internal/model/modeltest", "cmd/scripted-model"}},
	{"github.com/hashicorp/hcl/v2/...", []string{"pipeline/hclfile"}},
	{"github.com/zclconf/go-cty/...", []string{"pipeline/hclfile"}},
	{"github.com/spf13/cobra", []string{"cmd/async-pipeline"}},
	{"github.com/bluekeyes/go-gitdiff/gitdiff", []string{"internal/patch"}},
	{"github.com/sergi/go-diff/diffmatchpatch", []string{"internal/patch"}},
	{"github.com/landlock-lsm/go-landlock/...", []string{"internal/sandbox"}},
	{"os.Getenv", []string{"cmd/async-pipeline"}},
	{"os.LookupEnv", []string{"cmd/async-pipeline"}},
	{"os.Environ", []string{"cmd/async-pipeline"}},
	{"os.Args", []string{"cmd/async-pipeline"}},
	{"os.Exit", []string{"cmd/async-pipeline", "cmd/scripted-model"}},
	{"os.Stdout", []string{"cmd/async-pipeline"}},
	{"os.Stderr", []string{"cmd/async-pipeline", "cmd/scripted-model"}},
	{"unsafe", []string{"internal/sandbox"}},
	{"go statement", []string{"cmd/async-pipeline", "pipeline", "internal/sandbox", "internal/model", "internal/model/modeltest", "hooks/agent/native"}},
}

func TestFloors(t *testing.T) {
	seen := map[string]bool{}
	for file, f := range sources(t) {
		here := path.Dir(file)
		law, ok := floors[here]
		if !ok {
			t.Errorf("%s: room %s has no floor", file, here)
			continue
		}
		seen[here] = true
		for _, imp := range f.Imports {
			target, ours := strings.CutPrefix(importPath(imp), module+"/")
			if !ours {
				continue
			}
			other, ok := floors[target]
			if !ok {
				t.Errorf("%s imports %s, which has no floor", file, target)
			} else if other.floor >= law.floor {
				t.Errorf("%s (floor %d) imports %s (floor %d)", file, law.floor, target, other.floor)
			} else if !slices.ContainsFunc(law.may, func(m string) bool { return covers(m, target) }) {
				t.Errorf("%s: room %s may not import %s", file, here, target)
			}
		}
	}
	for name := range floors {
		if !seen[name] {
			t.Errorf("room %s is in the table and not in the house", name)
		}
	}
}

func TestDoors(t *testing.T) {
	for file, f := range sources(t) {
		here := path.Dir(file)
		use := func(what string, pos token.Pos) {
			for _, d := range doors {
				if covers(d.what, what) && !slices.Contains(d.rooms, here) {
					t.Errorf("%s uses %s; only %s may", file, what, strings.Join(d.rooms, ", "))
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

// A file that has outgrown one concept is split before it is added to.
func TestFilesStaySmall(t *testing.T) {
	const most = 500
	for file := range allGo(t) {
		b, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), "\n"); n > most {
			t.Errorf("%s has %d lines; split it (at most %d)", file, n, most)
		}
	}
}

// covers says whether a pattern ("a/b", "a/...", "...") names p.
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

// sources parses every Go file of the product, tests left out. In-process: an answer of `go list` would come from the test
// cache and miss a forbidden import.
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
