package hclfile

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// A reader evaluates attributes and converts their values. A value that cannot be used adds a fault and is the zero
// value, as is that of an attribute that is not there (nil).
type reader struct{ *evaluator }

// An item is one element of a list, and its place.
type item struct {
	cty.Value
	at hcl.Range
}

// open refuses a value that is secret or null. what names it in messages.
func (r *reader) open(v cty.Value, at hcl.Range, what string) (cty.Value, bool) {
	if v.ContainsMarked() {
		r.addf(at, "It would be written down. A secret may be used in env and in commands only.",
			"%s may not be made from a secret", what)
		return v, false
	}
	if v.IsNull() {
		r.addf(at, "Leave it out, or give it a value.", "%s is null", what)
		return v, false
	}
	return v, true
}

// value evaluates an attribute that may not be secret, nor null. ok is false where it is not there or has a fault.
func (r *reader) value(a *hcl.Attribute) (v cty.Value, ok bool) {
	if a == nil {
		return cty.DynamicVal, false
	}
	found := r.eval(a.Expr, place{})
	if !found.ok || !r.keysOnce(a) {
		return cty.DynamicVal, false
	}
	return r.open(found.Value, a.Expr.Range(), a.Name)
}

// keysOnce reports whether a map that is written out has each key once: the language would take the last and say nothing.
func (r *reader) keysOnce(a *hcl.Attribute) bool {
	pairs, _ := hcl.ExprMap(a.Expr)
	seen := make(map[string]bool, len(pairs))
	fine := true
	for _, p := range pairs {
		k, ok := keyOf(p)
		if ok && seen[k] {
			r.addf(p.Key.Range(), "Take one of them out.", "%s has %s twice", a.Name, k)
			fine = false
		}
		seen[k] = seen[k] || ok
	}
	return fine
}

func (r *reader) wrongType(at hcl.Range, what, want string, v cty.Value) {
	r.addf(at, fmt.Sprintf("It is %s.", kind(v)), "%s must be %s", what, want)
}

// kind names the type of a value for people.
func kind(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case t == cty.String:
		return "text"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	case t.IsObjectType(), t.IsMapType():
		return "a map"
	case t.IsTupleType(), t.IsListType(), t.IsSetType():
		return "a list"
	}
	return "something else"
}

// str reads an attribute that is plain text.
func (r *reader) str(b *block, name string) (string, bool) {
	a := b.attrs[name]
	v, ok := r.value(a)
	if !ok {
		return "", false
	}
	return r.plain(v, a.Expr.Range(), name)
}

// openText reads a value that is plain text and may not be secret.
func (r *reader) openText(v cty.Value, at hcl.Range, what string) (string, bool) {
	v, ok := r.open(v, at, what)
	if !ok {
		return "", false
	}
	return r.plain(v, at, what)
}

func (r *reader) plain(v cty.Value, at hcl.Range, what string) (string, bool) {
	if v.Type() != cty.String {
		r.wrongType(at, what, "text in quotes", v)
		return "", false
	}
	return r.noNUL(r.asGiven(v.AsString(), nil), at, what)
}

// noNUL refuses a text with a NUL byte.
func (r *reader) noNUL(s string, at hcl.Range, what string) (string, bool) {
	if strings.ContainsRune(s, 0) {
		r.addf(at, "No program can be given one.", "%s contains a NUL byte", what)
		return "", false
	}
	return s, true
}

func (r *reader) boolean(b *block, name string) bool {
	a := b.attrs[name]
	v, ok := r.value(a)
	if ok && v.Type() != cty.Bool {
		r.wrongType(a.Expr.Range(), name, "true or false, without quotes", v)
		ok = false
	}
	return ok && v.True()
}

// number reads a whole number from low to high; there is no high limit when high is 0.
func (r *reader) number(a *hcl.Attribute, low, high int64) int {
	n, _ := r.whole(a, low, cmp.Or(high, 1<<20), high == 0, "")
	return int(n)
}

// whole reads a whole number. open leaves the high limit out of the message, which ends with detail.
func (r *reader) whole(a *hcl.Attribute, low, high int64, open bool, detail string) (int64, bool) {
	v, ok := r.value(a)
	if !ok {
		return 0, false
	}
	return r.wholeOf(v, a.Expr.Range(), a.Name, low, high, open, detail)
}

