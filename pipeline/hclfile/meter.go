package hclfile

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// What reading a file may cost: a hundred bytes of nested loops, or a few functions fed with their own results, ask for more
// time and memory than there is. The size of a finished value is looked at elsewhere (small): it comes too late here.
const (
	maxRounds    = 200_000   // of all the loops of one evaluation
	maxAllRounds = 2_000_000 // of a file
	maxMade      = 8 << 20   // bytes, or elements, that one call of a function may make
)

// tooLong is the panic of a loop that goes on for too long; evaluate makes it a fault.
type tooLong struct{}

// rounds counts what the loops of a file have done.
type rounds struct{ now, all int }

// fresh begins a new evaluation.
func (c *rounds) fresh() { c.now = 0 }

func (c *rounds) round() {
	if c.now, c.all = c.now+1, c.all+1; c.now > maxRounds || c.all > maxAllRounds {
		panic(tooLong{})
	}
}

// A metered expression stands in a loop and is evaluated in each round of it.
type metered struct {
	hclsyntax.Expression
	rounds *rounds
}

func (m metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	m.rounds.round()
	return m.Expression.Value(ctx)
}

// meter makes a loop count its rounds: in its condition, or where there is none in its value.
func (c *rounds) meter(loop *hclsyntax.ForExpr) {
	at := &loop.ValExpr
	if loop.CondExpr != nil {
		at = &loop.CondExpr
	}
	if _, done := (*at).(metered); !done {
		*at = metered{*at, c}
	}
}

// visit shows every node of an expression, also those that are metered.
func visit(expr hcl.Expression, show func(hclsyntax.Node)) {
	node, ok := expr.(hclsyntax.Node)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics { // it gives back what the visitor gives: nothing
		switch w := n.(type) {
		case metered:
			n = w.Expression
		case divisor:
			n = w.Expression
		}
		show(n)
		return nil
	})
}

// constant is the value of an expression without names and functions, of a file of variables or a command line.
func constant(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	count := new(rounds)
	visit(expr, func(n hclsyntax.Node) {
		if loop, ok := n.(*hclsyntax.ForExpr); ok {
			count.meter(loop)
		}
	})
	return evaluate(expr, nil)
}

// bounded refuses calls of f that would make too much, as far as the arguments tell.
func bounded(f function.Function, makes func(args []cty.Value) int) function.Function {
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

// textLen is the length in bytes of a text, 0 of anything else.
func textLen(v cty.Value) int {
	v, _ = v.Unmark()
	if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
		return len(v.AsString())
	}
	return 0
}

// countOf is how many elements a list has, 0 for anything else.
func countOf(v cty.Value) int {
	v, _ = v.Unmark()
	if v.IsKnown() && !v.IsNull() && v.CanIterateElements() {
		return v.LengthInt()
	}
	return 0
}

// times multiplies without running over.
func times(a, b int) int {
	if a > 0 && b > maxMade/a+1 {
		return maxMade + 1
	}
	return a * b
}

// productOf is what setproduct makes.
func productOf(args []cty.Value) int {
	n := 1
	for _, a := range args {
		n = times(n, countOf(a))
	}
	return times(n, len(args))
}

// joined is what join makes of its separator.
func joined(args []cty.Value) int {
	n := 0
	for _, list := range args[1:] {
		n += times(textLen(args[0]), countOf(list))
	}
	return n
}

// replaced is at most what replace and regexreplace make.
func replaced(args []cty.Value) int { return times(textLen(args[0])+1, textLen(args[2])) }

// indented is at most what indent makes.
func indented(args []cty.Value) int {
	v, _ := args[0].Unmark()
	if !v.IsKnown() || v.IsNull() {
		return 0
	}
	n, _ := v.AsBigFloat().Int64()
	return times(int(max(0, min(n, maxMade))), textLen(args[1])+1)
}

// formatted is what the widths and precisions in a format ask for, once for each element of the longest list.
func formatted(args []cty.Value) int {
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
