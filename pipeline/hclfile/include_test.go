package hclfile_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// including is a root file with one include block, and what else is in the file.
func including(path, name, more string) string {
	return fmt.Sprintf("include %q {\n  name = %q\n}\n", path, name) + more
}

// oneTask is a file with one task.
const oneTask = "task \"test\" {\n  run = [\"true\"]\n}\n"

// faultsOf returns the faults of a tree as FILE:LINE:COLUMN: summary: detail.
func faultsOf(t *testing.T, files map[string]string, o hclfile.Options) []string {
	t.Helper()
	c, err := tree(t, files, o)
	var got pipeline.Errors
	if !errors.As(err, &got) || c != nil {
		t.Fatalf("want faults, got %v and %v", c, err)
	}
	var all []string
	for _, e := range got {
		e.Pos.File = regexp.MustCompile(`^.*/00\d/`).ReplaceAllString(e.Pos.File, "")
		all = append(all, e.Error())
	}
	return all
}

// Each fault of an include block or of a reference to what it includes, at its place.
func TestIncludeFaults(t *testing.T) {
	t.Parallel()
	const api, apiHCL = "api", "api/PIPELINE.hcl"
	depends := func(ref string) string {
		return including(apiHCL, api, "task \"a\" {\n  run        = [\"true\"]\n  depends_on = ["+ref+"]\n}\n")
	}
	for name, c := range map[string]struct{ root, want string }{
		"no file":          {including("web/PIPELINE.hcl", "web", ""), "PIPELINE.hcl:1:9: there is no file web/PIPELINE.hcl: The path is"},
		"JSON":             {including("json/PIPELINE.hcl", "web", ""), "1:9: there is no file json/PIPELINE.hcl: Did you mean json/PIPELINE.hcl.json?"},
		"empty":            {including("", "web", ""), "1:9: include names no file"},
		"absolute":         {including("/api/PIPELINE.hcl", api, ""), "1:9: the path of an include is absolute"},
		"upwards":          {including("../api/PIPELINE.hcl", api, ""), "1:9: an include leaves the folder of this file"},
		"upwards inside":   {including("api/../../x/PIPELINE.hcl", api, ""), "1:9: an include leaves the folder of this file"},
		"not clean":        {including("./api//PIPELINE.hcl", api, ""), `1:9: the path of an include is not written plainly: Write "api/PIPELINE.hcl"`},
		"backslash":        {including(`api\PIPELINE.hcl`, api, ""), "1:9: the path of an include has a backslash"},
		"folder":           {including("api", api, ""), `1:9: an included file is called PIPELINE.hcl, and not api: Write "api/PIPELINE.hcl"`},
		"other name":       {including("api/tasks.hcl", api, ""), `1:9: an included file is called PIPELINE.hcl, and not tasks.hcl: Write "api/tasks/PIPELINE.hcl"`},
		"pattern":          {including("{api}/PIPELINE.hcl", api, ""), "1:9: the path of an include has characters of a pattern"},
		"negated":          {including("!api/PIPELINE.hcl", api, ""), "1:9: the path of an include has characters of a pattern"},
		"control":          {"include \"api\\u0007/PIPELINE.hcl\" {\n  name = \"api\"\n}\n", "1:9: the path of an include has control characters"},
		"git":              {including("a/.git/PIPELINE.hcl", api, ""), "1:9: the path of an include leads into .git or .async"},
		"in a file":        {including("file/PIPELINE.hcl", api, ""), "1:9: file is not a folder"},
		"link":             {including("link/PIPELINE.hcl", api, ""), "1:9: the path of an include leads through a link: link: Name"},
		"linked file":      {including("linked/PIPELINE.hcl", api, ""), "1:9: the path of an include leads through a link: linked/PIPELINE.hcl"},
		"a folder":         {including("folder/PIPELINE.hcl", api, ""), "1:9: folder/PIPELINE.hcl cannot be read: It is a folder, not a file: name a file, or put one in its place."},
		"a pipe":           {including("pipe/PIPELINE.hcl", api, ""), "1:9: pipe/PIPELINE.hcl cannot be read: It is not a regular file: name a file, or put one in its place."},
		"itself":           {including("PIPELINE.hcl", api, ""), "1:9: files include each other: PIPELINE.hcl → PIPELINE.hcl"},
		"itself in itself": {including("again/PIPELINE.hcl", api, ""), "again/PIPELINE.hcl:1:9: files include each other: PIPELINE.hcl → again/PIPELINE.hcl → again/PIPELINE.hcl"},
		"no label":         {"include {\n  name = \"api\"\n}\n", "1:1: this include names no file: Write include"},
		"two labels":       {"include \"api/PIPELINE.hcl\" \"x\" {\n  name = \"api\"\n}\n", "1:28: include has one name only"},
		"no name":          {"include \"api/PIPELINE.hcl\" {\n}\n", `1:1: include "api/PIPELINE.hcl" has no name`},
		"no identifier":    {including(apiHCL, "a:b", ""), `2:10: "a:b" is not a valid name`},
		"name of a task":   {including(apiHCL, "test", oneTask), `4:6: "test" is declared a second time`},
		"name of a job":    {including(apiHCL, "j", oneTask+"job \"j\" {\n  tasks = [task.test]\n}\n"), `7:5: "j" is declared a second time`},
		"name twice":       {including(apiHCL, api, "") + including("json/PIPELINE.hcl.json", api, ""), `5:10: "api" is declared a second time`},
		"file twice":       {including(apiHCL, api, "") + including(apiHCL, "again", ""), "4:9: api/PIPELINE.hcl is included twice: as api and as again"},
		"word":             {"include \"api/PIPELINE.hcl\" {\n  name = \"api\"\n  vars = {}\n}\n", `3:3: there is no attribute "vars" in include`},
		"list":             {"include \"api/PIPELINE.hcl\" {\n  name      = \"api\"\n  variables = [1]\n}\n", "3:15: variables must be a map: It is a list."},

		"reference alone":      {depends("include"), "6:17: depends_on must refer to a task"},
		"bracket":              {depends(`include["api"]`), "6:17: depends_on must refer to a task"},
		"no such file":         {depends("include.apy"), `6:17: there is no include "apy": Did you mean api?`},
		"no such task":         {depends("include.api.tset"), `6:17: include "api" has no task "tset": Did you mean test?`},
		"nothing near":         {depends("include.api.zzz"), `6:17: include "api" has no task "zzz": It has each, test.`},
		"behind a task":        {depends("include.api.test.x"), "6:17: depends_on must refer to a task"},
		"key of one":           {depends(`include.api.test["x"]`), "6:17: include.api.test has no instances: Write include.api.test."},
		"key of a file":        {depends(`include.api["x"]`), "6:17: include.api has no instances: Write include.api."},
		"no such key":          {depends(`include.api.each["x1"]`), `6:33: task "api:each" has no instance "x1": Did you mean x?`},
		"key that is no value": {depends(`include.api.each[each.key]`), "6:34: each needs a for_each"},
		"quotes":               {depends(`"include.api.test"`), "6:17: depends_on must refer to a task: Write include.api.test, without quotes."},
		"a job of it":          {depends("include.api.all"), `6:17: include "api" has no task "all"`},
		"not a value":          {including(apiHCL, api, "task \"a\" {\n  run = [include.api.test]\n}\n"), "5:10: include.… names a block and is not a value"},
		"as task":              {depends("task.api.test"), `6:17: there is no task "api": It is an include. Write include.api for all of its tasks, or include.api.NAME for one.`},
		"as it is called":      {depends(`"api:test"`), "6:17: depends_on must refer to a task: Write include.api.test, without quotes."},
		"agent of it":          {depends("") + "agent \"x\" {\n  command = [\"x\"]\n}\ntask \"f\" {\n  run = [\"x\"]\n  on_fail \"agent\" {\n    use = include.api.mine\n    budget {\n      attempts   = 1\n      wall_clock = \"1m\"\n    }\n  }\n}\n", "14:11: use must refer to an agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{
				"PIPELINE.hcl": c.root, "file": "", "link-to/PIPELINE.hcl": oneTask, "linked/other": oneTask, "again/PIPELINE.hcl": including("PIPELINE.hcl", "x", ""),
				"api/PIPELINE.hcl":       oneTask + "task \"each\" {\n  for_each = [\"x\", \"y\"]\n  run      = [\"true\"]\n}\njob \"all\" {\n  tasks = [task.test]\n}\nagent \"mine\" {\n  command = [\"x\"]\n}\n",
				"json/PIPELINE.hcl.json": `{"task": {"test": {"run": ["true"]}}}`,
			} {
				path := filepath.Join(dir, file)
				check(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
			}
			check(t, os.Symlink("link-to", filepath.Join(dir, "link")), os.Symlink("other", filepath.Join(dir, "linked", "PIPELINE.hcl")),
				os.MkdirAll(filepath.Join(dir, "folder", "PIPELINE.hcl"), 0o700),
				os.Mkdir(filepath.Join(dir, "pipe"), 0o700), syscall.Mkfifo(filepath.Join(dir, "pipe", "PIPELINE.hcl"), 0o600))
			err := loadInTime(t, filepath.Join(dir, "PIPELINE.hcl"))
			var got pipeline.Errors
			if !errors.As(err, &got) || len(got) != 1 || !strings.Contains(got[0].Error(), c.want) {
				t.Errorf("want one fault %q, got %v", c.want, err)
			}
			if len(got) > 0 && got[0].Suggestion == "" && strings.Contains(got[0].Detail, "Did you mean") && name != "JSON" {
				t.Errorf("a suggestion that is only in the text: %+v", got[0])
			}
		})
	}
}

