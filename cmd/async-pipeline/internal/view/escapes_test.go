package view

import (
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func TestTaskText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", mostEscape)
	for _, tt := range []struct{ name, in, want string }{
		{"cargo fmt and tput sgr0", "\x1b(B\x1b[m-fn\x1b[31m a\x1b(B\x1b[m b", "-fn a b"},
		{"tput sgr0 of vt100 and screen", "a\x1b[m\x0fb\x0ec", "abc"},
		{"a title, ended by BEL", "\x1b]0;title\x07text", "text"},
		{"a title, ended by ST", "\x1b]2;größer\x1b\\text", "text"},
		{"a link keeps its text", "see \x1b]8;;https://a.example/b\x1b\\the page\x1b]8;;\x1b\\.", "see the page."},
		{"other strings", "a\x1bPq#0\x1b\\b\x1b_x\x1b\\c\x1b^x\x1b\\d\x1bXx\x1b\\e", "abcde"},
		{"cursor", "a\x1b[2Jb\x1b[?25lc\x1b[1 qd\x1b[10;4He", "abcde"},
		{"two bytes", "a\x1b7b\x1b8c\x1bMd\x1b=e\x1b>f\x1bcg", "abcdefg"},
		{"three bytes", "a\x1b#8b\x1b%Gc\x1b)0d", "abcd"},
		{"no end", "a\x1b]0;title and the text after it", "a^[]0;title and the text after it"},
		{"an end on no line", "a\x1b]0;ti\ttle\x07b", "a^[]0;ti\ttle^Gb"},
		{"too long", "a\x1b]0;" + long + "\x07b", "a^[]0;" + long + "^Gb"},
		{"too long a CSI", "a\x1b[" + strings.Repeat("1", mostEscape) + "mb", "a^[[" + strings.Repeat("1", mostEscape) + "mb"},
		{"BEL ends nothing but an OSC", "\x1bPq\x07b", "^[Pq^Gb"},
		{"cut at the end", "a\x1b[31", "a^[[31"},
		{"a lone escape", "a\x1b", "a^["},
		{"an escape before what it cannot begin", "a\x1b\x01ä\x1b\x1b[mb", "a^[^Aä^[b"},
		{"no CSI", "a\x1b[1\x01mb", "a^[[1^Amb"},
		{"backspace and bell are shown", "a\bb\x07", "a^Hb^G"},
	} {
		if got := taskText(tt.in, false); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got, want := taskText("\x1b]0;t\x07\x1b(B\x1b[1;31mred\x1b[2K\x1b(B\x1b[m", true), "\x1b[1;31mred\x1b[m\x1b[0m"; got != want {
		t.Errorf("with colours: %q, want %q", got, want)
	}
	// What is read to be judged hides nothing.
	if got, want := clean("a\x1b]0;evil\x07b", true), "a^[]0;evil^Gb"; got != want {
		t.Errorf("clean: %q, want %q", got, want)
	}
}

// A sequence that is cut over two reads, anywhere, also in a line too long to be held.
func TestEscapesInPieces(t *testing.T) {
	t.Parallel()
	fill := strings.Repeat("ä", longLine/2)
	text := fill + "\x1b]8;;https://a.example/\x1b\\page\x1b(B\x1b[1;32mok\x1b[0m"
	want := fill + "pageok"
	for at := len(fill) - 1; at <= len(text); at++ {
		var lines, log strings.Builder
		l := (&Screen{W: &lines}).Lines([]string{"a"})
		l.Output("a", []byte(text[:at]))
		l.Output("a", []byte(text[at:]))
		l.Finished(record.Task{Name: "a", Status: record.Passed})
		if got, want := lines.String(), "a │ "+want+"\n✓ a passed\n"; got != want {
			t.Fatalf("cut at %d: …%q", at-len(fill), got[max(len(got)-90, 0):])
		}
		shown := (&Screen{W: &log}).LogText()
		for _, part := range []string{text[:at], text[at:]} {
			if _, err := shown.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := shown.Flush(); err != nil || log.String() != want+"\n" {
			t.Fatalf("log cut at %d: …%q, %v", at-len(fill), log.String()[max(log.Len()-90, 0):], err)
		}
	}
}

// An OSC that never ends is shown, and what comes after it too.
func TestEscapeWithoutEnd(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	l := (&Screen{W: &b}).Lines([]string{"a"})
	l.Output("a", []byte("\x1b]0;"+strings.Repeat("x", 2*longLine)))
	if !strings.HasPrefix(b.String(), "a │ ^[]0;xxx") || b.Len() < longLine {
		t.Errorf("%d bytes are shown: %.40q", b.Len(), b.String())
	}
	l.Output("a", []byte("\nnext\n"))
	if !strings.HasSuffix(b.String(), "x\na │ next\n") {
		t.Errorf("it ends with %q", b.String()[b.Len()-20:])
	}
}

func TestTailOfLinesDrawnOver(t *testing.T) {
	t.Parallel()
	got := strings.Join(tailLines([]byte("0\na\r\n10%\r50%\r90%\r\r\n1%\r2%\nend\r"), 4), "|")
	if want := "a|90%|2%|end"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEscapesOfTheLastLine(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	live := (&Screen{Columns: 60}).Live([]string{"a"}, func() time.Time { return now })
	live.Started(&pipeline.Task{Name: "a"})
	for _, tt := range []struct{ says, want string }{
		{"one\n\x1b]0;title\x07two\x1b(B\x1b[m", "two"},
		{"\n\x1b]8;;x\x1b\\thr", "thr"},
		{"ee\x1b]8;;", "three"},
		{"\x1b", "three"},
		{"\\ four", "three four"},
	} {
		live.Output("a", []byte(tt.says))
		if got := live.rows[0].last(); got != tt.want {
			t.Errorf("after %q: %q, want %q", tt.says, got, tt.want)
		}
	}
}
