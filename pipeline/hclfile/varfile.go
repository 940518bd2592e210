package hclfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/guard"
)

// A varFile is one file of --var-file: NAME = VALUE in HCL, or a JSON object where its name ends in .json. It has a
// report of its own.
type varFile struct {
	*parser
	values map[string]fileValue
	secret bool // some variable is sensitive: no value of this file is quoted
}

type fileValue struct {
	value      cty.Value
	nameAt, at hcl.Range
}

// varFiles reads them in the order given, in which the later wins.
func (r *variables) varFiles(secret bool) []*varFile {
	var all []*varFile
	if r.of.by != nil {
		return nil // they are for the file that was run
	}
	for _, path := range r.all.o.VarFiles {
		src, err := readFile(path, true)
		if err != nil {
			e := pipeline.Error{Pos: pipeline.Pos{File: path}, Summary: "the file that --var-file names cannot be read", Detail: err.Error() + "."}
			if rest, ok := strings.CutPrefix(err.Error(), path+" "); ok {
				e.Detail = "It " + rest + "."
			}
			if errors.Is(err, fs.ErrNotExist) {
				e.Summary, e.Detail = "the file that --var-file names does not exist",
					"Its path is relative to the folder you work in."
			}
			r.put(e)
			continue
		}
		f := &varFile{&parser{newReport(path, src)}, make(map[string]fileValue), secret}
		f.read(src)
		all = append(all, f)
	}
	return all
}

// pipeTime is how long the other end of a pipe may take.
const pipeTime = time.Minute

// readPipe reads what comes through a pipe that was opened without waiting. An empty pipe is an error: a value that
// somebody wanted to give would silently be missing.
func readPipe(f *os.File, path string) ([]byte, error) {
	_ = f.SetReadDeadline(time.Now().Add(pipeTime)) // where there are none, the person waits
	src, err := io.ReadAll(io.LimitReader(f, guard.MaxSize+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%s is a pipe that was not closed within %s", path, pipeTime)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(src) == 0:
		return nil, fmt.Errorf("%s is a pipe that nothing came through", path)
	}
	return src, nil
}

func (f *varFile) read(src []byte) {
	parse, refused := f.native, guard.HCL
	if strings.HasSuffix(f.path, ".json") {
		parse, refused = f.json, guard.JSON
	}
	if !f.passes(refused(f.path, src)) {
		return
	}
	attrs, ok := parse(src)
	if f.secret {
		for i := range f.faults {
			f.faults[i].Source = strings.Repeat("*", len([]rune(f.faults[i].Source)))
			f.faults[i].Detail = "The line is not shown, because it may contain the value of a sensitive variable."
		}
	}
	if !ok {
		return
	}
	for _, a := range attrs {
		value, summary, detail := written(a.Expr)
		f.values[a.Name] = fileValue{value, a.NameRange, a.Expr.Range()}
		if summary != "" {
			f.put(f.at(a.Name, summary, detail))
			delete(f.values, a.Name)
		}
	}
}

// native reads HCL.
func (f *varFile) native(src []byte) ([]*hcl.Attribute, bool) {
	body, ok := f.parser.native(src)
	if !ok {
		return nil, false
	}
	for _, b := range body.Blocks {
		f.add(b.TypeRange, "a file of variables contains no blocks",
			"Write NAME = VALUE. A variable is declared in PIPELINE.hcl.")
	}
	attrs := make(map[string]*hcl.Attribute)
	for name, a := range body.Attributes {
		attrs[name] = a.AsHCLAttribute()
	}
	return byPlace(attrs), true
}

// json parses a JSON object. Text in it is taken literally.
func (f *varFile) json(src []byte) ([]*hcl.Attribute, bool) {
	if first := bytes.TrimLeft(src, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		f.whole("the file is not a JSON object", `Write { "NAME": VALUE }.`)
		return nil, false
	}
	file, diags := hcljson.Parse(src, f.path)
	if !f.syntax(diags) {
		return nil, false
	}
	attrs, diags := file.Body.JustAttributes()
	f.syntax(diags)
	return byPlace(attrs), true
}

// written returns the value of an expression that names nothing and calls nothing, or what is wrong with it.
func written(expr hcl.Expression) (v cty.Value, summary, detail string) {
	const plainly = "A file of variables names no other values and calls no functions. Put text in quotes."
	if native, ok := expr.(hclsyntax.Node); ok {
		calls := false
		_ = hclsyntax.VisitAll(native, func(n hclsyntax.Node) hcl.Diagnostics { // it gives back what the visitor gives: nothing
			_, call := n.(*hclsyntax.FunctionCallExpr)
			calls = calls || call
			return nil
		})
		if calls || len(expr.Variables()) > 0 {
			return cty.NilVal, "this value is not written out", plainly
		}
	}
	v, diags := guard.Constant(expr)
	_, fits := guard.SizeOf(v)
	switch {
	case diags.HasErrors() || !v.IsWhollyKnown():
		return cty.NilVal, "this value cannot be read", plainly
	case v.IsNull():
		return cty.NilVal, "this value is null", "Leave it out, or give it a value."
	case !fits:
		return cty.NilVal, "this value is larger than 1 MiB", "Keep data in files of their own."
	}
	return v, "", ""
}

// at returns a fault of the value of that name. The line is shown without the value where that may be secret.
func (f *varFile) at(name, summary, detail string) pipeline.Error {
	v := f.values[name]
	where := v.at
	if strings.HasPrefix(summary, "there is no variable") {
		where = v.nameAt
	}
	e := f.parser.at(where, summary, detail)
	if line := []rune(e.Source); f.secret {
		from := len(line)
		if v.at.Start.Line == e.Pos.Line {
			from = min(max(v.at.Start.Column-1, 0), from)
		}
		e.Source = string(line[:from]) + strings.Repeat("*", len(line)-from)
	}
	return e
}
