package hclfile

import (
	"math/big"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// retry reads the retry block of a task.
func (r *reading) retry(b *block) pipeline.Retry {
	var t pipeline.Retry
	if a := r.need(b, "attempts", "Write attempts = 2.", "the retry block has no attempts"); a != nil {
		t.Attempts, _ = r.number(a, 1, 10)
	}
	if a := b.attrs["delay"]; a != nil {
		t.Delay, _ = r.duration(a)
	}
	if a := b.attrs["on_exit"]; a != nil {
		t.OnExit = r.exitCodes(a)
	}
	return t
}

// exitCodes reads a list of exit codes that are failures, without doubles.
func (r *reading) exitCodes(a *hcl.Attribute) []int {
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
		if v.Type() != cty.Number {
			r.wrongType(i.at, "a code in "+a.Name, "a whole number, without quotes", v)
			continue
		}
		n, accuracy := v.AsBigFloat().Int64()
		if accuracy != big.Exact || n < 1 || n > 255 {
			r.addf(i.at, "0 is a task that passed, and no program can exit with more than 255.", "a code in %s must be a whole number from 1 to 255", a.Name)
			continue
		}
		if !slices.Contains(all, int(n)) {
			all = append(all, int(n))
		}
	}
	return all
}

// dotenv reads the names of a task's files of variables. What is in them is read when the task is about to run.
func (r *reading) dotenv(b *block) []string {
	return r.strs(b, "dotenv", `[".env"]`, func(s string, at hcl.Range) (string, bool) {
		clean := path.Clean(s)
		switch {
		case strings.TrimSpace(s) == "":
			r.add(at, "dotenv holds an empty name", `Write the name of a file, such as ".env".`)
		case path.IsAbs(s):
			r.add(at, "dotenv holds an absolute path", "It is relative to the folder of PIPELINE.hcl, and inside it.")
		case clean == ".." || strings.HasPrefix(clean, "../"):
			r.add(at, "dotenv leaves the root", "It is relative to the folder of PIPELINE.hcl, and inside it.")
		case strings.ContainsAny(s, "*?[]{}"):
			r.add(at, "dotenv holds a pattern", "Name each file: which one wins depends on their order.")
		case clean == "." || strings.HasSuffix(s, "/"):
			r.add(at, "dotenv names a folder", `Write the name of a file, such as ".env".`)
		default:
			return clean, true
		}
		return "", false
	})
}
