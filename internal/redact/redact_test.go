package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func setOf(values ...string) *Set {
	s := new(Set)
	for _, v := range values {
		s.Add("NAME_"+v, v)
		for _, part := range InURLs(v) {
			s.Add("NAME_"+v, part)
		}
	}
	return s
}

func TestString(t *testing.T) {
	t.Parallel()
	pem := "-----BEGIN KEY-----\nMIIBVwIBADANBg\n  k+qhkiG9w0B==\nabc\n-----END KEY-----\n"
	tests := []struct {
		name    string
		secrets []string
		in, out string
	}{
		{"no secrets", nil, "plain text", "plain text"},
		{"empty text", []string{"hunter22"}, "", ""},
		{"nothing to find", []string{"hunter22"}, "hunter2 hunter3", "hunter2 hunter3"},
		{"alone", []string{"hunter22"}, "hunter22", "[redacted]"},
		{"in the middle, twice", []string{"hunter22"}, "a hunter22 b hunter22 c", "a [redacted] b [redacted] c"},
		{"side by side", []string{"hunter22"}, "hunter22hunter22", "[redacted][redacted]"},
		{"a prefix of another: longest wins", []string{"secret", "secretvalue"}, "secretvalue secretval", "[redacted] [redacted]val"},
		{"inside another", []string{"secret", "my-secret-value"}, "my-secret-value my-secret-", "[redacted] my-[redacted]-"},
		{"a suffix of another", []string{"value-1", "secret-value-1"}, "secret-value-1 value-1", "[redacted] [redacted]"},
		{"two overlap: no tail is left", []string{"abcdef", "defghi"}, "<abcdefghi>", "<[redacted]>"},
		{"three in a chain", []string{"abcdef", "efghij", "ijklmn"}, "<abcdefghijklmn>", "<[redacted]>"},
		{"one overlaps itself", []string{"abababab"}, "<ababababab>", "<[redacted]>"},
		{"too short is kept", []string{"abc"}, "abc", "abc"},
		{"a short word", []string{"ab1d"}, "ab1d, =ab1d; ab1de xab1d 9ab1d9 (ab1d", "[redacted], =[redacted]; ab1de xab1d 9ab1d9 ([redacted]"},
		{"a short word in a digest", []string{"ab1d"}, "sha256:00ab1d00", "sha256:00ab1d00"},
		{"a short word that nearly any text has", []string{"true"}, "true", "true"},
		{"a short value in quotes", []string{`a"\b`}, `{"p":"a\"\\b"} a"\b`, `{"p":"[redacted]"} [redacted]`},
		{"two short ones, one in the other", []string{"a-1b", "a-1b+"}, "a-1b a-1b+ a-1b.", "[redacted] [redacted] [redacted]."},
		{"a short one at the end of a longer one", []string{"hunter-2b1", "2b1+"}, "hunter-2b1+.", "[redacted]."},
		{"letters of others are letters", []string{"ab1d"}, "éab1d ab1dé", "éab1d ab1dé"},
		{"the password of a URL", []string{"https://bob:p4ss@host/x"}, "p4ss https://bob:p4ss@other", "[redacted] https://[redacted]@other"},
		{"a common password of a URL", []string{"https://root:root@host/x"}, "root https://root:root@other", "root https://[redacted]other"},
		{"an escaped password of a URL", []string{"ftp://bob:p%40ss@host"}, "p@ss p%40ss", "[redacted] [redacted]"},
		{"a URL's name and password in a header", []string{"https://bob:p4ss@host"}, "Basic Ym9iOnA0c3M=", "Basic [redacted]"},
		{"as JSON", []string{"pass\"word\n\\x"}, `{"p":"pass\"word\n\\x"}`, `{"p":"[redacted]"}`},
		{"as JSON with HTML escapes", []string{"a<b>&cd"}, `"a\u003cb\u003e\u0026cd" "a<b>&cd"`, `"[redacted]" "[redacted]"`},
		{"lines of a key", []string{pem}, "x MIIBVwIBADANBg\r\ny k+qhkiG9w0B==\nabc", "x [redacted]\r\ny [redacted]\nabc"},
		{"a whole key", []string{pem}, "<" + pem + ">", "<[redacted]>"},
		{"a value with a line end, printed without", []string{"hunter22\n"}, "is hunter22.", "is [redacted]."},
		{"bytes that are no text", []string{"\x00\xff\xfe\x80\x01\x02"}, "a\x00\xff\xfe\x80\x01\x02b", "a[redacted]b"},
		{"one byte over and over", []string{"aaaaaa"}, "aaaaa aaaaaaa", "aaaaa [redacted]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setOf(tt.secrets...)
			wantEverywhere(t, s, tt.in, tt.out)
			in := []byte(tt.in)
			if got := s.Bytes(in); string(got) != tt.out {
				t.Errorf("Bytes(%q) = %q, want %q", tt.in, got, tt.out)
			}
			if string(in) != tt.in {
				t.Errorf("Bytes changed its argument to %q", in)
			}
		})
	}
}

