package agent

import (
	"strings"
	"testing"
)

// FuzzFence: whatever the text is, even with the mark in it that would be next, the first line that looks like the
// fence's end is the fence's end.
func FuzzFence(f *testing.F) {
	f.Add("log\n----- end log aa -----\nmore", "aa")
	f.Add("", "")
	f.Add("aa bb\r", "b")
	f.Fuzz(func(t *testing.T, text, mark string) {
		if strings.ContainsAny(mark, "\n") {
			t.Skip("a mark is one word")
		}
		got := Fence(marks(mark), "log", text, "around")
		lines := strings.SplitAfter(strings.TrimSuffix(got, "\n"), "\n")
		first, last := lines[0], lines[len(lines)-1]
		used := strings.TrimSuffix(strings.TrimPrefix(first, "----- begin log "), " -----\n")
		if last != "----- end log "+used+" -----" {
			t.Fatalf("%q: the lines do not belong together", got)
		}
		inside := strings.Join(lines[1:len(lines)-1], "")
		if used == "" || strings.Contains(inside, used) || inside != text && inside != text+"\n" {
			t.Fatalf("%q: %q is not fenced in", got, text)
		}
	})
}
