package guard

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A hundred bytes of nested loops ask for more time and memory than there is.
const (
	maxRounds    = 200_000   // of all the loops of one evaluation
	maxAllRounds = 2_000_000 // of a file
)

// Rounds counts the rounds of the loops of one file.
type Rounds struct{ now, all int }

// Reset begins a new evaluation.
func (r *Rounds) Reset() { r.now = 0 }

// tooLong is the panic of a loop with too many rounds; Evaluate recovers it.
type tooLong struct{}

// A metered expression is evaluated once in each round of a loop, and counts it.
type metered struct {
	hclsyntax.Expression
	rounds *Rounds
}

func (m metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	r := m.rounds
	if r.now, r.all = r.now+1, r.all+1; r.now > maxRounds || r.all > maxAllRounds {
		panic(tooLong{})
	}
	return m.Expression.Value(ctx)
}

// Bound changes an expression so that its loops count their rounds and its divisions refuse zero, and calls show
// with each call of a function in it. Binding an expression twice does nothing more.
func (r *Rounds) Bound(expr hcl.Expression, show func(*hclsyntax.FunctionCallExpr)) {
	Visit(expr, func(n hclsyntax.Node) {
		switch n := n.(type) {
		case *hclsyntax.FunctionCallExpr:
			show(n)
		case *hclsyntax.ForExpr:
			at := &n.ValExpr // evaluated once a round, unless a condition comes first
			if n.CondExpr != nil {
				at = &n.CondExpr
			}
			if _, done := (*at).(metered); !done {
				*at = metered{*at, r}
			}
		case *hclsyntax.BinaryOpExpr:
			if _, done := n.RHS.(divisor); !done && (n.Op == hclsyntax.OpDivide || n.Op == hclsyntax.OpModulo) {
				n.RHS = divisor{n.RHS}
			}
		}
	})
}

// Visit calls show with every node of an expression, also of one that is bound.
func Visit(expr hcl.Expression, show func(hclsyntax.Node)) {
	node, ok := expr.(hclsyntax.Node)
	if !ok {
		return
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics { // it returns what the visitor returns: nothing
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

// Constant evaluates an expression that names nothing and calls nothing.
func Constant(expr hcl.Expression) (cty.Value, hcl.Diagnostics) {
	new(Rounds).Bound(expr, func(*hclsyntax.FunctionCallExpr) {})
	return Evaluate(expr, nil)
}

// Evaluate evaluates an expression and turns a panic of the library into a diagnostic. A stack overflow cannot be
// recovered: that is why nesting is limited before parsing.
func Evaluate(expr hcl.Expression, ctx *hcl.EvalContext) (v cty.Value, diags hcl.Diagnostics) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		d := &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "This expression cannot be evaluated",
			Detail: "Write it in another way.", Subject: expr.Range().Ptr(),
		}
		if cause == (tooLong{}) {
			d.Summary = fmt.Sprintf("the loops in this go round more than %d times", maxRounds)
			d.Detail = "Keep data in files of their own."
		}
		v, diags = cty.DynamicVal, hcl.Diagnostics{d}
	}()
	return expr.Value(ctx)
}

// A divisor is the right side of a division or remainder. The library returns infinity for a division by zero, and
// the number itself for the remainder of one: both would go on into a command.
type divisor struct{ hclsyntax.Expression }

func (d divisor) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := d.Expression.Value(ctx)
	plain, _ := v.Unmark()
	if diags.HasErrors() || !plain.IsKnown() || plain.IsNull() || plain.Type() != cty.Number ||
		plain.AsBigFloat().Sign() != 0 {
		return v, diags
	}
	return cty.DynamicVal, diags.Append(&hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: "Division by zero", Detail: "Nothing can be divided by this.",
		Subject: d.Range().Ptr(), Expression: d.Expression, EvalContext: ctx,
	})
}