// wantEverywhere compares what becomes of a text as a whole and in chunks of every size.
func wantEverywhere(t *testing.T, s *Set, in, want string) {
	t.Helper()
	if got := s.String(in); got != want {
		t.Errorf("String(%q) = %q, want %q", in, got, want)
	}
	for size := 1; size <= len(in); size++ {
		if got := stream(t, s, in, func() int { return size }); got != want {
			t.Errorf("in chunks of %d: %q, want %q", size, got, want)
		}
	}
}

// wantBoth compares what becomes of a text as a whole and in random chunks of at most so many bytes.
func wantBoth(t *rapid.T, s *Set, in, want string, most int) {
	t.Helper()
	if got := s.String(in); got != want {
		t.Fatalf("%q becomes\n%q, want\n%q", in, got, want)
	}
	sizes := rapid.IntRange(1, most)
	if got := stream(t, s, in, func() int { return sizes.Draw(t, "size") }); got != want {
		t.Fatalf("%q becomes the stream\n%q, want\n%q", in, got, want)
	}
}

// A step is what is written, and what has come out after it.
type step struct{ in, seen string }

// wantSteps writes the steps to a writer of s, and returns it.
func wantSteps(t *testing.T, s *Set, out *strings.Builder, steps ...step) io.WriteCloser {
	t.Helper()
	w := s.Writer(out)
	for _, st := range steps {
		if _, err := w.Write([]byte(st.in)); err != nil {
			t.Fatal(err)
		}
		if out.String() != st.seen {
			t.Errorf("after %q: %q, want %q", st.in, out.String(), st.seen)
		}
	}
	return w
}

// stream writes text in chunks of the sizes that next gives.
func stream(t rapid.TB, s *Set, text string, next func() int) string {
	var out strings.Builder
	w := s.Writer(&out)
	for len(text) > 0 {
		n := min(next(), len(text))
		if got, err := w.Write([]byte(text[:n])); err != nil || got != n {
			t.Fatal("Write:", got, err)
		}
		text = text[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal("Close:", err)
	}
	return out.String()
}

// For any values and any chunks the stream is what String returns for the whole, and no value is left in it.
func TestStreamProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Few letters make many overlaps; none of them stands in Mark.
		letters := rapid.SampledFrom([]string{"xy", "xyz\n", "xyzuvw \n\"<"}).Draw(t, "letters")
		word := rapid.StringOfN(rapid.RuneFrom([]rune(letters)), minPart, 14, -1)
		secrets := rapid.SliceOfN(word, 0, 6).Draw(t, "secrets")
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 0, 30, -1),
			rapid.SampledFrom(append([]string{""}, secrets...)),
		), 0, 12).Draw(t, "parts")
		text := strings.Join(parts, "")

		s := setOf(secrets...)
		whole := s.String(text)
		wantBoth(t, s, text, whole, 20)
		for _, v := range secrets {
			if strings.Contains(whole, v) {
				t.Fatalf("%q is left in %q", v, whole)
			}
		}
		if got := naive(secrets, text); got != whole {
			t.Fatalf("naive %q, String %q", got, whole)
		}
		if _, found := s.Find([]byte(text)); found != (whole != text) {
			t.Fatalf("Find says %v of %q, String made %q", found, text, whole)
		}
	})
}

