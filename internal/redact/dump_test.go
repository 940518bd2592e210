package redact

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What the programs print, one row each.
func TestDumps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, out string }{
		{
			"xxd", "00000000: 6162 2068 756e 7465 7232 322d 7661 6c75  ab hunter22-valu\n00000010: 650a                                     e.\n",
			"00000000: 6162 [redacted]\n[redacted]\n",
		},
		{"xxd -g 1 -u", "00000000: 61 62 20 68 75 6E 74 65 72 32 32 2D 76 61 6C 75  ab hunter22-valu\r\n00000010: 65  e", "00000000: 61 62 20 [redacted]\r\n[redacted]"},
		{"xxd -c 6 -g 4", "00000000: 20206875 6e74    hunt\n00000006: 65723232 2d76  er22-v\n0000000c: 616c7565 2121  alue!!\n00000012: 2121  !!\n", "00000000: [redacted]\n[redacted]\n[redacted]\n00000012: 2121  !!\n"},
		{"xxd -c 1", strings.Join(xxd1("(hunter22-value)"), "\n"), "00000000: 28  (\n00000001: " + strings.Repeat(Mark+"\n", 14) + "0000000f: 29  )"},
		{"hexdump -C", "$ hexdump -C\n00000000  68 75 6e 74 65 72 32 32  2d 76 61 6c 75 65 20 7c  |hunter22-value ||\n0000000f\n$ ", "$ hexdump -C\n00000000  [redacted]\n0000000f\n$ "},
		{"hexdump, an odd byte first", "0000000 6820 6e75 6574 3272 2d32 6176 756c 0065\n0000010\n", "0000000 [redacted]\n0000010\n"},
		{"od -An", " 072550 072156 071145 031062 073055 066141 062565 000012\n", " [redacted]\n"},
		{"od -t o4, big-endian", "0000000 15035267164 14534431062 05535460554 16531205012\n", "0000000 [redacted]\n"},
		{"od -c", "0000000   h   u   n   t   e   r   2   2   -   v   a   l   u   e  \\n\n0000017\n", "0000000   [redacted]\n0000017\n"},
		{"od -An -c", "   h   u   n   t   e   r   2   2   -\n   v   a   l   u   e  \\0\n", "   [redacted]\n[redacted]\n"},
		{"od -c of a BSD", "0000000    h   u   n   t   e   r   2   2   -   v   a   l   u   e  \\n     \n", "0000000    [redacted]\n"},
		{"od -An -c -w1 of a BSD", "    " + strings.Join(strings.Split("hunter22-value", ""), "\n    "), "    " + strings.TrimSuffix(strings.Repeat(Mark+"\n", 14), "\n")},
		{"od -a", "0000000   h   u   n   t   e   r   2   2   -   v   a   l   u   e  nl\n", "0000000   [redacted]\n"},
		{"od -b", "0000000 150 165 156 164 145 162 062 062\n0000010 055 166 141 154 165 145 012\n", "0000000 [redacted]\n[redacted]\n"},
		{"od -t u1", " 104 117 110 116 101 114  50  50\n  45 118  97 108 117 101\n", " [redacted]\n[redacted]\n"},
		{"od -t x1z", "0000000 68 75 6e 74 65 72 32 32  >hunter22<\n0000010 2d 76 61 6c 75 65  >-value<\n", "0000000 [redacted]\n[redacted]\n"},
		{"od -t cz", "0000000   h   u   n   t   e   r   2   2  >hunter22<\n0000010   -   v   a   l   u   e          >-value<\n", "0000000   [redacted]\n[redacted]\n"},
		{"xxd -R", "00000000: \x1b[1;32m6162\x1b[0m \x1b[1;32m2068\x1b[0m \x1b[1;32m756e\x1b[0m \x1b[1;32m7465\x1b[0m  \x1b[1;32mab hunte\x1b[0m\n00000008: \x1b[1;32m7232\x1b[0m \x1b[1;32m322d\x1b[0m \x1b[1;32m7661\x1b[0m\n0000000e: 6c75 6521  lue!\n", "00000000: \x1b[1;32m6162\x1b[0m \x1b[1;32m[redacted]\n[redacted]\n[redacted]\n"},
		{"grep --color of od -c", "\x1b[01;31m\x1b[K0000000\x1b[m\x1b[K   \x1b[31mh   u\x1b[m   n   t   e   r   2   2   -   v   a   l   u   \x1b[31me\x1b[m\n", "\x1b[01;31m\x1b[K0000000\x1b[m\x1b[K   \x1b[31m[redacted]\n"},
		{"two values in a line", " 104 117 110 116 101 114  50  50  45 118  97 108 117 101 104 117 110 116 101 114  50  50\n 45 118  97 108 117 101", " [redacted]\n[redacted]"},
		{"base64 of it", "00000000: 6148 5675 6447 5679 4d6a 4974  aHVudGVyMjIt\n0000000c: 646d 4673 6457 553d  dmFsdWU=\n", "00000000: [redacted]\n[redacted]\n"},
		{"a line between", " 104 117 110 116 101 114  50  50\n-\n  45 118  97 108 117 101\n", " 104 117 110 116 101 114  50  50\n-\n  45 118  97 108 117 101\n"},
		{"a line that goes on differently", "00000000  68 75 6e 74 65 72 32 32\n00000008  2d 76 61 6c 75 65 and more", "00000000  68 75 6e 74 65 72 32 32\n00000008  2d 76 61 6c 75 65 and more"},
		{"a long line", " 104 117 110 116 101 114  50  50  45 118  97 108 117" + strings.Repeat(" ", maxDumpLine) + "101\n", " 104 117 110 116 101 114  50  50  45 118  97 108 117" + strings.Repeat(" ", maxDumpLine) + "101\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setOf("hunter22-value")
			if len(tt.in) > 1000 {
				if got := s.String(tt.in); got != tt.out {
					t.Errorf("got %q", got)
				}
				return
			}
			wantEverywhere(t, s, tt.in, tt.out)
			if _, found := s.Find([]byte(tt.in)); found != (tt.in != tt.out) {
				t.Errorf("Find says %v", found)
			}
		})
	}
}

