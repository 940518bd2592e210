package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"mime/quotedprintable"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// What common programs print of values, one row each.
func TestEncoded(t *testing.T) {
	t.Parallel()
	const value, odd = "ghp_16C7e42F292c6912E771", `p"a's s$w&o/r<d>é\`
	at64, at32 := base64.StdEncoding.EncodeToString, base32.StdEncoding.EncodeToString
	for _, tt := range []struct{ name, secret, in, out string }{
		{"base64, first", value, at64([]byte(value)), "[redacted]"},
		{"base64, first of more", value, at64([]byte(value + " and more")), "[redacted]IGFuZCBtb3Jl"},
		{"base64, after one byte", value, at64([]byte(":" + value + "\n")), "Om[redacted]o="},
		{"base64, after two bytes", value, at64([]byte("u:" + value)), "dTp[redacted]"},
		{"base64, after three bytes", value, at64([]byte("me:" + value)), "bWU6[redacted]"},
		{"base64 without padding", value + "1", base64.RawStdEncoding.EncodeToString([]byte(value + "1")), "[redacted]"},
		{"base64 for URLs", "???>>>???>>>", base64.URLEncoding.EncodeToString([]byte("x ???>>>???>>>")), "eCA[redacted]"},
		{"a basic authorisation", value, "Authorization: Basic " + at64([]byte("robot:"+value)), "Authorization: Basic cm9ib3Q6[redacted]"},
		{"base32, first", value, at32([]byte(value)), "[redacted]"},
		{"base32, first of more", value, at32([]byte(value + " and more")), "[redacted]JAMFXGIIDNN5ZGK==="},
		{"base32, after one byte", value, at32([]byte(":" + value + "\n")), "HJ[redacted]BI======"},
		{"base32, after two bytes", value, at32([]byte("u:" + value)), "OU5G[redacted]"},
		{"base32, after three bytes, without padding", value, strings.TrimRight(at32([]byte("me:"+value)), "="), "NVSTU[redacted]"},
		{"base32, after four bytes", value, at32([]byte("you:" + value)), "PFXXKOT[redacted]"},
		{"base32, wrapped", value, at32([]byte(value))[:20] + "\n" + at32([]byte(value))[20:], "[redacted]"},
		{"quoted-printable", "p=ss wörd~é", "is p=3Dss w=C3=B6rd~=C3=A9.", "is [redacted]."},
		{"quoted-printable, in a header", "p=ss_w?rd ok", "=?utf-8?q?p=3Dss=5Fw=3Frd_ok?=", "=?utf-8?q?[redacted]?="},
		{"quoted-printable for every byte", value, each(value, "=%02X") + "=\n", "=[redacted]=\n"},
		{"quoted-printable in small letters", odd, each(odd, "=%02x"), "=[redacted]"},
		{"hex", value, "x" + hex.EncodeToString([]byte(value)) + "0a", "x[redacted]0a"},
		{"hex in capitals", value, strings.ToUpper(hex.EncodeToString([]byte(value))), "[redacted]"},
		{"a query", odd, "a=" + url.QueryEscape(odd) + "&b", "a=[redacted]&b"},
		{"a query in small letters", odd, "a=p%22a%27s+s%24w%26o%2fr%3cd%3e%c3%a9%5c", "a=[redacted]"},
		{"a path", odd, "/" + url.PathEscape(odd) + "/", "/[redacted]/"},
		{"the password of a URL", "p@ss w/ord", url.UserPassword("u", "p@ss w/ord").String() + "@h", "u:[redacted]@h"},
		{"encodeURIComponent", "it's (5)!/é", "it's%20(5)!%2F%C3%A9", "[redacted]"},
		{"JSON of Python", odd, `"p\"a's s$w&o/r<d>\u00e9\\"`, `"[redacted]"`},
		{"JSON, a character of two words", "key-🔑-key", `"key-\ud83d\udd11-key"`, `"[redacted]"`},
		{"JSON of PHP", "a/b/c/d", `"a\/b\/c\/d"`, `"[redacted]"`},
		{"Go's %q", odd, strconv.Quote(odd), `"[redacted]"`},
		{"Go's %+q", odd, strconv.QuoteToASCII(odd), `"[redacted]"`},
		{"repr of Python", `it's "it"`, `'it\'s "it"'`, `'[redacted]'`},
		{"single quotes of a shell", "it's mine", `'it'\''s mine'`, `'[redacted]'`},
		{"quotes of shlex", "it's mine", `'it'"'"'s mine'`, `'[redacted]'`},
		{"double quotes of a shell", "pay $5 `now`", "\"pay \\$5 \\`now\\`\"", `"[redacted]"`},
		{"printf %q", "pay $5 (now)", `pay\ \$5\ \(now\)`, `[redacted]`},
		{"HTML", odd, html.EscapeString(odd), "[redacted]"},
		{"XML", `a&b"c'd<e>`, `a&amp;b&quot;c&apos;d&lt;e&gt;`, "[redacted]"},
		{"wrapped, a line end inside", value, at64([]byte("me:" + value))[:20] + "\n" + at64([]byte("me:" + value))[20:] + "\n", "bWU6[redacted]\n"},
		{"wrapped with carriage returns", value, at64([]byte(value))[:20] + "\r\n" + at64([]byte(value))[20:], "[redacted]"},
		{"wrapped hex", value, hex.EncodeToString([]byte(value))[:8] + "\n" + hex.EncodeToString([]byte(value))[8:], "[redacted]"},
		{"wrapped early", value, at64([]byte(value))[:2] + "\n" + at64([]byte(value))[2:], at64([]byte(value))[:2] + "\n" + at64([]byte(value))[2:3] + "[redacted]"},
		{"a blank line is no wrap", value, at64([]byte(value))[:20] + "\n\n" + at64([]byte(value))[20:], at64([]byte(value))[:20] + "\n\n" + at64([]byte(value))[20:]},
		{"a line of a key, encoded with its neighbours", "-----BEGIN-----\nMIIBVwIBADANBg\n", at64([]byte("-----BEGIN-----\nMIIBVwIBADANBg\n")), "[redacted]"},
		{"a line of a key, encoded alone", "-----BEGIN-----\nMIIBVwIBADANBg\n", at64([]byte("  MIIBVwIBADANBg")), "ICB[redacted]"},
		{"percents for every byte", value, "a=" + each(value, "%%%02x") + "&b", "a=%[redacted]&b"},
		{"percents in capitals", odd, each(odd, "%%%02X"), "%[redacted]"},
		{"escapes of C for every byte", odd, "$'" + each(odd, `\x%02x`) + "'", `$'\x[redacted]'`},
		{"escapes in capitals", value, each(value, `\x%02X`), `\x[redacted]`},
		{"hex with colons", odd, each(odd, ":%02x")[1:] + ":0a", "[redacted]:0a"},
		{"hex with colons, in capitals", value, each(value, ":%02X")[1:], "[redacted]"},
		{"hex with spaces", value, "od:" + each(value, " %02x") + " 0a", "od: [redacted] 0a"},
		{"hex with spaces, in capitals", odd, each(odd, "%02X "), "[redacted] "},
		{"a part of the bytes is no value", value, each(value[:20], "%%%02x"), each(value[:20], "%%%02x")},
		{"UTF-16", odd, "\xff\xfe" + utf16Of(binary.LittleEndian, odd+"\r\n"), "\xff\xfe[redacted]\r\x00\n\x00"},
		{"UTF-16, the other order", "key-🔑-key", "\xfe\xff" + utf16Of(binary.BigEndian, "key-🔑-key"), "\xfe\xff[redacted]"},
		{"base64 twice", value, at64([]byte(at64([]byte(value)))), "[redacted]g="},
		{"base64 twice, with a line end each", value, at64([]byte(at64([]byte(value+"\n")) + "\n")), "[redacted]hDZz09Cg=="},
		{"base64 twice, after a byte each", value, at64([]byte(":" + at64([]byte(":"+value)))), "Ok9t[redacted]VE9PQ=="},
		{"base64 twice, wrapped", value + value, at64([]byte(at64([]byte("me:" + value + value))))[:76] + "\n" + at64([]byte(at64([]byte("me:" + value + value))))[76:], "YldVNl[redacted]g="},
		{"a line of a key, spelled", "-----BEGIN-----\nMIIBVwIBADANBg\n", each("  MIIBVwIBADANBg", "%02x "), "20 20 [redacted] "},
		{"octal for every byte", value, "$'" + each(value, `\%03o`) + "'", `$'\[redacted]'`},
		{"octal with spaces", odd, each(odd, " %03o") + "\n", " [redacted]\n"},
		{"bytes of Go", value, fmt.Sprintf("%d", []byte(value)), "[[redacted]]"},
		{"bytes of Go as source", value, fmt.Sprintf("%#v", []byte(value)), "[]byte{0x[redacted]}"},
		{"bytes of Python", odd, strings.ReplaceAll(fmt.Sprintf("%d", []byte(odd)), " ", ", "), "[[redacted]]"},
		{"bytes of Node", value, strings.ReplaceAll(fmt.Sprintf("%d", []byte(value)), " ", ","), "[[redacted]]"},
		{"entities", value, each(value, "&#%d;"), "&#[redacted];"},
		{"entities in hex", value, each(value, "&#x%x;") + each(value, "&#x%X;"), "&#x[redacted];&#x[redacted];"},
		{"escapes of JSON for every byte", value, each(value, `\u%04x`), `\u00[redacted]`},
		{"JSON in JSON", odd, `{\"a\":\"p\\\"a's s$w&o/r<d>é\\\\\"}`, `{\"a\":\"[redacted]\"}`},
		{"JSON of Python in JSON", odd, `\"p\\\"a's s$w&o/r<d>\\u00e9\\\\\"`, `\"[redacted]\"`},
		{"octal of git", "clé-d'accès", `"cl\303\251-d'acc\303\250s"`, `"[redacted]"`},
		{"HTML of Mustache", "a/b=c'd`e", "a&#x2F;b&#x3D;c&#39;d&#x60;e", "[redacted]"},
		{"HTML of Handlebars", "a/b=c'd`e", "a/b&#x3D;c&#x27;d&#x60;e", "[redacted]"},
		{"HTML of PHP", `a"b'c<d`, "a&quot;b&#39;c&lt;d", "[redacted]"},
		{"base64 of UTF-16", value, at64([]byte(utf16Of(binary.LittleEndian, "x"+value+"y"))), "eAB[redacted]B5AA=="},
		{"folded", value, "the key is " + value[:9] + "\n" + value[9:] + " or so", "the key is [redacted] or so"},
		{"a short one is not folded", "123456789", "12345\n6789", "12345\n6789"},
		{"the beginning alone is no value", value, at64([]byte(value))[:20], at64([]byte(value))[:20]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setOf(tt.secret)
			wantEverywhere(t, s, tt.in, tt.out)
			if _, found := s.Find([]byte(tt.in)); found != (tt.in != tt.out) {
				t.Errorf("Find says %v", found)
			}
		})
	}
}

