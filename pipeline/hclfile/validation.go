package hclfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// validations checks the value of a variable against every validation block. It runs after all variables have values,
// so that a condition can compare them.
func (r *variables) validations(b *block) {
	for _, c := range b.of("validation") {
		condition := r.need(c, "condition", fmt.Sprintf("Write condition = length(var.%s) > 0.", b.name), "a validation of variable %q has no condition", b.name)
		message := r.need(c, "error_message", fmt.Sprintf(`Write error_message = "%s must …".`, b.name), "a validation of variable %q has no error_message", b.name)
		if condition == nil || message == nil || !r.onlyVars(message) || !r.onlyVars(condition) {
			continue
		}
		text, ok := r.str(c, "error_message")
		if ok && strings.TrimSpace(text) == "" {
			r.addf(message.Expr.Range(), fmt.Sprintf(`Write error_message = "%s must …".`, b.name), "error_message is empty")
			ok = false
		}
		if holds, known := r.holds(condition); ok && known && !holds {
			r.addf(condition.Expr.Range(), r.vars[b.name].from, "var.%s is refused: %s", b.name, strings.Join(strings.Fields(text), " "))
		}
	}
}

// onlyVars adds a fault where an attribute names anything but variables: nothing else is known at this time.
func (r *variables) onlyVars(a *hcl.Attribute) bool {
	fine := true
	for _, t := range a.Expr.Variables() {
		if slices.Contains([]string{"local", "path", "each", "matrix", "run"}, t.RootName()) {
			r.addf(t.SourceRange(), "Write the value itself, or make it a variable.", "%s can name variables only", a.Name)
			fine = false
		}
	}
	return fine
}

// holds evaluates a condition. known is false where a fault has been reported.
func (r *variables) holds(a *hcl.Attribute) (holds, known bool) {
	v := r.eval(a.Expr, place{})
	if !v.ok {
		return false, false
	}
	at := a.Expr.Range()
	plain, marks := v.Unmark()
	for _, name := range markNames(marks) {
		if !strings.HasPrefix(name, "var.") {
			r.add(at, "a condition may not ask for secret()", "It is checked while the file is read, when a secret need not be set. Make it a sensitive variable.")
			return false, false
		}
	}
	if plain.Type() != cty.Bool || plain.IsNull() || !plain.IsKnown() {
		r.wrongType(at, a.Name, "true or false", plain)
		return false, false
	}
	return plain.True(), true
}