// The faults of all files are told at once, those of the root file first, each once, and none that follows from another.
func TestFaultsOfAllFiles(t *testing.T) {
	t.Parallel()
	got := faultsOf(t, map[string]string{
		"PIPELINE.hcl": including("a/PIPELINE.hcl", "a", "") + including("b/PIPELINE.hcl", "b", "") + including("c/PIPELINE.hcl", "c", "") +
			"task \"x\" {\n  rnu        = 1\n  depends_on = [include.b.test, include.c, include.a.inner.test]\n}\n",
		"a/PIPELINE.hcl":       including("inner/PIPELINE.hcl", "inner", "task \"y\" {\n}\n"),
		"a/inner/PIPELINE.hcl": "task \"test\" {\n  run    = [\"true\"]\n  inputs = [\"../x\"]\n  dir    = \"../..\"\n}\n",
		"b/PIPELINE.hcl":       "task \"test\" {\n  run = [\n}\n",
		"c/PIPELINE.hcl":       "a = " + strings.Repeat("(", 100000),
	}, hclfile.Options{})
	want := []string{
		`PIPELINE.hcl:11:3: there is no attribute "rnu" in task`,
		`a/PIPELINE.hcl:4:1: task "y" has nothing to run`,
		"a/inner/PIPELINE.hcl:3:13: a pattern in inputs leaves the root",
		"a/inner/PIPELINE.hcl:4:12: dir leaves the root",
		"b/PIPELINE.hcl:3:1: Invalid expression",
		"c/PIPELINE.hcl:1:", // nested too deep
	}
	if len(got) != len(want) {
		t.Fatalf("got\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %s, want %s", got[i], want[i])
		}
	}
}

