package hclfile

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// library is the functions that depend only on their arguments: no clock, no file, no randomness.
var library = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc,
	"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc,
	"signum": stdlib.SignumFunc,

	"chomp": stdlib.ChompFunc, "format": guard.Limited(stdlib.FormatFunc, guard.Formatted),
	"formatlist": guard.Limited(stdlib.FormatListFunc, guard.Formatted),
	"indent":     guard.Limited(stdlib.IndentFunc, guard.Indented),
	"join":       guard.Limited(stdlib.JoinFunc, guard.Joined), "lower": stdlib.LowerFunc, "regex": stdlib.RegexFunc,
	"regexall":     stdlib.RegexAllFunc,
	"regexreplace": guard.Limited(stdlib.RegexReplaceFunc, guard.Replaced),
	"replace":      guard.Limited(stdlib.ReplaceFunc, guard.Replaced), "split": stdlib.SplitFunc,
	"strlen": stdlib.StrlenFunc,
	"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc,
	"trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc,
	"upper": stdlib.UpperFunc,

	"chunklist": stdlib.ChunklistFunc, "coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc,
	"compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
	"distinct": stdlib.DistinctFunc,
	"element":  stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "hasindex": stdlib.HasIndexFunc,
	"index": stdlib.IndexFunc,
	"keys":  stdlib.KeysFunc, "length": lengthFunc, "lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc,
	"range":   stdlib.RangeFunc,
	"reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc,
	"setproduct":  guard.Limited(stdlib.SetProductFunc, guard.Product),
	"setsubtract": stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc,
	"sort":   stdlib.SortFunc,
	"values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,

	"base64decode": base64DecodeFunc, "base64encode": base64EncodeFunc, "csvdecode": stdlib.CSVDecodeFunc,
	"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,

	"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,
	"tobool": stdlib.MakeToFunc(cty.Bool), "tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
	"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)), "tonumber": stdlib.MakeToFunc(cty.Number),
	"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), "tostring": stdlib.MakeToFunc(cty.String),
}

// functions adds to the library what asks the environment and what reads files below root.
func (r *evaluator) functions(root string) map[string]function.Function {
	f := newFiles(root, &r.read, r.fetch)
	all := map[string]function.Function{
		"env": r.envFunc(), "secret": r.secretFunc(),
		"file": r.readFunc(
			f, "The text of a file, which is UTF-8 and at most 1 MiB; trimspace() takes off its last line end.",
			f.texts, f.text),
		"filesha256": r.readFunc(f, "The SHA-256 of a file, in hexadecimal.", f.hashes, f.hash),
		"fileset":    r.fileSetFunc(f),
	}
	maps.Copy(all, library)
	return all
}

// envFunc is env("NAME") and env("NAME", default).
func (r *evaluator) envFunc() function.Function {
	return function.New(&function.Spec{
		Description: "The value of an environment variable, or the default where it is not set.",
		Params:      []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam:    &function.Parameter{Name: "default", Type: cty.String},
		Type: func(args []cty.Value) (cty.Type, error) {
			if len(args) > 2 {
				return cty.String, function.NewArgErrorf(2, "env takes a name and a default")
			}
			return cty.String, nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			if value, ok := r.env(name); ok {
				return r.outside(value), nil
			}
			if len(args) == 2 {
				return args[1], nil
			}
			if name == "" {
				return cty.NilVal, function.NewArgErrorf(0, "the name is empty: write that of a variable of the environment")
			}
			return cty.NilVal, function.NewArgErrorf(0,
				"%s is not set, and there is no default: write env(%q, \"…\")", name, name)
		},
	})
}