// naive returns the definition: the union of all places, one Mark for each.
func naive(secrets []string, text string) string {
	hit := make([]bool, len(text))   // this byte goes
	joint := make([]bool, len(text)) // … together with the byte before
	for _, v := range secrets {
		for _, f := range forms(v) {
			for i := range len(text) {
				for k := i; k < stands(f, text, i); k++ {
					hit[k] = true
					joint[k] = joint[k] || k > i
				}
			}
		}
	}
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hit[i]:
			b.WriteByte(text[i])
		case !joint[i]:
			b.WriteString(Mark)
		}
	}
	return b.String()
}

// stands returns the end of f where it stands at text[at], else 0.
func stands(f form, text string, at int) int {
	line, lines := 0, 0
	for i := range len(f.text) {
		for _, end := range []string{"\n", "\r\n"} {
			enough := line >= early && lines == 0 || line >= minLine
			if f.wraps && enough && f.text[i] != end[0] && strings.HasPrefix(text[at:], end) {
				at, line, lines = at+len(end), 0, lines+1
			}
		}
		if at >= len(text) || text[at] != f.text[i] {
			return 0
		}
		at++
		line++
	}
	return at
}

// A long random text, so that the jumps of the table are taken.
func TestLongTextProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[a-d0-3]{6,40}`), 1, 20).Draw(t, "secrets")
		filler := rapid.SliceOfN(rapid.StringMatching(`[a-z0-9 \n]{0,200}`), 1, 20).Draw(t, "filler")
		var text strings.Builder
		for _, f := range filler {
			text.WriteString(f)
			v := rapid.SampledFrom(secrets).Draw(t, "value")
			text.WriteString(v[:rapid.IntRange(0, len(v)).Draw(t, "cut")])
		}
		wantBoth(t, setOf(secrets...), text.String(), naive(secrets, text.String()), 300)
	})
}

func TestWriterHoldsBackOnlyWhatCanBecomeAValue(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := setOf("hunter22", "a-much-longer-value-than-the-other")
	w := wantSteps(t, s, &out,
		step{"Password: ", "Password: "},
		step{"hunt", "Password: "},
		step{"ing\n", "Password: hunting\n"},
		step{"> hunter22", "Password: hunting\n> [redacted]"}, // nothing longer begins so: at once
		step{"ok a-much-longer", "Password: hunting\n> [redacted]ok "},
	)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "Password: hunting\n> [redacted]ok a-much-longer"; out.String() != want {
		t.Errorf("after Close: %q, want %q", out.String(), want)
	}
}

func TestAddWhileWriting(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := new(Set)
	w := s.Writer(&out)
	write := func(text string) {
		t.Helper()
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("first-value ")
	s.Add("A", "first-value")
	write("first-value first-va")
	s.Add("B", "st-value-two")
	s.Add("C", "first-value and more")
	write("lue-two first-value and")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if want := "first-value [redacted] [redacted] [redacted] and"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestAddShortWhileWriting(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := setOf("hunter22")
	w := wantSteps(t, s, &out, step{"pin7", "pin7"})
	s.Add("A", "p1n7")
	for _, text := range []string{"p1n7 a-p1n7 hunter", "22 p1n7", "7 p1n7"} {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	s.Add("B", "7 p1")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// Nobody knows any more what was before the first value.
	if want := "pin7[redacted] a-[redacted] [redacted] p1n77 [redacted]"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// naiveWords removes short values as the documentation says it, one at a time: none of them overlap.
func naiveWords(values []string, text string) string {
	for _, v := range values {
		for from := 0; ; {
			i := strings.Index(text[from:], v)
			if i < 0 {
				break
			}
			i += from
			end := i + len(v)
			if i > 0 && inWord(text[i-1]) || end < len(text) && inWord(text[end]) {
				from = i + 1
				continue
			}
			text = text[:i] + Mark + text[end:]
			from = i + len(Mark)
		}
	}
	return text
}

func TestShortProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := []string{"ab1c", "b1cab", "c1aa"}
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab1c =.é")), 0, 60, -1).Draw(t, "text") +
			strings.Join(rapid.SliceOf(rapid.SampledFrom(append(values, " ", "a", "-"))).Draw(t, "words"), "")
		wantBoth(t, setOf(values...), text, naiveWords(values, text), 9)
	})
}

func TestAddSaysWhatCannotBeKeptOut(t *testing.T) {
	t.Parallel()
	s := new(Set)
	if s.Add("SHORT", "123") || s.Add("WORD", "true") {
		t.Error("a value of three bytes or a common word was taken")
	}
	if !s.Add("LONG", "1234") {
		t.Error("a value of four bytes was refused")
	}
	s.Add("LONGER", "123456")
	var none *Set
	if none.Add("ANY", "123456") || none.String("123456") != "123456" {
		t.Error("the nil Set removes something")
	}
	if _, ok := none.Find([]byte("123456")); ok {
		t.Error("the nil Set finds something")
	}
	var out strings.Builder
	w := none.Writer(&out)
	_, err := w.Write([]byte("123456"))
	if err = errors.Join(err, w.Close()); err != nil || out.String() != "123456" {
		t.Errorf("the nil Set's writer: %q, %v", out.String(), err)
	}
}

func TestFindNames(t *testing.T) {
	t.Parallel()
	s := new(Set)
	s.Add("TOKEN", "tok\"en-1234")
	s.Add("SAME", "tok\"en-1234")
	s.Add("KEY", "line one\nline two\n")
	in, _ := json.Marshal(map[string]string{"x": "tok\"en-1234"})
	for text, want := range map[string]string{
		`a tok"en-1234 b`: "TOKEN", string(in): "TOKEN", "a line two b": "KEY", "tok en": "",
	} {
		if got, ok := s.Find([]byte(text)); got != want || ok != (want != "") {
			t.Errorf("Find(%q) = %q, %v; want %q", text, got, ok, want)
		}
	}
}

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

