package hclfile

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A divisor is what another number is divided by. The library gives infinity for a division by zero, and the number itself
// for what remains of one: both would go on into a command.
type divisor struct{ hclsyntax.Expression }

func (d divisor) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := d.Expression.Value(ctx)
	if plain, _ := v.Unmark(); !diags.HasErrors() && plain.IsKnown() && !plain.IsNull() && plain.Type() == cty.Number && plain.AsBigFloat().Sign() == 0 {
		return cty.DynamicVal, diags.Append(&hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "Division by zero", Detail: "Nothing can be divided by this.",
			Subject: d.Range().Ptr(), Expression: d.Expression, EvalContext: ctx,
		})
	}
	return v, diags
}

// neverByZero makes a division tell that it is one by zero.
func neverByZero(op *hclsyntax.BinaryOpExpr) {
	if op.Op != hclsyntax.OpDivide && op.Op != hclsyntax.OpModulo {
		return
	}
	if _, done := op.RHS.(divisor); !done {
		op.RHS = divisor{op.RHS}
	}
}