// secretFunc is secret("NAME").
func (r *evaluator) secretFunc() function.Function {
	return function.New(&function.Spec{
		Description: "The value of an environment variable that must not be shown or recorded. One that is not set is an error when the task is about to run.",
		Params:      []function.Parameter{{Name: "name", Type: cty.String, AllowMarked: true}},
		Type:        function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[0].IsMarked() {
				return cty.NilVal, function.NewArgErrorf(0, "the name of a secret cannot be secret itself")
			}
			name := args[0].AsString()
			if name == "" || strings.ContainsAny(name, "=\x00") {
				return cty.NilVal, function.NewArgErrorf(0,
					"%q cannot be the name of a variable of the environment", name)
			}
			return r.secret(name), nil
		},
	})
}

// secret returns the value of secret(name). While the variable is not set it is unknown, so that whatever is made
// from it is unknown too and causes no fault.
func (r *evaluator) secret(name string) cty.Value {
	r.touched.secrets[name] = true
	value, ok := r.env(name)
	if !ok {
		r.absent[name] = true
		return cty.UnknownVal(cty.String).Mark(secretMark{name})
	}
	r.raw[name] = []string{value}
	v := cty.StringVal(value)
	r.keep(value, name)
	r.keep(v.AsString(), name) // what cty composes of it, which a task sees in what functions make of it
	return v.Mark(secretMark{name})
}

// lengthFunc counts elements, or the characters of a text.
var lengthFunc = function.New(&function.Spec{
	Description: "The number of elements of a list, set, map or object, or of characters of a text.",
	Params:      []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true, AllowUnknown: true, AllowMarked: true}},
	Type:        function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch v, marks := args[0].Unmark(); {
		case v.Type() == cty.String:
			n, err := stdlib.Strlen(v)
			return n.WithMarks(marks), err
		case v.Type().IsObjectType():
			return cty.NumberIntVal(int64(len(v.Type().AttributeTypes()))).WithMarks(marks), nil
		}
		return stdlib.Length(args[0])
	},
})

var base64EncodeFunc = function.New(&function.Spec{
	Description: "A text in base64.",
	Params:      []function.Parameter{{Name: "text", Type: cty.String}},
	Type:        function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.StringVal(base64.StdEncoding.EncodeToString([]byte(args[0].AsString()))), nil
	},
})

var base64DecodeFunc = function.New(&function.Spec{
	Description: "The text that is written in base64.",
	Params:      []function.Parameter{{Name: "text", Type: cty.String}},
	Type:        function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		b, err := base64.StdEncoding.DecodeString(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "this is not base64")
		}
		if !utf8.Valid(b) {
			return cty.NilVal, fmt.Errorf("what it decodes to is not UTF-8 text")
		}
		return cty.StringVal(string(b)), nil
	},
})

// signature returns a call of a function as the reference shows it.
func signature(name string, f function.Function) string {
	var params []string
	for _, p := range f.Params() {
		params = append(params, p.Name)
	}
	if p := f.VarParam(); p != nil && name == "env" {
		params = append(params, p.Name) // one at most
	} else if p != nil {
		params = append(params, p.Name+"…")
	}
	return name + "(" + strings.Join(params, ", ") + ")"
}

// functionDoc describes a function in the words of the library, or in ours where it has none or they are wrong.
func functionDoc(name string, f function.Function) string {
	switch name {
	case "can":
		return "Whether the expression can be evaluated without an error."
	case "try":
		return "The first of the expressions that can be evaluated without an error."
	case "csvdecode":
		return "The rows of comma-separated values (RFC 4180), as a list of maps whose names are the first row."
	case "format":
		return "A text in which the verbs of the first argument, such as %s and %03d, are replaced with the others."
	case "formatlist":
		return "format for each element of the lists among the arguments, as a list."
	case "hasindex":
		return "Whether the collection has an element with the given key."
	case "range":
		return "A list of at most 1,024 numbers: range(end) from 0, range(start, end), range(start, end, step); end is not among them."
	case "trimsuffix":
		return "The text without the given suffix at its end, if it is there."
	case "tolist", "tomap", "toset":
		return fmt.Sprintf("The given value as a %s.", strings.TrimPrefix(name, "to"))
	}
	return f.Description()
}
