package hclfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:generate go test -run TestReference -update .

// types explains the types of attributes, in the order in which a reader meets them.
var types = []struct{ name, doc string }{
	{"string", "Text in quotes, or a heredoc."},
	{"number", "A number, without quotes; a whole one where it counts something."},
	{"bool", "true or false, without quotes."},
	{"duration", "Text such as \"500ms\", \"30s\", \"5m\" or \"1h30m\", longer than nothing."},
	{"path", "Text: a path relative to the root, inside it, with slashes. In an included file the folder of that file stands for the root, also in a glob."},
	{"glob", "Text: a pattern of paths relative to the root, inside it. `*` is anything but a slash, `**` any folders, `{a,b}` either, `[a-z]` one of these."},
	{"command", "A list is a program and its arguments: no shell. Text is for `/bin/sh -eu -c`: see [Shell text](#shell-text)."},
	{"task", "A reference, without quotes: task.NAME, include.NAME.TASK, or include.NAME for all tasks of an included file."},
	{"agent", "A reference, without quotes: agent.NAME."},
	{inputsType, "A list of patterns, or the word auto, without quotes."},
	{"type", "The name of a type, without quotes."},
	{"any", "Any value."},
	{"list(…)", "A list: [a, b]."},
	{"map(…)", "A map: { NAME = VALUE }."},
	{"set, list or map", "A list or set of texts, each of which is written once, or a map."},
}

const referenceHead = `# PIPELINE.hcl

<!-- Generated from the table of words in pipeline/hclfile. Do not edit: go generate ./pipeline/hclfile -->

` + "`PIPELINE.hcl`" + ` is found by walking up from the working directory; its folder is the *root*. It is written in
[HCL](https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md): blocks, ` + "`NAME = VALUE`" + `, ` + "`# comments`" + `. A block on one line can have one
argument only. Reading the file runs nothing: no process, no network, no model. What it may ask for are the environment
(env, secret) and files inside the root (file, fileset, filesha256).

` + "`PIPELINE.hcl.json`" + ` is the same in JSON: a block is an object, that of a block with a name is an object of names
(` + "`{\"task\": {\"build\": {\"run\": [\"make\"]}}}`" + `), several blocks are a list, and null is an error.
References and types are text, ` + "`\"task.build\"`" + `; other expressions are written in text as ` + "`\"${var.name}\"`" + `. A folder has one of the two files.

Whatever is not on this page is an error with its place. All errors of a file are reported at once, except those that an error of the syntax hides.

## Values

| value | what it is |
|---|---|
| ` + "`var.NAME`" + ` | the value of a variable |
| ` + "`local.NAME`" + ` | a value of a locals block |
| ` + "`each.key`, `each.value`" + ` | in a task with for_each: the element of this instance |
| ` + "`matrix.AXIS`" + ` | in a task with matrix: this instance's element of that list |
| ` + "`path.root`" + ` | the absolute path of the root |

` + "`task.NAME` and `agent.NAME`" + ` are references, not values: they are used in depends_on, verify, tasks and use only.

The letters of all values are composed (Unicode NFC): an é that the file has as e and an accent is one letter in the value. So such a path or
pattern names no file whose name has the two, and fileset() refuses to find one. What --var, env() or secret() gives is handed on as it is
where a whole text is that, and a secret also as a part of a text; elsewhere its letters are composed. pass_env changes nothing.

## How a variable gets its value

The first of these that gives one:

1. ` + "`--var NAME=VALUE`" + `
2. ` + "`--var-file PATH`" + `, of several the last: lines of ` + "`NAME = VALUE`" + `, or a JSON object where the path ends in ` + "`.json`" + `. It contains no names and no
   functions. A pipe, such as ` + "`<(command)`" + ` of a shell, is read as lines. A name that is no variable is an error.
3. the environment variable ` + "`" + VarPrefix + "NAME`" + `
4. the default

What comes from --var or the environment is text, as it is, where the type is string, number, bool or none; a list, map or
object is written as in the file: ` + "`--var 'tags=[\"a\", \"b\"]'`" + `. Each value must have the type, also one that another wins over.

## Included files

An ` + "`include`" + ` block adds the tasks, jobs and agents of another PIPELINE.hcl, in a folder below, so that a monorepo is one graph. That file is
written as if it were alone, and ` + "`async-pipeline run`" + ` in its folder runs it alone, with its own ` + "`.async`" + `.

- Its names get the name of the include and a colon in front, on the command line and on the screen: ` + "`run api:test`" + `, ` + "`run api:build:linux,amd64`" + `,
  ` + "`run api:verify`" + ` for its job verify. ` + "`run api`" + ` is all its tasks. ` + "`run`" + ` without a name is every task, included ones too, or the job default of
  the file that is run. A file that it includes as db has ` + "`api:db:test`" + `.
- The including file names its tasks as ` + "`include.api.test`" + `, ` + "`include.api.build[\"linux\"]`" + `, ` + "`include.api.db.test`" + `, or ` + "`include.api`" + ` for all of
  them, in depends_on, tasks and verify. The included file names nothing of the file that includes it.
- Its paths, path.root and file functions are relative to its own folder, and inside it; where a task says no dir, it works there. An agent of
  it works in the root of the run; where its command is a path, that is relative to the included file.
- Its variables and locals are its own. A variable gets its value from ` + "`--var api:NAME=VALUE`" + `, else from ` + "`variables`" + ` of the include block, else
  from its default. --var-file and ` + "`ASYNC_PIPELINE_VAR_NAME`" + ` are for the file that is run. ` + "`secret(\"NAME\")`" + ` and env read the same environment.
- pass_env of its pipeline block is for its tasks and those of what it includes. name, concurrency and keep_runs count where it is run itself.
- The path is written plainly: relative, with slashes, without ` + "`..`" + `, and no part of it is a link. The file is called PIPELINE.hcl or
  PIPELINE.hcl.json. A file is included once: its tasks would otherwise run twice on the same files. At most 200 files with 16 MiB together
  are included, at most 10 deep.
- A change of any of the files affects every task (` + "`--affected`" + `, ` + "`--watch`" + `). A fix that touches one is flagged, as one that touches PIPELINE.hcl.

## Types

`