// each writes every byte of s by itself.
func each(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func utf16Of(order binary.AppendByteOrder, s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// Wherever in the encoded bytes a value stands, and however the text is broken into lines and chunks: every character
// that is the value's alone goes, and nothing goes that is none of its.
func TestBase64Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 10, 120).Draw(t, "secret")
		before := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "before")
		after := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "after")
		alphabet := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding}).Draw(t, "alphabet")
		width := rapid.SampledFrom([]int{60, 64, 76, 1 << 20}).Draw(t, "width")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")

		data := append(append(append([]byte{}, before...), secret...), after...)
		text := alphabet.EncodeToString(data)
		// In characters without line ends: what must go, and what may.
		from, to := (len(before)*8+5)/6, (len(before)+len(secret))*8/6
		if len(after) == 0 {
			to = len(text)
		}
		var b strings.Builder
		place := make([]int, 0, len(text)) // of each character
		for i := range len(text) {
			if i > 0 && i%width == 0 {
				b.WriteString(end)
			}
			place = append(place, b.Len())
			b.WriteByte(text[i])
		}
		wrapped := b.String()
		if cut := (width - from%width) % width; cut > 0 && cut < early && from+cut < to { // a line end too early
			from += early - 1
		}
		want := wrapped[:place[from]] + Mark + wrapped[place[to-1]+1:]

		s := setOf(string(secret))
		got := s.String(wrapped)
		// The next character may look as it does at the end of a text.
		if to < len(text) && got == wrapped[:place[from]]+Mark+wrapped[place[to]+1:] {
			want = got
		}
		wantBoth(t, s, wrapped, want, 90)
	})
}

