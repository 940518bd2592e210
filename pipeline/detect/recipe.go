// Recipes of targets and scripts, as the shell reads them: the programs that they need, and whether they run a
// download.
package detect

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// builtins are commands that are not programs, or that every system has.
var builtins = []string{
	":", ".", "[", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "printf", "read", "return",
	"set", "shift", "source",
	"test", "trap", "true", "type", "ulimit", "umask", "unset", "wait",
}

var (
	plainProgram = lazily.Regexp(`^[a-z][a-z0-9_.-]*$`)
	makeVariable = lazily.Regexp(`\$[({][A-Za-z_][\w.]*[)}]`)
)

// maxRecipe is the longest line that is parsed, in bytes: the parser recurses for every bracket, and an overflow of
// the stack cannot be recovered.
const maxRecipe = 16 << 10

// parseRecipe parses a line of a recipe; nil where it is not shell text. Variables of make become variables of the
// shell.
func parseRecipe(line string) *syntax.File {
	if len(line) > maxRecipe {
		return nil
	}
	line = makeVariable().ReplaceAllLiteralString(strings.TrimLeft(line, "@-+ \t"), "$_")
	file, err := syntax.NewParser().Parse(strings.NewReader(strings.ReplaceAll(line, "$$", "$")), "")
	if err != nil {
		return nil
	}
	return file
}

// behind calls each with a target and then with all that it waits for.
func behind(all []target, name string, each func(*target)) {
	left := map[string]*target{}
	for i, t := range all {
		left[t.name] = &all[i]
	}
	queue := []string{name}
	for len(queue) > 0 {
		t := left[queue[0]]
		delete(left, queue[0])
		queue = queue[1:]
		if t != nil { // nil: seen, or a file
			queue = append(queue, t.waits...)
			each(t)
		}
	}
}

// programs lists the programs that a target, and what it waits for, cannot do without: up to 20.
func programs(all []target, name string) []string {
	var found []string
	behind(all, name, func(t *target) {
		for _, line := range t.lines {
			file := parseRecipe(line)
			if file == nil || len(found) >= 20 {
				continue
			}
			for _, s := range file.Stmts {
				found = certain(s, found)
			}
		}
	})
	return found
}

// certain adds the programs that a statement runs whatever happens before.
func certain(s *syntax.Stmt, found []string) []string {
	var inner []*syntax.Stmt
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if p := program(c); plainProgram().MatchString(p) && !slices.Contains(builtins, p) &&
			!slices.Contains(found, p) {
			found = append(found, p)
		}
	case *syntax.BinaryCmd:
		inner = append(inner, c.X)
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			inner = append(inner, c.Y)
		}
	case *syntax.Block:
		inner = c.Stmts
	case *syntax.Subshell:
		inner = c.Stmts
	}
	for _, s := range inner {
		found = certain(s, found)
	}
	return found
}

// program returns the program of a call where it is written out, without sudo or env in front, or "".
func program(c *syntax.CallExpr) string {
	for _, w := range c.Args {
		p := w.Lit()
		if p != "sudo" && p != "env" && !strings.Contains(p, "=") {
			return p
		}
	}
	return ""
}

// downloads returns the first line behind a target that runs what it downloads, or "".
func downloads(all []target, name string) (found string) {
	behind(all, name, func(t *target) {
		if i := slices.IndexFunc(t.lines, runsDownload); i >= 0 && found == "" {
			found = strings.TrimSpace(t.lines[i])
		}
	})
	return found
}

// runsDownload reports whether a line gives a shell what it downloads: curl URL | sh, sh -c "$(curl URL)".
func runsDownload(line string) bool {
	if !strings.Contains(line, "curl") && !strings.Contains(line, "wget") {
		return false
	}
	file := parseRecipe(line)
	if file == nil {
		return false
	}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				found = found || callsAny(n.X, "curl", "wget") &&
					callsAny(n.Y, "sh", "bash", "dash", "zsh", "ksh", "python3", "python")
			}
		case *syntax.CallExpr:
			switch program(n) {
			case "sh", "bash", "dash", "zsh", "ksh", "eval", "source", ".":
				for _, w := range n.Args {
					found = found || callsAny(w, "curl", "wget")
				}
			}
		}
		return !found
	})
	return found
}

// callsAny reports whether one of some programs is called in a part of a recipe.
func callsAny(part syntax.Node, names ...string) bool {
	found := false
	syntax.Walk(part, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		found = found || ok && slices.Contains(names, program(c))
		return !found
	})
	return found
}