const referenceShell = `
## Shell text

Where run is text, /bin/sh reads it after HCL has:

- ` + "`$NAME` and `$(command)`" + ` pass through to the shell as they are.
- ` + "`${…}`" + ` is a value of the pipeline: ` + "`${var.name}`" + `. ` + "`${HOME}`" + ` is an error, because HOME is no value of the pipeline: write ` + "`$HOME`" + `, or
  ` + "`$${HOME}`" + `, which the shell sees as ` + "`${HOME}`" + `.
- ` + "`%{…}`" + ` is a directive of HCL: write ` + "`%%{http_code}`" + ` where the program should see ` + "`%{http_code}`" + `.
- A variable inside shell text gets a warning, because the shell reads what is in it. Hand it over in env, and write ` + "`\"$NAME\"`" + ` in the
  text. Numbers and bools are no danger and get none.
- The shell is run with -e and -u: the first command that fails ends the text, and so does a variable that is not set.
- Carriage returns are taken out, so that a file saved with ` + "`\\r\\n`" + ` works.

## A task's environment

It is built, not inherited: PATH, HOME, USER, LANG, LC_*, TZ, TERM and TMPDIR, then what pass_env of the pipeline and of the
task let through, then the dotenv files, then env. The later wins; PWD and ASYNC_PIPELINE_RUNNER are given at the start. A name that env or a dotenv file sets consists of a-z, A-Z,
0-9, _ and ., and begins with a letter or _. A dotenv file may not set ASYNC_PIPELINE_….

A dotenv file has lines of ` + "`NAME=VALUE`, `NAME: VALUE` or `export NAME=VALUE`" + `, and comments behind a #. A value without quotes goes
to the end of the line, or to a # behind a space; its \ is an ordinary character, except in ` + "`\\$`" + `. In single quotes everything is taken
literally. In double quotes ` + "`\\n`, `\\r`, `\\\"`, `\\\\` and `\\$`" + ` are what they are elsewhere, and any other \ is an error. Values in quotes may
have several lines. ` + "`$NAME` and `${NAME}`" + `, outside single quotes, are what the same file has set above; one that is set nowhere
above, ` + "`$(…)` and `${NAME:-…}`" + ` are errors. A file and its values have at most 1 MiB; a file that does not exist is passed over.

## Secrets

` + "`secret(\"NAME\")`" + ` is the environment variable NAME, and a variable with ` + "`sensitive = true`" + ` is a secret too. Secrets may be used in env and in
run only, also as a part of a text. Their values, and what is made from them, are removed from everything that is shown or recorded;
so are the passwords of URLs in them. A value of 4 or 5 bytes is removed where it is a word by itself; a shorter one, and a short word such as
true or test, cannot be, and a warning says so. What pass_env of a task lets through is not hidden, passwords of
URLs too: a warning names secret for a variable whose name ends in _TOKEN, _KEY, _SECRET or _PASSWORD. In the copy that an agent works
in secrets are withheld unless pass_secrets is true.

## Limits

A file is at most 1 MiB, and brackets, operators and templates nest at most 200 deep. What file() reads is at most 1 MiB a file and
16 MiB in all; fileset() finds at most 10,000 files.
`