// Characters show blanks as blanks, which stay at the beginning.
func TestDumpsOfBlanks(t *testing.T) {
	t.Parallel()
	wantEverywhere(t, setOf(" two  words"), "0000000   :       t   w   o           w\n0000010   o   r   d   s  \\n\n", "0000000   :    [redacted]\n[redacted]\n")
}

// xxd1 is what xxd -c 1 prints of text.
func xxd1(text string) (lines []string) {
	for i := range len(text) {
		lines = append(lines, fmt.Sprintf("%08x: %02x  %c", i, text[i], text[i]))
	}
	return lines
}

// Of two values of the same length the programs print the same but for what has to go.
func TestDumpsOfPrograms(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"xxd", "xxd -c 5", "xxd -c 1", "xxd -c 32", "xxd -g 1", "xxd -g 1 -u", "xxd -g 4 -c 7", "xxd -g 8", "xxd -e", "xxd -d", "xxd -g 3",
		"hexdump", "hexdump -C", "hexdump -c", "hexdump -b", "hexdump -v",
		"od", "od -c", "od -a", "od -b", "od -t x1", "od -t x2", "od -t x4", "od -t x8", "od -t u1", "od -t d1", "od -t o1", "od -t o2",
		"od -t o4", "od -t o8", "od -tx1z", "od -tx2z -w6", "od -tcz", "od -An -tx1", "od -An -c", "od -An", "od -An -td1", "od -v -w4",
		"od -A x -t x1z -v", "od -Ad -c -w7",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(command)
			program, err := exec.LookPath(args[0])
			if err != nil {
				t.Skip(err)
			}
			run := func(data string) string {
				cmd := exec.CommandContext(t.Context(), program, args[1:]...)
				cmd.Stdin = strings.NewReader(data)
				out, err := cmd.Output()
				if err != nil {
					t.Skip("this", args[0], "does not know the options:", err)
				}
				return string(out)
			}
			for _, before := range []int{0, 1, 2, 7, 15, 16, 21} {
				start, end := "before the value is this"[:before], "and after it\n"
				one, two := "hunter22-hunter33 long", "qwzyxv::qwzyxv;;;kmjg!"
				in := run(start + one + end)
				got := setOf(one).String(in)
				if other := setOf(two).String(run(start + two + end)); oneBlank(got) != oneBlank(other) || got == in {
					t.Fatalf("of two values there is left\n%s\n%s", got, other)
				}
				if n := strings.Count(got, "\n"); n != strings.Count(in, "\n") {
					t.Errorf("%d lines of\n%s", n, in)
				}
				for _, size := range []int{1, 2, 3, 7, 50, 100} {
					if chunks := stream(t, setOf(one), in, func() int { return size }); chunks != got {
						t.Fatalf("in chunks of %d:\n%s\nwant\n%s", size, chunks, got)
					}
				}
			}
		})
	}
}