func TestBase32OfProgram(t *testing.T) {
	t.Parallel()
	const value = "ghp_16C7e42F292c6912E771"
	for before := range 60 {
		cmd := exec.CommandContext(t.Context(), "base32")
		cmd.Stdin = strings.NewReader(strings.Repeat("-", before) + value + "\n")
		out, err := cmd.Output()
		if err != nil {
			t.Skip("no program base32:", err)
		}
		// What is left is of the bytes around, of a character at either end, and of three before an early line end.
		got := strings.ReplaceAll(setOf(value).String(string(out)), "\n", "")
		if left := len(strings.TrimRight(got, "=")) - len(Mark); left > (before*8+4)/5+2+3 {
			t.Errorf("%s became %s", out, got)
		}
	}
}

// The same for base32, as the program of this name writes it.
func TestBase32Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 10, 120).Draw(t, "secret")
		before := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "before")
		after := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "after")
		width := rapid.SampledFrom([]int{60, 76, 1 << 20}).Draw(t, "width")
		text := base32.StdEncoding.EncodeToString(slices.Concat(before, secret, after))
		from, to := (len(before)*8+4)/5, (len(before)+len(secret))*8/5
		if cut := (width - from%width) % width; cut > 0 && cut < early && from+cut < to { // a line end too early
			from += early - 1
		}
		wrap := func(s string, begin int) string {
			var b strings.Builder
			for i := range len(s) {
				if begin+i > 0 && (begin+i)%width == 0 {
					b.WriteByte('\n')
				}
				b.WriteByte(s[i])
			}
			return b.String()
		}
		// A line end before the first character stays. The next character may look as it does at the end of a text.
		start := ""
		if from > 0 && from%width == 0 {
			start = "\n"
		}
		s, in := setOf(string(secret)), wrap(text, 0)
		want := wrap(text[:from], 0) + start + Mark + wrap(text[to:], to)
		if got := s.String(in); got == wrap(text[:from], 0)+start+Mark+wrap(text[to+1:], to+1) {
			want = got
		}
		wantBoth(t, s, in, want, 90)
	})
}

