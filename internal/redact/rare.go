package redact

// Forms that few programs print unless they are told to: a value byte for byte, in UTF-16, and encoded twice.

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spellings are the ways to write one byte, and the text between two bytes. Each is one pattern of a value, and costs
// a stream next to nothing.
var spellings = []struct{ byte, between string }{
	// URLs
	{"%02x", "%"},
	{"%02X", "%"},
	// quoted-printable
	{"%02X", "="},
	{"%02x", "="},
	// C, Python, $'…'
	{"%02x", `\x`},
	{"%02X", `\x`},
	{"%02x", `\\x`}, // in JSON
	{"%02X", `\\x`},
	{"%02x", ":"},
	{"%02X", ":"},
	// od -t x1, xxd -g 1, a Buffer of Node
	{"%02x", " "},
	{"%02X", " "},
	// Go's %#v, xxd -i
	{"%02x", ", 0x"},
	// JSON, JavaScript, Java
	{"%02x", `\u00`},
	{"%02X", `\u00`},
	{"%02x", `\\u00`},
	{"%02X", `\\u00`},
	// C, printf, od -b
	{"%03o", `\`},
	{"%03o", `\\`},
	{"%03o", " "},
	// the bytes of Go, of Python and Rust, of Node in JSON
	{"%d", " "},
	{"%d", ", "},
	{"%d", ","},
	// HTML, XML
	{"%d", ";&#"},
	{"%x", ";&#x"},
	{"%X", ";&#x"},
}

// spelled lists p with each byte written by itself, and in UTF-16. The mark before the first byte is left out, so that
// all begin with a digit: the end of a progress of 50% is not delayed because it might begin a value.
func spelled(p string) []string {
	all := wide(p)
	for _, s := range spellings {
		var b strings.Builder
		for i := range len(p) {
			if i > 0 {
				b.WriteString(s.between)
			}
			fmt.Fprintf(&b, s.byte, p[i])
		}
		all = append(all, b.String())
	}
	return all
}

// wide returns p in UTF-16, in both orders of its bytes; nothing if p is no text.
func wide(p string) []string {
	if !utf8.ValidString(p) {
		return nil
	}
	var little, big []byte
	for _, u := range utf16.Encode([]rune(p)) {
		little = append(little, byte(u), byte(u>>8))
		big = append(big, byte(u>>8), byte(u))
	}
	return []string{string(little), string(big)}
}

// twice returns texts of which one is in any base64 text of a base64 text whose bytes contain p: each of the three
// texts of the first can be in the second in three ways. It adds those of p in UTF-16, which PowerShell uses.
func twice(p string) []string {
	var all []string
	if w := wide(p); w != nil {
		for shift := range 3 {
			sure, _ := within64(w[0], shift, base64.StdEncoding)
			all = append(all, sure)
		}
	}
	for shift := range 3 {
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			once, _ := within64(p, shift, alphabet)
			for again := range 3 {
				// The text is letters, which both alphabets encode alike.
				sure, _ := within64(once, again, base64.StdEncoding)
				all = append(all, sure)
			}
		}
	}
	return all
}