// A dumper prints bytes as a program does.
type dumper struct {
	width  int // bytes of a line
	size   int // bytes of a column
	offset string
	column func(b []byte) string // b has size bytes, or fewer at the end
	text   func(s string, width int) string
}

func (d dumper) dump(data []byte) string {
	var b strings.Builder
	for at := 0; at < len(data); at += d.width {
		line := data[at:min(len(data), at+d.width)]
		if d.offset != "" {
			fmt.Fprintf(&b, d.offset, at)
		}
		columns := ""
		for i := 0; i < len(line); i += d.size {
			columns += d.column(line[i:min(len(line), i+d.size)])
		}
		if d.text != nil {
			missing := (d.width+d.size-1)/d.size*len(d.column(make([]byte, d.size))) - len(columns)
			columns += strings.Repeat(" ", missing) + d.text(string(line), d.width)
		}
		b.WriteString(columns + "\n")
	}
	return b.String()
}

// number returns a column that shows its bytes as one little-endian number.
func number(format string) func(b []byte) string {
	return func(b []byte) string {
		n := uint64(0)
		for i, c := range b {
			n |= uint64(c) << (8 * i)
		}
		return fmt.Sprintf(format, n)
	}
}

// character is a column of od -c.
func character(b []byte) string {
	switch i := strings.IndexByte("\x00\a\b\t\n\v\f\r", b[0]); {
	case i >= 0:
		return `  \` + "0abtnvfr"[i:i+1]
	case b[0] < ' ' || b[0] > '~':
		return fmt.Sprintf(" %03o", b[0])
	}
	return "   " + string(b)
}

func printable(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '.'
		}
	}
	return string(b)
}

var (
	xxdText     = func(s string, _ int) string { return " " + printable(s) }
	odText      = func(s string, _ int) string { return "  >" + printable(s) + "<" }
	hexdumpText = func(s string, _ int) string { return "  |" + printable(s) + "|" }
)

var dumpers = []dumper{
	{size: 1, offset: "%08x: ", column: func(b []byte) string { return fmt.Sprintf("%x ", b) }, text: xxdText},
	{size: 2, offset: "%08x: ", column: func(b []byte) string { return fmt.Sprintf("%X ", b) }, text: xxdText},
	{size: 4, offset: "%08x: ", column: func(b []byte) string { return fmt.Sprintf("%x ", b) }, text: xxdText},
	{size: 8, offset: "%08x: ", column: func(b []byte) string { return fmt.Sprintf("%x ", b) }, text: xxdText},
	{size: 1, offset: "%08x ", column: number(" %02x"), text: hexdumpText},
	{size: 1, offset: "%07o", column: number(" %02x"), text: odText},
	{size: 2, offset: "%07o", column: number(" %04x")},
	{size: 4, offset: "%06x", column: number(" %08x"), text: odText},
	{size: 8, column: number(" %016x")},
	{size: 1, offset: "%07o", column: number(" %03o")},
	{size: 2, offset: "%07o", column: number(" %06o"), text: odText},
	{size: 4, column: number(" %011o")},
	{size: 8, offset: "%07d", column: number(" %022o")},
	{size: 1, offset: "%07o", column: number(" %3d"), text: odText},
	{size: 1, column: func(b []byte) string { return fmt.Sprintf(" %4d", int8(b[0])) }},
	{size: 1, offset: "%07o", column: character},
	{size: 1, column: character, text: odText},
}

// oneBlank leaves one blank where there are several: how many are before a number tells how many digits it has.
func oneBlank(s string) string {
	s = strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(decolour(s))
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
}

// Whatever program dumps whatever data, of two values there is left the same, and the lines without them pass.
func TestDumpProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(minPart, 60).Draw(t, "length")
		value := rapid.SliceOfN(rapid.SampledFrom([]byte("ghijklmnopqrstuvwxyz |<>:\\\xe9\xc3\xa9\x80\xff")), length, length)
		other := rapid.SliceOfN(rapid.ByteRange(0, 0x1f), 0, 70)
		d := rapid.SampledFrom(dumpers).Draw(t, "dumper")
		d.width = max(d.size, rapid.SampledFrom([]int{1, 2, 6, 8, 16, 20, 32}).Draw(t, "width")/d.size*d.size)
		before, after := other.Draw(t, "before"), other.Draw(t, "after")
		around := rapid.SampledFrom([]string{"", "text\n", "   x\n", "\n", "0000000\n"})
		head, tail := around.Draw(t, "head"), around.Draw(t, "tail")
		coloured := strings.NewReplacer(rapid.SampledFrom([][]string{
			nil, {" ", " \x1b[1m"}, {" ", "\x1b[0m "}, {"\n", "\n\x1b[01;31m\x1b[K", " ", "\x1b[m\x1b[K "},
		}).Draw(t, "colours")...)
		redacted := func(name string) (text, got string) {
			v := value.Draw(t, name)
			for _, end := range []int{0, length - 1} { // characters show no blank there
				v[end] = max(v[end], '!')
			}
			data := string(before) + string(v) + string(after)
			text = head + coloured.Replace(d.dump([]byte(data))) + tail
			got = setOf(string(v)).String(text)
			wantBoth(t, setOf(string(v)), text, got, 50)
			return text, got
		}
		text, got := redacted("one")
		if _, other := redacted("two"); oneBlank(got) != oneBlank(other) {
			t.Fatalf("of two values there is left\n%s\n%s", got, other)
		}
		in, out := strings.Split(text, "\n"), strings.Split(got, "\n")
		if len(in) != len(out) {
			t.Fatalf("%d lines of\n%s\nare\n%s", len(in), text, got)
		}
		lines := strings.Count(head, "\n")
		first, last := lines+len(before)/d.width, lines+(len(before)+length-1)/d.width
		for i := range in {
			if (in[i] != out[i]) != (first <= i && i <= last) {
				t.Fatalf("line %d of\n%s\nis\n%s", i, text, got)
			}
		}
	})
}

// Whatever may be a dump or not, in many readings: the stream is what String returns for the whole.
func TestDumpLikeProperty(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{
		" ", "  ", "   ", "    ", " 1", " 11", "  1", "   1", "    1", " 111", " 001", " 31", " 3131", " 31313131", " 000061", " 030461", " -1",
		"  49", " 49", "1", "11", "a", "0000000", "000000", "00000000:", "  >11<", "  |11|", "  11", "  >", "|", "  \\1", "   \\", "  sp", "\x1b[m", "\x1b", "[", "m",
		"\r", "\r\n", "\n", "\n", "\n", "\n 31 31 31", "\n   1   1   1", "\n000000", "\n  49  49  49", "\n 061 061",
	})
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`1{6,8}|[1 a\\]{6}|(1a){3}`), 1, 3).Draw(t, "secrets")
		text := strings.Join(rapid.SliceOfN(pieces, 0, 60).Draw(t, "pieces"), "")
		s := setOf(secrets...)
		wantBoth(t, s, text, s.String(text), 20)
	})
}

// Dumps of other data and tables of numbers pass as they are.
func TestDumpsWithoutValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9_+/]{8,40}`), 1, 20).Draw(t, "secrets")
		d := rapid.SampledFrom(dumpers).Draw(t, "dumper")
		d.width = max(d.size, 16)
		text := d.dump(rapid.SliceOfN(rapid.ByteRange(' ', '~'), 0, 200).Draw(t, "data")) + "*\n"
		for range rapid.IntRange(0, 20).Draw(t, "rows") {
			for range 6 {
				text += fmt.Sprintf(rapid.SampledFrom([]string{" %d", " %4d", " %02d", " %06o", " %3d|"}).Draw(t, "number"), rapid.IntRange(0, 300).Draw(t, "value"))
			}
			text += "\n"
		}
		for _, v := range secrets {
			if strings.Contains(text, v) {
				t.Skip("it is there")
			}
		}
		wantBoth(t, setOf(secrets...), text, text, 100)
	})
}

