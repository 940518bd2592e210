package hclfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// plainTasks is a file of n tasks as people write them, with a few of each kind of expression.
func plainTasks(n int) string {
	var b strings.Builder
	b.WriteString("variable \"go\" {\n  default = \"go\"\n}\nlocals {\n  sources = [\"**/*.go\", \"go.mod\"]\n}\n")
	for i := range n {
		fmt.Fprintf(&b, "task \"t%d\" {\n", i)
		if i > 0 {
			fmt.Fprintf(&b, "  depends_on = [task.t%d]\n", i/2)
		}
		if i%10 == 0 {
			b.WriteString("  inputs     = local.sources\n  run        = [var.go, \"test\", \"./...\"] # all of it\n")
		} else {
			b.WriteString("  run        = [\"true\"]\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// decode is what reading costs with the parser alone: parsing, and finding the value of every attribute that has one.
func decode(tb testing.TB, src []byte) {
	file, diags := hclsyntax.ParseConfig(src, "", hcl.InitialPos)
	if diags.HasErrors() {
		tb.Fatal(diags)
	}
	for _, block := range file.Body.(*hclsyntax.Body).Blocks {
		attrs, _ := block.Body.JustAttributes()
		for _, a := range attrs {
			if len(a.Expr.Variables()) == 0 {
				_, _ = a.Expr.Value(nil)
			}
		}
	}
}

// BenchmarkLoad reads a file, and gives what that takes as a multiple of what the parser alone takes in the same run
// (x-hclsyntax), and the memory that is in use when it has been read (MB-live).
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n, "-tasks"), func(b *testing.B) {
			src := []byte(plainTasks(n))
			path := filepath.Join(b.TempDir(), hclfile.Name)
			check(b, os.WriteFile(path, src, 0o600))
			var ours, theirs time.Duration
			var live uint64
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				c, err := hclfile.Load(path, hclfile.Options{})
				ours += time.Since(start)
				if err != nil || len(c.Tasks) != n {
					b.Fatal(err)
				}
				b.StopTimer()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				live = max(live, m.HeapAlloc)
				start = time.Now()
				decode(b, src)
				theirs += time.Since(start)
				runtime.KeepAlive(c)
				b.StartTimer()
			}
			b.ReportMetric(ours.Seconds()/theirs.Seconds(), "x-hclsyntax")
			b.ReportMetric(float64(live)/(1<<20), "MB-live")
		})
	}
}