// However files are nested and multiplied, there are bounds.
func TestIncludeLimits(t *testing.T) {
	t.Parallel()
	deep, wide, large := map[string]string{}, map[string]string{}, map[string]string{}
	at := ""
	for range 12 {
		deep[at+"PIPELINE.hcl"] = including("d/PIPELINE.hcl", "d", "")
		at += "d/"
	}
	deep[at+"PIPELINE.hcl"] = oneTask
	for i := range 201 {
		dir := fmt.Sprint("d", i)
		wide["PIPELINE.hcl"] += including(dir+"/PIPELINE.hcl", dir, "")
		wide[dir+"/PIPELINE.hcl"] = oneTask
	}
	for i := range 17 {
		dir := fmt.Sprint("d", i)
		large["PIPELINE.hcl"] += including(dir+"/PIPELINE.hcl", dir, "")
		large[dir+"/PIPELINE.hcl"] = strings.Repeat("#", 1<<20)
	}
	instances := map[string]string{}
	for i := range 21 {
		dir := fmt.Sprint("d", i)
		instances["PIPELINE.hcl"] += including(dir+"/PIPELINE.hcl", dir, "")
		instances[dir+"/PIPELINE.hcl"] = "task \"t\" {\n  for_each = [for i in range(1000) : \"${i}\"]\n  run = [\"true\"]\n}\n"
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"deep":      {deep, "d/d/d/d/d/d/d/d/d/d/PIPELINE.hcl:1:9: includes are nested more than 10 deep"},
		"wide":      {wide, "PIPELINE.hcl:601:9: more than 200 files are included"},
		"large":     {large, "PIPELINE.hcl:49:9: the included files are larger than 16 MiB together"},
		"instances": {instances, "d20/PIPELINE.hcl:2:14: there are more than 20000 instances"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := faultsOf(t, c.files, hclfile.Options{}); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("got %d: %s", len(got), got[0])
			}
		})
	}
	deep = maps.Clone(deep)
	deep["d/d/d/d/d/d/d/d/d/d/PIPELINE.hcl"] = oneTask
	if c, err := tree(t, deep, hclfile.Options{}); err != nil || c.Tasks[0].Name != strings.Repeat("d:", 10)+"test" {
		t.Errorf("ten are allowed: %v", err)
	}
}