// A line of a dump is held from the first byte on that may be a value's, and no prompt is.
func TestWriterHoldsOnlyDumps(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{
		"$ ", "> ", " > ", "   > ", " ?", "  :", "88", " ", "    ", "00000000: ", "0000000 ", "0000000 7c 7e ", "  a) b\n  c) d\n  ? ",
		"   a   b   c", "1) ", "  1) ", "  5%", " - ", "    Name: ", "deadbeef", "deadbee: fix", "0000020\n", "  12 files, continue? ",
	} {
		var out strings.Builder
		wantSteps(t, setOf("hunter22-value"), &out, step{prompt, prompt})
	}
	var out strings.Builder
	wantSteps(t, setOf("hunter22-value"), &out,
		step{"0000000 61 68 7", "0000000 61 "},
		step{"5 6e 74 65 72 32 32\n", "0000000 61 "},
		step{"0000010", "0000000 61 "},
		step{" 2d 76 61 6c 75 65 0a", "0000000 61 "},
		step{"\n0000020\n$ ", "0000000 61 [redacted]\n[redacted]\n0000020\n$ "},
		step{" 6875 6e74 ", "0000000 61 [redacted]\n[redacted]\n0000020\n$  6875 6e74 "},
		step{"\n 6875 6e74", "0000000 61 [redacted]\n[redacted]\n0000020\n$  6875 6e74 \n "},
		step{" ?", "0000000 61 [redacted]\n[redacted]\n0000020\n$  6875 6e74 \n 6875 6e74 ?"},
	)
}