// Wherever a value stands in a text, and that text's base64 in another one: all of it goes but what is said of the
// ends.
func TestBase64TwiceProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 10, 120).Draw(t, "secret")
		around := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 50), 4, 4).Draw(t, "around")
		alphabet := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding}).Draw(t, "alphabet")
		once := slices.Concat(around[1], []byte(alphabet.EncodeToString(slices.Concat(around[0], secret, around[2]))), around[3])
		text := alphabet.EncodeToString(once)
		// In bits of the text: where the first whole character of the first base64 text begins, and where the last
		// one ends.
		from := (len(around[1]) + (len(around[0])*8+5)/6) * 8
		to := (len(around[1]) + (len(around[0])+len(secret))*8/6) * 8
		wantBoth(t, setOf(string(secret)), text, text[:(from+5)/6]+Mark+text[to/6:], 90)
	})
}

// Whatever stands around a value that is written byte by byte, none of its bytes is left.
func TestSpelledProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), minPart, 60).Draw(t, "secret")
		how := rapid.SampledFrom(spellings).Draw(t, "spelling")
		ends := rapid.SampledFrom([]string{"", "(", "x y", "[redact", "é"})
		before, after := ends.Draw(t, "before"), ends.Draw(t, "after")
		text := before + strings.TrimSuffix(each(string(secret), how.byte+strings.ReplaceAll(how.between, "%", "%%")), how.between) + after
		wantBoth(t, setOf(string(secret)), text, before+Mark+after, 30)
	})
}