// Reference returns docs/language.md, generated from the same table.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("| type | how it is written |\n|---|---|\n")
	for _, t := range types {
		fmt.Fprintf(&b, "| %s | %s |\n", t.name, cell(t.doc))
	}
	b.WriteString("\n## Blocks\n")
	for _, w := range language.inner {
		referBlock(&b, w, "", "")
	}
	b.WriteString(referenceShell)
	b.WriteString("\n## Functions\n\nA call is `NAME(a, b)`; an argument that may be repeated has … behind it.\n\n| function | what it gives |\n|---|---|\n")
	all := newEvaluator(newReport("", nil), "", "", newReading(Options{})).funcs
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", signature(name, all[name]), cell(functionDoc(name, all[name])))
	}
	return []byte(b.String())
}

// referBlock writes the section of a block and those of the blocks in it. shown is the example that is already above.
func referBlock(b *strings.Builder, w *word, above, shown string) {
	if w.later != "" {
		return
	}
	title := above + w.name
	for _, kind := range w.kinds {
		k := *kind
		k.name = fmt.Sprintf("%s %q", w.name, kind.name)
		referBlock(b, &k, above, shown)
	}
	if w.kinds != nil {
		return
	}
	fmt.Fprintf(b, "\n### %s%s\n\n%s%s\n", title, labelOf(w), w.doc, often(w))
	if w.example != shown {
		fmt.Fprintf(b, "\n```hcl\n%s```\n", w.example)
	}
	rows := false
	for _, a := range w.inner {
		if a.block || a.later != "" {
			continue
		}
		if !rows {
			b.WriteString("\n| attribute | type | default | what it is |\n|---|---|---|---|\n")
			rows = true
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", a.name, a.typ, fallback(a), cell(a.doc))
	}
	for _, i := range w.inner {
		if i.block {
			referBlock(b, i, title+" → ", w.example)
		}
	}
}

func labelOf(w *word) string {
	if w.label == "" {
		return ""
	}
	return fmt.Sprintf(" %q", w.label)
}

func often(w *word) string {
	switch {
	case w.must && w.once:
		return " Required, once."
	case w.once:
		return " At most once."
	}
	return ""
}

func fallback(a *word) string {
	switch {
	case a.must:
		return "required"
	case a.def != "":
		return "`" + a.def + "`"
	}
	return ""
}

// cell returns text that is safe in a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}