// A value that is added while its dump is held is removed, and so is one that was known before.
func TestAddWhileDumping(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := setOf("hunter22-value")
	w := wantSteps(t, s, &out, step{"0000000 61 68 75 6e 74 65\n", "0000000 61 "})
	s.Add("B", "ter22-other")
	if _, err := w.Write([]byte("0000006 72 32 32 2d 76 61\n000000c 6c 75 65 0a\n0000020\n0000000 72 32 32 74 65 72\n")); err != nil {
		t.Fatal(err)
	}
	s.Add("C", "er22-third")
	if _, err := w.Write([]byte("0000006 32 32 2d 74 68 69\n000000c 72 64 0a\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := "0000000 61 [redacted]\n[redacted]\n[redacted]\n0000020\n0000000 72 32 32 74 [redacted]\n[redacted]\n[redacted]\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// What is no line of a dump because of its beginning stays so when a value is added before its end.
func TestAddWithinLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := setOf("hunter22-value")
	const cells = "   h   u   n   t   e   r   2   2   -   v   a   l   u   e\n"
	w := wantSteps(t, s, &out, step{"see", "see"})
	s.Add("B", "another-value")
	if _, err := w.Write([]byte(cells + cells)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "see" + cells + "   [redacted]\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// A long dump is not kept.
func TestDumpIsForgotten(t *testing.T) {
	t.Parallel()
	m, c := setOf("hunter22-value").matcher(), &dumpCursor{}
	text := dumpers[4]
	text.width = 16
	line := []byte(text.dump([]byte("hunter22 or so, ")))
	for i := range 100 {
		m.dumps(c, line, int64(i*len(line)), false, nil)
	}
	if len(c.text) > 2*len(line) || len(c.lines) > 1 {
		t.Errorf("%d bytes and %d lines are kept", len(c.text), len(c.lines))
	}
}
