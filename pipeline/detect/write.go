// The text of a draft: what a person reads first. Formatted as the formatter of the language would.
package detect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const (
	wide     = 80  // columns that comments stay within
	wideList = 100 // columns of a list on one line
)

// proxies are what every tool that downloads something reads.
var proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "CI"}

const head = `# What "async-pipeline run" runs, drafted by "async-pipeline init" for you to change.
#
#   async-pipeline run         run every task, in parallel where nothing forbids it
#   async-pipeline run NAME    run one task, and what it depends on
#   async-pipeline list        show the tasks
#
# In a task, run is the command: a list is a program and its arguments, a text is
# for the shell. depends_on names what must have passed before. inputs are the
# files it reads and outputs what it makes, as patterns relative to this folder.
# dir is the folder it runs in, timeout the time it may take.
`

const example = `
# An example, because nothing was found that this program knows how to check.
task "hello" {
  description = "Replace this by a command that checks your project"
  run         = "echo 'Hello from PIPELINE.hcl'"
  timeout     = "1m"
}
`

// onFail is the one hook, of the agent %s.
const onFail = `on_fail "agent" {
  use    = agent.%s
  prompt = "Find the cause of the failure and fix it with the smallest change."
  budget {
    attempts   = 1
    wall_clock = "5m"
  }
}
`

const onFailAbout = `Take the # away here and at the end of this file, and a failure is answered
with a proposed fix. You review and apply it; nothing else writes your files.
`

const onFailActive = `A failure is answered with a proposed fix. You review and apply it; nothing else
writes your files.
`

const agentAbout = `
# An agent is any program: it gets the failure on standard input and works in its
# current directory, which is a copy of this project.
`

const cliAbout = `
# The agent that is installed here. It works in a copy of this project.
`

// An Agent is the one that the draft's hook asks.
type Agent struct {
	CLI    string // its name in the language; empty: a program that somebody has yet to write
	Key    string // the variable that has its key; empty: the CLI's own sign-in is used
	Active bool   // its hook is no comment, if a task runs tests; only of a CLI

	anyTask bool // its hook is a comment in the first task: none runs tests
}

// text returns the block of the agent, and its name.
func (a Agent) text() (name, text string) {
	if a.CLI == "" {
		return "mine", "agent \"mine\" {\n  command = [\"./tools/agent.sh\"]\n}\n"
	}
	attrs := []attribute{{"cli", quote(a.CLI)}}
	if a.Key != "" {
		attrs = append(attrs, attribute{"api_key", "secret(" + quote(a.Key) + ")"})
	}
	return a.CLI, "agent " + quote(a.CLI) + " {\n" + aligned(attrs, "  ") + "}\n"
}

// hook returns the hook of the agent, as it stands in a task.
func (a Agent) hook() string {
	name, _ := a.text()
	text := fmt.Sprintf(onFail, name)
	if !a.Active {
		return commented("  ", onFailAbout) + commented("  ", text)
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString("  " + l)
	}
	return commented("  ", onFailActive) + b.String()
}

// hookIn returns the text of a task with the hook of the agent in it.
func (a Agent) hookIn(task string) string {
	return strings.TrimSuffix(task, "}\n") + "\n" + a.hook() + "}\n"
}

// block returns the agent as it stands at the end of the file.
func (a Agent) block() string {
	_, text := a.text()
	switch {
	case a.Active:
		return cliAbout + text
	case a.CLI != "":
		return cliAbout + commented("", text)
	}
	return agentAbout + commented("", text)
}

// write returns the text, and the names of the tasks that are not comments.
func write(projects []*project, agent Agent) ([]byte, []string) {
	var b bytes.Buffer
	b.WriteString(head)
	writeEnv(&b, projects)
	writeLocals(&b, projects)
	var names []string
	hooked := false
	for _, p := range projects {
		b.WriteString("\n")
		if len(projects) > 1 {
			b.WriteString(comment(p.found))
		}
		for _, about := range p.about {
			b.WriteString(comment(about))
		}
		lacks := ""
		for i, t := range p.tasks {
			if i > 0 || t.lacks != "" && len(p.about) > 0 {
				b.WriteString("\n")
			}
			text := t.text(p)
			if (t.checks || agent.anyTask) && t.lacks == "" && !hooked {
				hooked = true
				text = agent.hookIn(text)
			}
			if t.lacks == "" {
				names = append(names, t.name)
			} else {
				if t.lacks != lacks {
					b.WriteString(comment("needs " + t.lacks +
						", which is not in PATH here; with it, take the # away:"))
				}
				text = commented("", text)
			}
			b.WriteString(text)
			lacks = t.lacks
		}
	}
	if names == nil {
		text := example
		if agent.anyTask {
			hooked = true
			text = agent.hookIn(text)
		}
		b.WriteString(text)
		names = []string{"hello"}
	}
	if hooked {
		b.WriteString(agent.block())
	}
	return b.Bytes(), names
}