func TestWriterPassesErrorsOn(t *testing.T) {
	t.Parallel()
	w := setOf("hunter22").Writer(&failing{left: 4})
	if _, err := w.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("more")); err == nil {
		t.Error("the error of the writer below is lost")
	}
	if err := w.Close(); err == nil {
		t.Error("Close forgets it")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := setOf("hunter22")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s.Add("N", strings.Repeat(string(rune('a'+i)), 10))
			for range 50 {
				if got := s.String("is hunter22"); got != "is [redacted]" {
					t.Error(got)
				}
				var out bytes.Buffer
				w := s.Writer(&out)
				_, _ = w.Write([]byte("hunt"))
				_, _ = w.Write([]byte("er22"))
				_ = w.Close()
				if out.String() != Mark {
					t.Error(out.String())
				}
			}
		})
	}
	wg.Wait()
}

func FuzzStream(f *testing.F) {
	f.Add("secret-1", "t-1abc", "a secret-1abc", 3)
	f.Fuzz(func(t *testing.T, one, two, text string, size int) {
		if size < 1 || size > 1<<10 || len(one)+len(two) > 200 {
			t.Skip("no chunk, or secrets longer than the text is worth")
		}
		s := setOf(one, two)
		whole := s.String(text)
		if got := stream(t, s, text, func() int { return size }); got != whole {
			t.Fatalf("stream %q, whole %q", got, whole)
		}
	})
}
