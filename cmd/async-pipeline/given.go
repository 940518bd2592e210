// What was typed besides the names, for a command that is to do the same.
package main

import (
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// hiddenValue replaces a value that is not shown.
const hiddenValue = "…"

// longValue is the longest value, in bytes, that is repeated in a command.
const longValue = 1000

// variableFlags are the flags --var and --var-file of this call as they are typed again.
type variableFlags struct {
	words  []string // not quoted
	hidden []string // which values are not among them, and why
}

// repeatedVars returns the variables of this call for another command. Sensitive values, and those that could not be
// copied from a screen, are replaced.
func repeatedVars(prog *program, c *pipeline.Config) variableFlags {
	var g variableFlags
	for _, file := range prog.VarFiles {
		g.words = append(g.words, "--var-file", file)
	}
	for _, v := range prog.Vars {
		name, value, _ := strings.Cut(v, "=")
		why := ""
		switch {
		case sensitive(c, name, value):
			why = "sensitive"
		case len(value) > longValue:
			why = "long"
		case view.Harmless(value) != value:
			why = "not all of it can be shown"
		}
		if why != "" {
			value = hiddenValue
			g.hidden = append(g.hidden, name+" ("+why+")")
		}
		g.words = append(g.words, "--var", name+"="+value)
	}
	return g
}

// sensitive reports whether a value is declared sensitive or contains a secret.
func sensitive(c *pipeline.Config, name, value string) bool {
	for _, s := range c.Secrets {
		if s.Name == "var."+name || s.Value != "" && strings.Contains(value, s.Value) {
			return true
		}
	}
	return false
}

// typed returns a command with these variables. A replaced value is not quoted, so that a person sees that something
// is to be filled in.
func (g variableFlags) typed(prog *program, args ...string) string {
	text := prog.Typed(args...)
	for i, w := range g.words {
		if i > 0 && g.words[i-1] == "--var" && strings.HasSuffix(w, "="+hiddenValue) {
			text = strings.ReplaceAll(text, " "+view.Quote(w), " "+w)
		}
	}
	return text
}

// note returns a sentence on the replaced values, or "".
func (g variableFlags) note() string {
	if len(g.hidden) == 0 {
		return ""
	}
	what := "the value of " + g.hidden[0]
	if len(g.hidden) > 1 {
		what = "the values of " + strings.Join(g.hidden, ", ")
	}
	return fmt.Sprintf("%s stands for %s: put it in.", hiddenValue, what)
}
