package guard

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

const maxMade = 8 << 20 // bytes, or elements, that one call of a function may make

// Limited returns f without the calls whose results would be too large. makes estimates the size of a result from
// the arguments.
func Limited(f function.Function, makes func(args []cty.Value) int) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type:        f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if n := makes(args); n > maxMade || n < 0 {
				return cty.NilVal, fmt.Errorf("it would make more than %d MiB of text or as many elements: keep data in files of their own", maxMade>>20)
			}
			return f.Call(args)
		},
	})
}

// textLen is the length of a text in bytes; it is 0 for anything else.
func textLen(v cty.Value) int {
	v, _ = v.Unmark()
	if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
		return len(v.AsString())
	}
	return 0
}

// countOf is the number of elements of a collection; it is 0 for anything else.
func countOf(v cty.Value) int {
	v, _ = v.Unmark()
	if v.IsKnown() && !v.IsNull() && v.CanIterateElements() {
		return v.LengthInt()
	}
	return 0
}

// times multiplies without overflow; a result above maxMade may be too small, but stays above it.
func times(a, b int) int {
	if a > 0 && b > maxMade/a+1 {
		return maxMade + 1
	}
	return a * b
}

// Product is the number of elements that setproduct makes.
func Product(args []cty.Value) int {
	n := 1
	for _, a := range args {
		n = times(n, countOf(a))
	}
	return times(n, len(args))
}

// Joined is how often join repeats its separator, in bytes.
func Joined(args []cty.Value) int {
	n := 0
	for _, list := range args[1:] {
		n += times(textLen(args[0]), countOf(list))
	}
	return n
}

// Replaced is the most that replace and regexreplace make.
func Replaced(args []cty.Value) int { return times(textLen(args[0])+1, textLen(args[2])) }

// Indented is the most that indent makes.
func Indented(args []cty.Value) int {
	v, _ := args[0].Unmark()
	if !v.IsKnown() || v.IsNull() {
		return 0
	}
	n, _ := v.AsBigFloat().Int64()
	return times(int(max(0, min(n, maxMade))), textLen(args[1])+1)
}

// Formatted is what the widths and precisions of a format ask for, once for each element of the longest list.
func Formatted(args []cty.Value) int {
	if textLen(args[0]) == 0 {
		return 0
	}
	v, _ := args[0].Unmark()
	asked, digits := 0, 0
	for _, c := range v.AsString() {
		if c < '0' || c > '9' {
			asked, digits = min(asked+digits, maxMade+1), 0
			continue
		}
		digits = min(digits*10+int(c-'0'), maxMade+1)
	}
	longest := 1
	for _, a := range args[1:] {
		longest = max(longest, countOf(a))
	}
	return times(asked, longest)
}

var errLarge = errors.New("too large")

// SizeOf estimates the bytes that a value takes, and reports whether it is at most as large as a file may be:
// values that double each other would fill the memory. Where it is not, bytes is a lower bound.
func SizeOf(v cty.Value) (bytes int, fits bool) {
	if !v.IsMarked() && v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
		n := len(v.AsString())
		return 16 + n, n < MaxSize
	}
	elements, text := 0, 0
	v, _ = v.UnmarkDeep()
	err := cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		elements++
		if v.IsKnown() && !v.IsNull() {
			switch v.Type() {
			case cty.String:
				text += len(v.AsString())
			case cty.Number:
				if n := v.AsBigFloat(); n.MantExp(nil) > 4096 || n.MantExp(nil) < -4096 {
					text = MaxSize
				}
			}
		}
		if elements+text >= MaxSize {
			return false, errLarge
		}
		return true, nil
	})
	return 16*elements + text, err == nil
}