// Where a variable of an included file gets its value, and which faults there are.
func TestVariablesOfIncludes(t *testing.T) {
	t.Parallel()
	const inner = "variable \"v\" {\n  type    = string\n  default = \"default\"\n}\nvariable \"list\" {\n  default = []\n}\n" +
		"variable \"key\" {\n  default   = \"\"\n  sensitive = true\n}\ntask \"t\" {\n  run = [\"echo\", var.v, \"${length(var.list)}\"]\n  env = { KEY = var.key }\n}\n"
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"ASYNC_PIPELINE_VAR_v": "of the environment", "TOKEN": token}[name]
		return value, ok
	}
	for name, c := range map[string]struct{ given, flag, want, fault string }{
		"default":              {want: "default"},
		"given":                {given: `v = "given"`, want: "given"},
		"made":                 {given: `v = "${var.v}-${local.l}"`, want: "of the environment-local"},
		"converted":            {given: "v = 4", want: "4"},
		"list":                 {given: `v = "x", list = ["a"]`, want: "x"},
		"flag":                 {given: `v = "given"`, flag: "api:v", want: "of the flag"},
		"flag of the root":     {given: `v = "given"`, flag: "v", want: "given"},
		"secret to sensitive":  {given: `key = var.root_key`, want: "default"},
		"null":                 {given: "v = null", fault: "PIPELINE.hcl:13:21: v is null"},
		"type":                 {given: `v = ["x"]`, fault: `PIPELINE.hcl:13:21: the value of "v" does not have the type string`},
		"unknown":              {given: "vv = 1", fault: `PIPELINE.hcl:13:17: include "api" has no variable "vv": Did you mean v?`},
		"twice":                {given: `v = "x", "v" = "y"`, fault: "PIPELINE.hcl:13:26: variables has v twice"},
		"secret":               {given: `key = secret("TOKEN")`, fault: `PIPELINE.hcl:13:23: the value of key is made from secret("TOKEN")`},
		"absent secret":        {given: `key = secret("NONE")`, fault: `PIPELINE.hcl:13:23: the value of key is made from secret("NONE")`},
		"secret to not secret": {given: `v = var.root_key`, fault: `PIPELINE.hcl:13:21: the value of "v" is secret, and the variable is not: Write sensitive = true in variable "v" of api/PIPELINE.hcl.`},
		"not its value":        {given: "v = var.list", fault: `PIPELINE.hcl:13:21: there is no variable "list"`},
		"unknown flag":         {flag: "api:w", fault: `api/PIPELINE.hcl: --var gives "api:w", but there is no variable of that name`},
		"unknown include":      {flag: "apy:v", fault: `PIPELINE.hcl: --var gives "apy:v", but there is no include "apy": Did you mean api:v?`},
		"colon":                {flag: ":v", fault: `PIPELINE.hcl: --var gives ":v", but there is no include ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"PIPELINE.hcl": "variable \"v\" {\n  default = \"root\"\n}\nvariable \"root_key\" {\n  default   = \"" + token + "\"\n  sensitive = true\n}\nlocals {\n  l = \"local\"\n}\n" +
					"include \"api/PIPELINE.hcl\" {\n  name      = \"api\"\n  variables = { " + c.given + " }\n}\n",
				"api/PIPELINE.hcl": inner,
			}
			o := hclfile.Options{Env: env, Vars: map[string]string{}}
			if c.flag != "" {
				o.Vars[c.flag] = "of the flag"
			}
			if c.fault != "" {
				if got := faultsOf(t, files, o); len(got) != 1 || !strings.HasPrefix(got[0], c.fault) {
					t.Errorf("got %v", got)
				}
				return
			}
			got, err := tree(t, files, o)
			check(t, err)
			if v := got.Tasks[0].Run.Argv[1].Value; v != c.want {
				t.Errorf("got %q, want %q", v, c.want)
			}
			if strings.HasPrefix(c.given, "key") {
				key := got.Tasks[0].Env[0]
				if key.Value != token || key.Show() == token || !slices.ContainsFunc(got.Secrets, func(s pipeline.Secret) bool { return s.Value == token }) {
					t.Errorf("a sensitive value is not secret any more: %+v, %v", key, got.Secrets)
				}
			}
		})
	}
	// What has no value, and a file of variables, which is for the root file.
	files := map[string]string{"PIPELINE.hcl": including("api/PIPELINE.hcl", "api", ""), "api/PIPELINE.hcl": "variable \"v\" {\n}\n", "vars": "v = 1\n"}
	if got := faultsOf(t, files, hclfile.Options{Env: env}); len(got) != 1 || got[0] != `api/PIPELINE.hcl:1:1: variable "v" has no value: Give one with --var api:v=VALUE, in variables of the include block, or write a default.` {
		t.Errorf("got %v", got)
	}
	vars := filepath.Join(t.TempDir(), "vars")
	check(t, os.WriteFile(vars, []byte("v = 1\n"), 0o600))
	if got := faultsOf(t, files, hclfile.Options{VarFiles: []string{vars}}); len(got) != 2 || !strings.Contains(got[0], `there is no variable "v"`) {
		t.Errorf("got %v", got)
	}
}

// A secret of one file is shown in no fault of another.
func TestSecretsAcrossFiles(t *testing.T) {
	t.Parallel()
	got := faultsOf(t, map[string]string{
		"PIPELINE.hcl":     "variable \"key\" {\n  default   = \"hunter2hunter2\"\n  sensitive = true\n}\n" + including("api/PIPELINE.hcl", "api", ""),
		"api/PIPELINE.hcl": "task \"t\" {\n  run     = [\"true\"]\n  timeout = \"hunter2hunter2\"\n  env     = { \"hunter2hunter2 x\" = 1 }\n}\n",
	}, hclfile.Options{})
	if len(got) != 2 || strings.Contains(fmt.Sprint(got), "hunter2") {
		t.Errorf("got %v", got)
	}
}

// Outputs that two files claim are a fault at the second.
func TestOverlapAcrossFiles(t *testing.T) {
	t.Parallel()
	made := func(output string) string {
		return "task \"gen\" {\n  run     = [\"true\"]\n  inputs  = [\"a\"]\n  outputs = [\"" + output + "\"]\n}\n"
	}
	files := map[string]string{"PIPELINE.hcl": made("api/out/**") + including("api/PIPELINE.hcl", "api", ""), "api/PIPELINE.hcl": made("out/x")}
	got := faultsOf(t, files, hclfile.Options{})
	if len(got) != 1 || !strings.HasPrefix(got[0], `api/PIPELINE.hcl:4:3: tasks "gen" and "api:gen" both make api/out/x`) {
		t.Errorf("got %v", got)
	}
	files["PIPELINE.hcl"] = made("out/**") + including("api/PIPELINE.hcl", "api", "")
	if _, err := tree(t, files, hclfile.Options{}); err != nil {
		t.Errorf("each in its folder: %v", err)
	}
}

// What is in an included file is not seen outside, and the other way round.
func TestIncludesAreApart(t *testing.T) {
	t.Parallel()
	got := faultsOf(t, map[string]string{
		"PIPELINE.hcl":     "variable \"outer\" {\n  default = 1\n}\nlocals {\n  l = 1\n}\n" + oneTask + including("api/PIPELINE.hcl", "api", "task \"a\" {\n  run = [\"${var.inner}\", \"${local.i}\"]\n}\n"),
		"api/PIPELINE.hcl": "variable \"inner\" {\n  default = 1\n}\nlocals {\n  i = 1\n}\ntask \"b\" {\n  run        = [\"${var.outer}\", \"${local.l}\"]\n  depends_on = [task.test]\n}\n",
	}, hclfile.Options{})
	want := []string{`there is no variable "inner"`, `there is no local "i"`, `there is no variable "outer"`, `there is no local "l"`, `there is no task "test"`}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("got %s, want %s", got[i], want[i])
		}
	}
}

// What an included task without instances, a warning and a cycle become.
func TestEmptyTasksOfIncludes(t *testing.T) {
	t.Parallel()
	c, err := tree(t, map[string]string{
		"PIPELINE.hcl":     including("api/PIPELINE.hcl", "api", "task \"a\" {\n  run        = [\"true\"]\n  depends_on = [include.api.none, include.api]\n}\n"),
		"api/PIPELINE.hcl": "task \"none\" {\n  for_each = []\n  run      = [\"true\"]\n}\n",
	}, hclfile.Options{})
	check(t, err)
	if diff := cmp.Diff([]string{"api:none"}, c.Empty); diff != "" || len(c.Tasks) != 1 || len(c.Tasks[0].DependsOn) > 0 {
		t.Errorf("%s%+v", diff, c.Tasks)
	}
	if len(c.Warnings) != 1 || !strings.HasSuffix(c.Warnings[0].Pos.File, "/api/PIPELINE.hcl") {
		t.Errorf("%v", c.Warnings)
	}
}

// A file that went into a value for an included file is an input of the tasks that use the value, wherever it is.
func TestFilesInValuesForIncludes(t *testing.T) {
	t.Parallel()
	inner := "variable \"v\" {\n}\ntask \"uses\" {\n  run = [\"echo\", var.v, file(\"own\")]\n}\ntask \"not\" {\n  run = [\"true\"]\n}\n"
	c, err := tree(t, map[string]string{
		"PIPELINE.hcl":     "include \"a/b/PIPELINE.hcl\" {\n  name      = \"b\"\n  variables = { v = file(\"notes\") }\n}\n",
		"a/b/PIPELINE.hcl": inner + "include \"c/PIPELINE.hcl\" {\n  name      = \"c\"\n  variables = { v = \"${var.v}${file(\"own\")}\" }\n}\n", "a/b/c/PIPELINE.hcl": inner,
		"notes": "n", "a/b/own": "o", "a/b/c/own": "o",
	}, hclfile.Options{})
	check(t, err)
	for name, want := range map[string][]string{
		"b:uses": {"a/b/own", "notes"}, "b:not": nil, "b:c:uses": {"a/b/c/own", "a/b/own", "notes"}, "b:c:not": nil,
	} {
		if diff := cmp.Diff(want, c.Task(name).Reads, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What file functions looked for is known of each task and of the whole, from the root, also where they found nothing.
func TestAskedFiles(t *testing.T) {
	t.Parallel()
	inner := "variable \"v\" {\n}\ntask \"in\" {\n  run = [\"echo\", var.v, try(file(\"./gone[1]\"), \"\")]\n  env = { N = join(\" \", fileset(\"*.c\")) }\n}\n"
	c, err := tree(t, map[string]string{
		"PIPELINE.hcl": "locals {\n  all = fileset(\"./!data/{a,b}/**\")\n}\ntask \"local\" {\n  run = concat([\"x\"], local.all)\n}\n" +
			"task \"each\" {\n  for_each = fileset(\"each/*\")\n  run      = [\"x\"]\n}\ntask \"not\" {\n  run = [\"x\"]\n}\n" +
			"include \"a/b/PIPELINE.hcl\" {\n  name      = \"b\"\n  variables = { v = join(\" \", concat(fileset(\"up/*\"), [try(file(\"none\"), \"\")])) }\n}\n",
		"a/b/PIPELINE.hcl": inner, "each/one": "",
	}, hclfile.Options{})
	check(t, err)
	for name, want := range map[string][2][]string{
		"local": {{`\!data/{a,b}/**`}, nil}, `each["each/one"]`: {{"each/*"}, nil}, "not": {},
		"b:in": {{"a/b/*.c", "up/*"}, {"a/b/gone[1]", "none"}},
	} {
		if diff := cmp.Diff(want, [2][]string{c.Task(name).Filesets, c.Task(name).Asked}, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	want := [2][]string{{"a/b/*.c", `\!data/{a,b}/**`, "each/*", "up/*"}, {"a/b/gone[1]", "none"}}
	if diff := cmp.Diff(want, [2][]string{c.Filesets, c.Asked}); diff != "" {
		t.Error(diff)
	}
}

// Both files in JSON say what they say in HCL.
func TestIncludeInJSON(t *testing.T) {
	t.Parallel()
	load := func(files map[string]string) *pipeline.Config {
		t.Helper()
		c, err := tree(t, files, hclfile.Options{})
		check(t, err)
		return c
	}
	native := load(map[string]string{
		"PIPELINE.hcl": "include \"api/PIPELINE.hcl\" {\n  name      = \"api\"\n  variables = { v = \"x\" }\n}\n" +
			"task \"a\" {\n  run        = [\"true\"]\n  depends_on = [include.api.each[\"k\"], include.api.test]\n}\njob \"j\" {\n  tasks = [include.api]\n}\n",
		"api/PIPELINE.hcl": "variable \"v\" {\n}\ntask \"test\" {\n  run = [\"echo\", var.v]\n}\ntask \"each\" {\n  for_each = [\"k\"]\n  run      = [\"true\"]\n}\n",
	})
	json := load(map[string]string{
		"PIPELINE.hcl.json": `{"include": {"api/PIPELINE.hcl.json": {"name": "api", "variables": {"v": "x"}}},
			"task": {"a": {"run": ["true"], "depends_on": ["include.api.each[\"k\"]", "include.api.test"]}}, "job": {"j": {"tasks": ["include.api"]}}}`,
		"api/PIPELINE.hcl.json": `{"variable": {"v": {}}, "task": {"test": {"run": ["echo", "${var.v}"]}, "each": {"for_each": ["k"], "run": ["true"]}}}`,
	})
	same := cmp.Options{cmpopts.IgnoreUnexported(pipeline.Config{}), cmpopts.IgnoreFields(pipeline.Config{}, "File", "Root", "Name", "Included"), cmpopts.IgnoreTypes(pipeline.Pos{})}
	if diff := cmp.Diff(native, json, same); diff != "" {
		t.Errorf("native and JSON differ:\n%s", diff)
	}
	if diff := cmp.Diff([]string{json.File, filepath.Join(json.Root, "api", "PIPELINE.hcl.json")}, json.Files()); diff != "" {
		t.Error(diff)
	}
	got := faultsOf(t, map[string]string{
		"PIPELINE.hcl.json": `{"include": {"api/PIPELINE.hcl": {"name": "api"}, "PIPELINE.hcl.json": {"name": "me"}},
 "task": {"a": {"run": ["true"], "depends_on": ["include.api.tset"]}}}`,
		"api/PIPELINE.hcl": oneTask,
	}, hclfile.Options{})
	if len(got) != 2 || !strings.HasPrefix(got[0], "PIPELINE.hcl.json:1:51: files include each other") || !strings.HasPrefix(got[1], `PIPELINE.hcl.json:2:50: include "api" has no task "tset"`) {
		t.Errorf("got %v", got)
	}
}

// A file may be taken to be in another folder than the one in which it and what it asks for are read.
func TestRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"PIPELINE.hcl":   "task \"a\" {\n  run = [\"x\", path.root, file(\"own\")]\n}\ninclude \"b/PIPELINE.hcl\" {\n  name = \"b\"\n}\n",
		"own":            "text",
		"b/PIPELINE.hcl": "task \"a\" {\n  run = concat([\"x\", path.root], fileset(\"*.c\"))\n}\n",
		"b/one.c":        "",
	} {
		check(t, os.MkdirAll(filepath.Join(dir, "b"), 0o700))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	c, err := hclfile.Load(filepath.Join(dir, "PIPELINE.hcl"), hclfile.Options{Root: "/other/root"})
	check(t, err)
	got := fmt.Sprintln(c.Root, c.File, c.Name, c.Included, c.Task("a").Run.Words(), c.Task("b:a").Run.Words(), c.Task("b:a").Reads)
	if want := "/other/root /other/root/PIPELINE.hcl root [b/PIPELINE.hcl] [x /other/root text] [x /other/root/b one.c] [b/one.c]\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