func (r *reader) wholeOf(v cty.Value, at hcl.Range, what string, low, high int64, open bool, detail string) (int64, bool) {
	if v.Type() != cty.Number {
		r.wrongType(at, what, "a whole number, without quotes", v)
		return 0, false
	}
	n, accuracy := v.AsBigFloat().Int64()
	switch {
	case accuracy == big.Exact && n >= low && n <= high:
		return n, true
	case open:
		r.addf(at, detail, "%s must be a whole number, %d or more", what, low)
	default:
		r.addf(at, detail, "%s must be a whole number from %d to %d", what, low, high)
	}
	return 0, false
}

// duration reads a positive time in Go's syntax.
func (r *reader) duration(a *hcl.Attribute) time.Duration {
	v, ok := r.value(a)
	if !ok {
		return 0
	}
	at := a.Expr.Range()
	if t := v.Type(); t != cty.String && t != cty.Number {
		r.wrongType(at, a.Name, `a time such as "5m"`, v)
		return 0
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil {
		r.addf(at, `Write a time such as "5m" or "1m30s".`, "%s is not a time", a.Name)
		return 0
	}
	s := strings.TrimSpace(text.AsString())
	d, err := time.ParseDuration(s)
	switch {
	case err != nil && s != "" && strings.Trim(s, "0123456789.") == "":
		r.addf(at, fmt.Sprintf(`Write "%ss" for seconds or "%sm" for minutes.`, s, s), "%s has no unit", a.Name)
	case err != nil && isTime(s):
		r.addf(at, fmt.Sprintf("The longest is %dh.", int64(math.MaxInt64/time.Hour)), "%s is too long", a.Name)
	case err != nil:
		r.addf(at, `Write a time such as "500ms", "30s", "5m" or "1h30m".`, "%s is not a time", a.Name)
	case d <= 0:
		r.addf(at, `Write a time such as "5m".`, "%s must be longer than nothing", a.Name)
	default:
		return d
	}
	return 0
}

// isTime reports whether a text has the form of a time, however long it is.
func isTime(s string) bool {
	_, err := time.ParseDuration(strings.Map(func(c rune) rune {
		if '0' <= c && c <= '9' {
			return '0'
		}
		return c
	}, s))
	return err == nil
}

// items reads a list, element by element where it is written out, so that each fault has its own place.
func (r *reader) items(a *hcl.Attribute, example string) ([]item, bool) {
	if parts, diags := hcl.ExprList(a.Expr); !diags.HasErrors() {
		all, ok := make([]item, 0, len(parts)), true
		for _, p := range parts {
			if v := r.eval(p, place{}); v.ok {
				all = append(all, item{v.Value, p.Range()})
			} else {
				ok = false
			}
		}
		return all, ok
	}
	v := r.eval(a.Expr, place{})
	if !v.ok {
		return nil, false
	}
	return r.elements(v.Value, a, example)
}

// elements takes an evaluated list apart. One that is unknown, for lack of a secret, is one unknown element.
func (r *reader) elements(v cty.Value, a *hcl.Attribute, example string) ([]item, bool) {
	at := a.Expr.Range()
	v, marks := v.Unmark()
	if !v.IsKnown() {
		return []item{{v.WithMarks(marks), at}}, true
	}
	if v.IsNull() {
		r.open(v, at, a.Name)
		return nil, false
	}
	if t := v.Type(); !t.IsTupleType() && !t.IsListType() && !t.IsSetType() {
		r.addf(at, fmt.Sprintf("It is %s. Write %s = %s.", kind(v), a.Name, example), "%s must be a list", a.Name)
		return nil, false
	}
	all := make([]item, 0, v.LengthInt())
	for _, e := range v.Elements() {
		all = append(all, item{e.WithMarks(marks), at})
	}
	return all, true
}

// globs reads a list of patterns of paths.
func (r *reader) globs(b *block, name, example string) []string {
	return r.strs(b, name, example, func(s string, at hcl.Range) (string, bool) { return r.glob(s, at, name) })
}

// strs reads a list of plain texts. Each that passes ok is in it; ok adds the fault itself.
func (r *reader) strs(b *block, name, example string, ok func(s string, at hcl.Range) (string, bool)) []string {
	a := b.attrs[name]
	if a == nil {
		return nil
	}
	items, _ := r.items(a, example)
	var all []string
	for _, i := range items {
		s, fine := r.openText(i.Value, i.at, name)
		if fine {
			s, fine = ok(s, i.at)
		}
		if fine {
			all = append(all, s)
		}
	}
	return all
}

// text reads a value that may be secret. Numbers, true and false become text.
func (r *reader) text(v cty.Value, at hcl.Range, what string) (pipeline.Text, bool) {
	v, marks := v.UnmarkDeep()
	t := pipeline.Text{Secrets: markNames(marks)}
	if !v.IsWhollyKnown() {
		for _, name := range t.Secrets {
			if r.absent[name] {
				t.Missing = append(t.Missing, name)
			}
		}
		t.Hidden = "[" + strings.Join(t.Missing, ", ") + " is not set]"
		return t, len(t.Missing) > 0
	}
	switch {
	case v.IsNull():
		r.addf(at, "Leave it out, or give it a value.", "%s is null", what)
		return t, false
	case !v.Type().IsPrimitiveType():
		r.wrongType(at, what, "text", v)
		return t, false
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil {
		r.addf(at, "Put it in quotes.", "%s must be text", what)
		return t, false
	}
	s, ok := r.noNUL(r.asGiven(v.AsString(), t.Secrets), at, what)
	t.Value = s
	if len(t.Secrets) > 0 {
		r.keepDerived(s, t.Secrets) // a number becomes text only here
		t.Hidden = r.hide(s)
	}
	return t, ok
}

// tokens reads a limit of the budget.
func (r *reader) tokens(a *hcl.Attribute) int64 {
	n, _ := r.whole(a, 1, math.MaxInt64, true, "Leave it out for no cap.")
	return n
}

// mostDollars is the highest cap of cost.
const mostDollars = 1_000_000

// dollars reads a cap of the budget.
func (r *reader) dollars(a *hcl.Attribute) float64 {
	v, ok := r.value(a)
	if !ok {
		return 0
	}
	if v.Type() != cty.Number {
		r.wrongType(a.Expr.Range(), a.Name, "a number, without quotes", v)
		return 0
	}
	const do = "Leave it out for no cap."
	f, _ := v.AsBigFloat().Float64()
	switch {
	case f <= 0:
		r.addf(a.Expr.Range(), do, "%s must be more than nothing", a.Name)
	case f > mostDollars:
		r.addf(a.Expr.Range(), do, "%s must be at most %d", a.Name, mostDollars)
	default:
		return f
	}
	return 0
}

// exitCodes reads a list of exit codes that are failures, without doubles.
func (r *reader) exitCodes(a *hcl.Attribute) []int {
	if a == nil {
		return nil
	}
	items, ok := r.items(a, "[75]")
	if ok && len(items) == 0 {
		r.addf(a.Expr.Range(), "Leave it out if every failure deserves another attempt.", "%s is empty", a.Name)
	}
	var all []int
	for _, i := range items {
		v, fine := r.open(i.Value, i.at, a.Name)
		if !fine {
			continue
		}
		n, fine := r.wholeOf(v, i.at, "a code in "+a.Name, 1, 255, false,
			"0 is a task that passed, and no program can exit with more than 255.")
		if fine && !slices.Contains(all, int(n)) {
			all = append(all, int(n))
		}
	}
	return all
}

func (r *reader) passName(s string, at hcl.Range) (string, bool) {
	if strings.TrimSpace(s) == "" || strings.ContainsAny(s, "=\n\r") ||
		strings.Contains(strings.TrimSuffix(s, "*"), "*") {
		r.addf(at, `Write a name such as "GOFLAGS", or its beginning: "AWS_*".`,
			"%q is not a name in the environment", s)
		return "", false
	}
	if namesKey(s) && !r.hides(s) {
		r.warn(at, s+" is passed without being hidden",
			fmt.Sprintf("Logs and records show its value wherever a command "+
				"prints it. If it is secret, write env = { %s = secret(%q) } where it is needed.", s, s))
	}
	return s, true
}

// hides reports whether the file calls secret() with the name of a variable: then its value is hidden everywhere.
func (r *reader) hides(name string) bool {
	call := fmt.Sprintf("secret(%q)", name)
	inJSON := strings.ReplaceAll(call, `"`, `\"`)
	return strings.Contains(string(r.file), call) || strings.Contains(string(r.file), inJSON)
}

// namesKey reports whether a variable with this name usually has a secret value.
func namesKey(name string) bool {
	return slices.ContainsFunc([]string{"_TOKEN", "_KEY", "_SECRET", "_PASSWORD"}, func(end string) bool {
		return strings.HasSuffix(strings.ToUpper(name), end)
	})
}

// dir reads the folder that a task works in; without it, the root.
func (r *reader) dir(b *block) string {
	if s, ok := r.str(b, "dir"); ok {
		clean, _ := r.inRoot(s, b.attrs["dir"].Expr.Range(), "dir", `Leave it out, or write "." for the root.`)
		return cmp.Or(clean, ".")
	}
	return "."
}

// inRoot cleans a path, which must be inside the root. empty is what to do where there is none.
func (r *reader) inRoot(s string, at hcl.Range, what, empty string) (string, bool) {
	clean := path.Clean(s)
	switch {
	case strings.TrimSpace(s) == "":
		r.addf(at, empty, "%s is empty", what)
	case path.IsAbs(s):
		r.addf(at, "It is relative to the folder of PIPELINE.hcl, and inside it.", "%s is an absolute path", what)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		r.addf(at, "It is relative to the folder of PIPELINE.hcl, and inside it.", "%s leaves the root", what)
	default:
		return clean, true
	}
	return "", false
}

// key makes the key of an instance, or a part of one: numbers, true and false become text.
func (r *reader) key(v cty.Value, at hcl.Range, what string) (string, bool) {
	switch {
	case v.IsNull():
		r.addf(at, "Take it out.", "%s contains null", what)
		return "", false
	case !v.Type().IsPrimitiveType():
		r.addf(at, fmt.Sprintf("It is %s. A name is made from each element.", kind(v)),
			"%s contains what is not text", what)
		return "", false
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil {
		r.addf(at, "Put it in quotes.", "%s contains what is not text", what)
		return "", false
	}
	s := text.AsString()
	if s == "" || strings.ContainsFunc(s, unicode.IsControl) {
		r.addf(at, "A name is made from each element: write a text on one line.",
			"%s contains a text that is empty or has control characters", what)
		return "", false
	}
	return s, true
}

// need returns an attribute that must be there, or adds a fault and returns nil.
func (r *reader) need(b *block, name, detail, format string, args ...any) *hcl.Attribute {
	a := b.attrs[name]
	if a == nil && !b.faulty {
		r.addf(b.at, detail, format, args...)
	}
	return a
}

// name checks that a block's name is valid and that no block before it has the same.
func (r *reader) name(b *block, first map[string]hcl.Range) bool {
	return r.newName(b.name, b.nameAt, first)
}

func (r *reader) newName(name string, at hcl.Range, first map[string]hcl.Range) bool {
	if !hclsyntax.ValidIdentifier(name) {
		r.addf(at, "A name begins with a letter and goes on with letters, digits, _ and -.",
			"%q is not a valid name", name)
		return false
	}
	if before, ok := first[name]; ok {
		r.addf(at, fmt.Sprintf("The first is on line %d; give one of them another name.", before.Start.Line),
			"%q is declared a second time", name)
		return false
	}
	first[name] = at
	return true
}

// sensitive reports whether the value of a variable is a secret. One that cannot be read is.
func (r *reader) sensitive(b *block) bool {
	a := b.attrs["sensitive"]
	if a == nil {
		return false
	}
	if len(a.Expr.Variables()) > 0 {
		r.add(a.Expr.Range(), "sensitive cannot name other values", "Write true or false.")
		return true
	}
	wrong := r.wrong
	return r.boolean(b, a.Name) || r.wrong > wrong
}
