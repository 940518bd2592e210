// Package redact removes secret values from text and streams, also when a value is split over chunks.
//
// Every occurrence of a value is removed, and the union of occurrences that overlap: if one value contains another, or
// ends where another begins, no rest of either is left. A value of less than 6 bytes is found where it is a word by
// itself, as it is or as programs quote it. A longer value is found
//
//   - as it is, and each of its lines by itself where it has several;
//   - as JSON, JSON in JSON, Go, C, Python, XML, HTML and shells write it between quotes, escaped in URLs and forms, and
//     in quoted-printable;
//   - in base64, in both alphabets, and in base32, in capitals, at any offset in the encoded bytes: all characters but the
//     one at either end that it shares with its neighbours, which tells up to four bits of it;
//   - in hex, in small or in capital letters;
//   - in base64, base32 and hex also if they are broken into lines of 40 characters or more, and as it is if it has 16
//     bytes or more. If the first line end comes within the first four characters, three are left (and all of a value of
//     less than ten bytes, and of a value as it is);
//   - in hex, octal or decimal numbers with something between the bytes (73:65, 73 65, %73%65, =73=65, \x73\x65,
//     \u0073\u0065, 0x73, 0x65, &#x73;&#x65;, \163\145, 163 145, &#115;&#101;, 115 101, 115, 101; a mark before the first
//     one is left), in UTF-16, and in base64 of UTF-16;
//   - in the base64 of a base64 text that is not broken into lines: all but one or two characters at either end, which
//     tell up to eight bits;
//   - in each of these forms with terminal escapes between its characters, such as colours and hyperlinks, up to 1 KiB of
//     them between two characters;
//   - in each of these forms in a dump of xxd, hexdump or od that shows bytes in hex, in octal, as characters, or one by one
//     in decimal. The rest of the line in which the value begins is removed, and each further line up to the one in which it
//     ends. A line of a dump has up to 4 KiB and begins with an offset of six digits or more or, without one, with a blank.
//     It may have terminal escapes in it (xxd -R).
//
// Not found are: pieces of a value that are not its lines; a value in other letters (in capitals, reversed, with
// something else between its characters); base32 in small letters; any other encoding of an encoding, or of something
// computed from the value (a digest, compressed or encrypted data); values broken by more than a line end (an indent, a
// + or > before each line, the = before a line end of quoted-printable); encodings of a line of more than 16 KiB, and the
// numbers, UTF-16 and twofold base64 of one of more than 1 KiB; values of less than 6 bytes with escapes in them or in a
// dump.
//
// Nor is a value found in a dump that shows it in several formats at once (od -t x1 -t c; the column of text of xxd,
// hexdump -C and od -t x1z is no such format), with a * for lines like the one before, in decimal numbers of several bytes
// (od -t d2) or, where it is not ASCII, with the names of od -a.
package redact

import (
	"io"
	"maps"
	"sync"
	"sync/atomic"
)

// Mark replaces a value.
const Mark = "[redacted]"

// MinLen is the length of the shortest value, in bytes, that is removed. A shorter one may occur in ordinary text.
const MinLen = 4

// A Set is the values to remove. The zero Set and the nil Set remove nothing. A Set is safe for concurrent use.
type Set struct {
	mu       sync.Mutex
	patterns map[string]pattern // by the text that is searched for
	short    map[string]string  // the names of values of less than minPart bytes, by the text that is searched for
	compiled atomic.Pointer[matcher]
}

// Add makes value secret from now on, also for the next Write of writers made before. It reports false for a value that
// cannot be removed: one shorter than MinLen, or a short word that nearly any text has.
func (s *Set) Add(name, value string) bool {
	if s == nil || len(value) < MinLen || len(value) < minPart && Common(value) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compiled.Store(nil)
	if len(value) < minPart {
		if s.short == nil {
			s.short = make(map[string]string)
		}
		for _, text := range append(quoted(value), value) {
			if _, known := s.short[text]; !known {
				s.short[text] = name
			}
		}
		return true
	}
	if s.patterns == nil {
		s.patterns = make(map[string]pattern)
	}
	for _, f := range forms(value) {
		p, known := s.patterns[f.text]
		if !known {
			p.name = name
		}
		p.wraps = p.wraps || f.wraps
		s.patterns[f.text] = p
	}
	return true
}

// matcher returns the automaton of all values, or nil when there are none. It is made on first use after an Add, so
// that adding many values costs one build.
func (s *Set) matcher() *matcher {
	if s == nil {
		return nil
	}
	if m := s.compiled.Load(); m != nil {
		return m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.patterns)+len(s.short) == 0 {
		return nil
	}
	m := s.compiled.Load()
	if m == nil {
		m = compile(s.patterns)
		if len(s.short) > 0 {
			m.words = newWords(maps.Clone(s.short))
		}
		s.compiled.Store(m)
	}
	return m
}

// String returns text without the values.
func (s *Set) String(text string) string {
	if s.matcher() == nil {
		return text
	}
	return string(s.Bytes([]byte(text)))
}

// Bytes returns b without the values, or b itself if there are none in it. b is not changed.
func (s *Set) Bytes(b []byte) []byte {
	m := s.matcher()
	if m == nil {
		return b
	}
	if spans := m.all(b); len(spans) > 0 {
		return without(b, spans)
	}
	return b
}

// IsEmpty reports whether there are no values.
func (s *Set) IsEmpty() bool { return s.matcher() == nil }

// Find returns the name of a secret that b contains.
func (s *Set) Find(b []byte) (name string, ok bool) {
	m := s.matcher()
	if m == nil {
		return "", false
	}
	return m.find(b)
}

// Writer returns a writer that passes everything but the values on to w. It keeps back only what can still become a
// value, so a prompt appears at once. Close writes the rest (never more than the longest form of a value less one
// byte, with the line ends and the escapes in it, or as a dump shows it); it does not close w. After an error every
// Write fails.
func (s *Set) Writer(w io.Writer) io.WriteCloser { return &writer{set: s, to: w} }

// without returns b with Mark in the place of each span.
func without(b []byte, spans []span) []byte {
	out := make([]byte, 0, len(b))
	pos := int64(0)
	for _, sp := range spans {
		out = append(append(out, b[pos:sp.from]...), Mark...)
		pos = sp.to
	}
	return append(out, b[pos:]...)
}
