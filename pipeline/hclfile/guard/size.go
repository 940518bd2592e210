package guard

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
)

var errLarge = errors.New("too large")

// SizeOf estimates the bytes that a value takes, and reports whether it is at most as large as a file may be: values that
// double each other would fill the memory. Where it is not, bytes is a lower bound.
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
