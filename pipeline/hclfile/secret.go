package hclfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// secrets are the values that must not be shown, by value, and the names given to secret(). All files of a reading share
// the maps.
type secrets struct {
	file   []byte              // a text in it is no secret
	values map[string]string   // value → name
	raw    map[string][]string // name → values, for those that are set
	absent map[string]bool     // names that are not
	given  map[string]string   // texts of --var and env() whose letters cty composes, by what it makes of them
	closed []hcl.Range         // places of the file that do not count for that, in its order
}

// A secretMark marks every value made from secret(name), or from the sensitive variable that is called var.NAME.
type secretMark struct{ name string }

// minDerived is the shortest text, in bytes, that is secret because it was made from a secret. Shorter ones are a
// length, a yes or a no; nobody could keep them out of a log.
const minDerived = 6

func newSecrets() *secrets {
	return &secrets{
		values: make(map[string]string), raw: make(map[string][]string), absent: make(map[string]bool),
		given: make(map[string]string),
	}
}

// of returns the same secrets for the expressions of one file.
func (r *secrets) of(file []byte) *secrets {
	return &secrets{file: file, values: r.values, raw: r.raw, absent: r.absent, given: r.given}
}

// outside makes the value of a text from outside of the file. cty composes its letters: é for e and an accent.
func (r *secrets) outside(text string) cty.Value {
	v := cty.StringVal(text)
	if s := v.AsString(); s != text {
		r.given[s] = text
	}
	return v
}

// asGiven returns a text as it was outside, before its letters were composed: another password, or the name of no file.
// Of secrets, whose names are given, that is so of each part of the text, else of all of it. What the file contains itself
// is left as it is.
func (r *secrets) asGiven(text string, names []string) string {
	for _, name := range names {
		for _, raw := range r.raw[name] {
			if s := cty.NormalizeString(raw); s != raw {
				text = strings.ReplaceAll(text, s, raw)
			}
		}
	}
	if raw, ok := r.given[text]; ok && !r.says(text) {
		return raw
	}
	return text
}

func (r *secrets) keep(value, name string) {
	if _, ok := r.values[value]; !ok && value != "" {
		r.values[value] = name
	}
}

// keepLeaves keeps every text and number in the value of a sensitive variable. Its names of attributes are no secrets.
func (r *secrets) keepLeaves(v cty.Value, name string) {
	if v == cty.NilVal {
		return
	}
	leaves(v, func(text string) {
		r.keep(text, name)
		r.raw[name] = append(r.raw[name], text)
	})
}

// leaves calls keep with every text and number in a value.
func leaves(v cty.Value, keep func(text string)) {
	_ = cty.Walk(v, func(_ cty.Path, leaf cty.Value) (bool, error) { // the walker gives no error
		if t := leaf.Type(); leaf.IsKnown() && !leaf.IsNull() && (t == cty.String || t == cty.Number) {
			if text, err := convert.Convert(leaf, cty.String); err == nil {
				keep(text.AsString())
			}
		}
		return true, nil
	})
}

// derived keeps the texts that were made from secrets and do not contain them, such as base64encode(secret("X")),
// also where they are only part of the value.
func (r *secrets) derived(expr hcl.Expression, v cty.Value, ctx *hcl.EvalContext) {
	if !v.ContainsMarked() {
		return
	}
	r.keepTexts(v)
	guard.Visit(expr, func(n hclsyntax.Node) {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name != "secret" {
			if part, diags := guard.Evaluate(call, ctx); !diags.HasErrors() && part.ContainsMarked() {
				r.keepTexts(part)
			}
		}
	})
}

func (r *secrets) keepTexts(v cty.Value) {
	v, paths := v.UnmarkDeepWithPaths()
	for _, p := range paths {
		names := markNames(p.Marks)
		part, err := p.Path.Apply(v)
		if err != nil || len(names) == 0 {
			continue
		}
		leaves(part, func(text string) { r.keepDerived(text, names) })
	}
}

func (r *secrets) keepDerived(text string, names []string) {
	if len(text) < minDerived || r.says(text) {
		return
	}
	for _, name := range names {
		if slices.ContainsFunc(r.raw[name], func(raw string) bool { return raw != "" && strings.Contains(text, raw) }) {
			return
		}
	}
	r.keep(text, "made from "+strings.Join(names, ", "))
}

// says reports whether the file itself contains a text, which then is no secret. The default of a sensitive variable
// does not count.
func (r *secrets) says(text string) bool {
	from := 0
	for _, at := range r.closed {
		if strings.Contains(string(r.file[from:at.Start.Byte]), text) {
			return true
		}
		from = at.End.Byte
	}
	return strings.Contains(string(r.file[from:]), text)
}

// close excludes a place of the file from says: the default of a sensitive variable.
func (r *secrets) close(at hcl.Range) {
	if at.Start.Byte < at.End.Byte && at.End.Byte <= len(r.file) {
		i, _ := slices.BinarySearchFunc(r.closed, at,
			func(a, b hcl.Range) int { return cmp.Compare(a.Start.Byte, b.Start.Byte) })
		r.closed = slices.Insert(r.closed, i, at)
	}
}

// keepWithoutReturns keeps values with carriage returns also without them, as they are in shell text.
func (r *secrets) keepWithoutReturns() {
	for value, name := range maps.Clone(r.values) {
		r.keep(strings.ReplaceAll(value, "\r", ""), name)
	}
}

func markNames(marks cty.ValueMarks) []string {
	var all []string
	for m := range marks {
		if s, ok := m.(secretMark); ok {
			all = append(all, s.name)
		}
	}
	slices.Sort(all)
	return all
}

// markUnknown marks whatever is unknown with the absent secrets. It returns NilVal when there are none.
func (r *secrets) markUnknown(v cty.Value, touched map[string]bool) cty.Value {
	marks := make(cty.ValueMarks)
	for name := range touched {
		if r.absent[name] {
			marks[secretMark{name}] = struct{}{}
		}
	}
	if len(marks) == 0 {
		return cty.NilVal
	}
	marked, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() && !v.IsMarked() {
			return v.WithMarks(marks), nil
		}
		return v, nil
	})
	if err != nil {
		return cty.DynamicVal.WithMarks(marks)
	}
	return marked
}

// secretCalls writes the calls for a message.
func secretCalls(names map[string]bool) string {
	var calls []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		call := fmt.Sprintf("secret(%q)", name)
		if strings.HasPrefix(name, "var.") {
			call = name
		}
		calls = append(calls, call)
	}
	return strings.Join(calls, " and ")
}

func (r *secrets) all() []pipeline.Secret {
	var all []pipeline.Secret
	for value, name := range r.values {
		all = append(all, pipeline.Secret{Name: name, Value: value})
	}
	slices.SortFunc(all, func(a, b pipeline.Secret) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	return all
}

// hide removes secret values from a text, longest first, so that no rest of one is left.
func (r *secrets) hide(text string) string {
	return r.replace(text, func(string) string { return "[redacted]" })
}

// blank hides secret values in a source line without moving what comes after them.
func (r *secrets) blank(line string) string {
	return r.replace(line, func(value string) string { return strings.Repeat("*", len([]rune(value))) })
}

func (r *secrets) replace(text string, with func(string) string) string {
	if text == "" {
		return text
	}
	values := slices.SortedFunc(maps.Keys(r.values), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	for _, v := range values {
		if len(v) >= minDerived || v == text {
			text = strings.ReplaceAll(text, v, with(v))
		}
	}
	return text
}
