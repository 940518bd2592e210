package redact

// The forms of a value: everything that is looked for because of it.

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// A form is one way in which a value may stand in text. One that wraps may have line ends in it, as encoders put them.
type form struct {
	text  string
	wraps bool
}

const (
	// maxEncoded is the longest value, in bytes, whose encodings are looked for; of longer ones only those of the lines.
	maxEncoded = 16 << 10
	// maxRare is the same for the encodings of rare.go, which are longer, and many.
	maxRare = 1 << 10
	// maxWhole is the same for a value of several lines: each form costs memory, and those of the lines say as much.
	maxWhole = 512
	// early is how many characters of a wrapped form stand before its first line end at least: with fewer the end of
	// nearly any line might be the beginning of a form, and a stream would hold it back.
	early = 4
	// minLine is how many characters stand between two line ends at least. Encoders put 60, 64 or 76 there.
	minLine = 40
	// minFolded is the shortest value, in bytes, that is also found folded like an encoding: a shorter one of digits might stand at
	// the end of one line of numbers and go on at the next.
	minFolded = 16
	// minRest is the shortest rest of a form, in characters, that is looked for by itself.
	minRest = 8
)

// forms lists how value may stand in text: as it is, and each of its lines when there are several (a key that is printed
// with an indent or line by line); all of these as programs quote them (quoted.go) and as they encode them (rare.go too). Lines
// shorter than MinLen are left out, and so are their forms. There are no doubles.
func forms(value string) []form {
	var out []form
	at := map[string]int{}
	add := func(s string, wraps bool) {
		if len(s) < MinLen {
			return
		}
		if i, known := at[s]; known {
			out[i].wraps = out[i].wraps || wraps
			return
		}
		at[s] = len(out)
		out = append(out, form{s, wraps})
	}
	plain := []string{value}
	for line := range strings.SplitSeq(value, "\n") {
		// Trimmed, because an indent or a carriage return is what a printer changes first.
		plain = append(plain, strings.TrimSpace(line))
	}
	for _, p := range plain {
		if len(p) < MinLen {
			continue
		}
		add(p, len(p) >= minFolded && !strings.Contains(p, "\n"))
		for _, q := range quoted(p) {
			add(q, false)
		}
		if len(p) > maxEncoded || len(p) > maxWhole && strings.Contains(p, "\n") {
			continue
		}
		for _, e := range base64Forms(p) {
			add(e, true)
		}
		for _, h := range []string{hex.EncodeToString([]byte(p)), strings.ToUpper(hex.EncodeToString([]byte(p)))} {
			add(h, true)
			if rest := h[early-1:]; len(rest) >= minRest {
				add(rest, true)
			}
		}
		if len(p) > maxRare {
			continue
		}
		for _, r := range spelled(p) {
			add(r, false)
		}
		for _, e := range twice(p) {
			add(e, true)
		}
	}
	return out
}

// base64Forms are the characters that stand in any base64 text whose bytes hold p: what is encoded before p shifts it
// by none, one or two bytes, so there are three of them, each less the characters at its ends that p shares with its
// neighbours (of those, two to four bits are of p). Where p is the end of the text, the last character and the padding
// are known as well. All of it in both alphabets.
//
// A line end within the first characters of a form is not followed; so the form without these is in the list too.
func base64Forms(p string) []string {
	var all []string
	for shift := range 3 {
		raw := make([]byte, shift+len(p))
		copy(raw[shift:], p)
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			text := alphabet.EncodeToString(raw)
			first := []int{0, 2, 3}[shift] // the first character that is p's alone
			sure := text[first : len(raw)*8/6]
			bare := strings.TrimRight(text[first:], "=")
			all = append(all, sure, bare, text[first:])
			if rest := sure[early-1:]; len(rest) >= minRest {
				all = append(all, rest)
			}
		}
	}
	return all
}
