package layout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"pgregory.net/rapid"

	"github.com/async-pipeline/async-pipeline/pipeline/hclfile/layout"
)

// Files are laid out as hclwrite does, also those that are no HCL.
func TestOf(t *testing.T) {
	t.Parallel()
	same := func(t interface{ Fatalf(string, ...any) }, src []byte) {
		if diff := cmp.Diff(string(hclwrite.Format(src)), string(layout.Of(src))); diff != "" {
			t.Fatalf("%q\n%s", src, diff)
		}
	}
	files, _ := filepath.Glob("../testdata/*/*.hcl")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		same(t, src)
	}
	for op := range strings.FieldsSeq("( [ { = : , ? + * / % - == != > >= < <= && || ! => ) ] }") {
		same(t, []byte("a = b "+op+" - c\n"))
	}
	for _, src := range []string{"f(<<E\n${x(\nE\n)\nb\n", "a = f([<<E\n)\nE\n, (\n1)\n]\nb\n", "f <<E {\nx\nE\n  y\n}\n", "f [<<E\n${{\nE\n( {\nb\n"} {
		same(t, []byte(src))
	}
	brackets := strings.Fields("( ) ( ) [ ] [ ] { } ${ } a = 1 #")
	all := strings.Split("a in for if b::c f( ( ) { } [ ] = == != ! - + * / % , . ... : ? => && || < <= > >= 1 2.5e3 "+
		"\" x \"x\" ${ %{ %{if ~} $${ <<E\n E\n <<-E\n # //c\n #\u00a0é\n /*c*/ /* \n \r\n 日本 e\u0301 ' ` @ ; \x00 \xff \ufeff null true", " ")
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SampledFrom(rapid.SampledFrom([][]string{brackets, all}).Draw(t, "of"))
		var src strings.Builder
		for _, p := range rapid.SliceOfN(pieces, 0, 40).Draw(t, "pieces") {
			src.WriteString(p + rapid.SampledFrom([]string{"", " ", " ", "  ", "\t", "\n"}).Draw(t, "space"))
		}
		same(t, []byte(src.String()))
	})
}