// writeEnv names the variables that the tools of the projects read.
func writeEnv(b *bytes.Buffer, projects []*project) {
	if len(projects) == 0 {
		return
	}
	rows := [][]string{proxies}
	for _, p := range projects {
		rows = append(rows, p.env)
	}
	b.WriteString("\n# A task sees PATH, HOME, LANG and little else of your environment. Where they are\n# set it sees these too: what the tools of this project read.\npipeline {\n  pass_env = [\n")
	seen := map[string]bool{}
	for _, row := range rows {
		var fresh []string
		for _, name := range row {
			if !seen[name] {
				fresh = append(fresh, quote(name))
			}
			seen[name] = true
		}
		for len(fresh) > 0 {
			line := "    "
			for len(fresh) > 0 && (line == "    " || len(line)+len(fresh[0])+2 <= wideList) {
				line += fresh[0] + ", "
				fresh = fresh[1:]
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	b.WriteString("  ]\n}\n")
}

// writeLocals names the sources of each project that a task uses.
func writeLocals(b *bytes.Buffer, projects []*project) {
	var attrs []attribute
	for _, p := range projects {
		if slices.ContainsFunc(p.tasks, func(t *task) bool { return t.sources }) {
			attrs = append(attrs, attribute{p.local, list(below(p.dir, p.sources))})
		}
	}
	if attrs == nil {
		return
	}
	b.WriteString("\n# Lists that several tasks share. A pattern with ! in front takes files out again.\nlocals {\n" +
		aligned(attrs, "  ") + "}\n")
}

// An attribute is one line of a block.
type attribute struct{ name, value string }

// aligned writes attributes with their equal signs in one column.
func aligned(attrs []attribute, indent string) string {
	longest := 0
	for _, a := range attrs {
		longest = max(longest, len(a.name))
	}
	var b strings.Builder
	for _, a := range attrs {
		fmt.Fprintf(&b, "%s%-*s = %s\n", indent, longest, a.name, a.value)
	}
	return b.String()
}

func (t *task) text(p *project) string {
	attrs := []attribute{{"description", quote(t.about)}}
	if p.dir != top {
		attrs = append(attrs, attribute{"dir", quote(p.dir)})
	}
	var after []string
	for _, other := range t.after {
		if other.lacks == "" || t.lacks != "" { // a comment cannot be depended on
			after = append(after, "task."+other.name)
		}
	}
	if after != nil {
		attrs = append(attrs, attribute{"depends_on", "[" + strings.Join(after, ", ") + "]"})
	}
	run := quote(t.shell)
	if t.argv != nil {
		run = list(t.argv)
	}
	attrs = append(attrs, attribute{"run", run})
	if t.env != nil {
		var pairs []string
		for _, e := range t.env {
			pairs = append(pairs, e[0]+" = "+quote(e[1]))
		}
		attrs = append(attrs, attribute{"env", "{ " + strings.Join(pairs, ", ") + " }"})
	}
	switch {
	case t.sources:
		attrs = append(attrs, attribute{"inputs", "local." + p.local})
	case t.inputs != nil:
		attrs = append(attrs, attribute{"inputs", list(below(p.dir, t.inputs))})
	}
	if t.outputs != nil {
		attrs = append(attrs, attribute{"outputs", list(below(p.dir, t.outputs))})
	}
	attrs = append(attrs, attribute{"timeout", quote(t.timeout)})
	return "task " + quote(t.name) + " {\n" + aligned(attrs, "  ") + "}\n"
}

// commented makes a piece of the file a comment behind an indent. Removing "# " restores it.
func commented(indent, text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(indent + "# " + l)
	}
	return b.String()
}

// comment returns a sentence as comment lines. It may contain text from a file, so it is made one line first.
func comment(text string) string {
	var b strings.Builder
	row := "#"
	for word := range strings.FieldsSeq(line(text, 400)) {
		if len(row) > 1 && len(row)+1+len(word) > wide {
			b.WriteString(row + "\n")
			row = "#"
		}
		row += " " + word
	}
	b.WriteString(row + "\n")
	return b.String()
}

func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// escapes are the characters that HCL writes with a backslash.
var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// quote returns s as a string of HCL. It doubles what would begin an interpolation and escapes what is invisible.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case escapes[r] != "":
			b.WriteString(escapes[r])
		case (r == '$' || r == '%') && strings.HasPrefix(s[i+1:], "{"):
			b.WriteRune(r)
			b.WriteRune(r)
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