// Whatever program quoted or escaped a value, none of what it made can be turned back.
func TestQuotedProperty(t *testing.T) {
	t.Parallel()
	quoters := map[string]func(string) string{
		"json":  func(s string) string { b, _ := json.Marshal(s); return string(b) },
		"twice": func(s string) string { b, _ := json.Marshal(s); b, _ = json.Marshal(string(b)); return string(b) },
		"go":    strconv.Quote, "ascii": strconv.QuoteToASCII, "query": url.QueryEscape, "path": url.PathEscape, "html": html.EscapeString,
		"mail": func(s string) string {
			var b strings.Builder
			w := quotedprintable.NewWriter(&b)
			_, _ = w.Write([]byte(s + "x")) // a blank at the end would be written differently
			_ = w.Close()
			return strings.TrimSuffix(strings.ReplaceAll(b.String(), "=\r\n", ""), "x") // such line ends are not followed
		},
		"hex":   func(s string) string { return hex.EncodeToString([]byte(s)) },
		"shell": func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"words": func(s string) string { return "https://u:" + url.UserPassword("", s).String()[1:] + "@host/" },
	}
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringOfN(rapid.RuneFrom([]rune("aZ09 _-./\\\"'`$&<>%+=?#!()[]{}~:@;,*|^é🔑\t")), minPart, 40, -1).Draw(t, "secret")
		name := rapid.SampledFrom([]string{"json", "twice", "go", "ascii", "query", "path", "html", "mail", "hex", "shell", "words"}).Draw(t, "quoter")
		s := setOf(secret)
		text := "see " + quoters[name](secret) + " and more"
		got := s.String(text)
		if strings.Count(got, Mark) == 0 || len(strings.ReplaceAll(got, Mark, "")) > len("see https://u:@host/ and more") {
			t.Fatalf("%q of %q is left in %q", text, secret, got)
		}
		wantBoth(t, s, text, got, 30)
	})
}

// Text without a value comes back as it was, however much of encodings is in it.
func TestNoFalseAlarm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z0-9_+/]{6,40}`), 1, 20).Draw(t, "secrets")
		data := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "data")
		text := base64.StdEncoding.EncodeToString(data) + "\n" + hex.EncodeToString(data) + "\n" + url.QueryEscape(string(data)) + "\n" + strconv.Quote(string(data))
		for _, v := range secrets {
			if strings.Contains(string(data), v) || strings.Contains(text, v) {
				t.Skip("it is there")
			}
		}
		if got := setOf(secrets...).String(text); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// A line end is held back only when an encoded value may go on behind it.
func TestWriterPassesLineEndsOn(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	encoded := base64.StdEncoding.EncodeToString([]byte("hunter22-hunter22"))
	wantSteps(t, setOf("hunter22-hunter22"), &out,
		step{encoded[:3] + "\n", encoded[:3] + "\n"},
		step{"x\n" + encoded[:5], encoded[:3] + "\nx\n"},
		step{"\n", encoded[:3] + "\nx\n"},
		step{"y", encoded[:3] + "\nx\n" + encoded[:5] + "\ny"},
		step{encoded[:9] + "\r", encoded[:3] + "\nx\n" + encoded[:5] + "\ny"},
		step{"\n" + encoded[9:], encoded[:3] + "\nx\n" + encoded[:5] + "\ny[redacted]"},
	)
}

// Wrapped text in which forms overlap: the stream is what the definition says.
func TestWrappedProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("\x00a")), 6, 70, -1), 1, 3).Draw(t, "secrets")
		var text strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			v := rapid.SampledFrom(secrets).Draw(t, "value")
			e := base64.StdEncoding.EncodeToString([]byte(v + rapid.SampledFrom(secrets).Draw(t, "next")))
			if rapid.Bool().Draw(t, "hex") {
				e = hex.EncodeToString([]byte(v))
			}
			for len(e) > 0 {
				n := min(len(e), rapid.IntRange(1, 90).Draw(t, "line"))
				text.WriteString(e[:n] + rapid.SampledFrom([]string{"\n", "\r\n", "", "\r", "\n\n"}).Draw(t, "end"))
				e = e[n:]
			}
		}
		wantBoth(t, setOf(secrets...), text.String(), naive(secrets, text.String()), 60)
	})
}
