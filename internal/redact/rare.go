package redact

// What few programs print by themselves and anybody can make them print: a value byte for byte, in UTF-16, and encoded twice.

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spelled lists p with each byte written by itself: %73%65, \x73\x65, 73:65, 73 65, in small and in capital letters; and in UTF-16.
// All of them begin with the first digit: a progress of 50% is not held back because it might be the beginning of a value.
func spelled(p string) []string {
	all := wide(p)
	for _, digits := range []string{"0123456789abcdef", "0123456789ABCDEF"} {
		for _, between := range []string{"%", `\x`, ":", " "} {
			var b strings.Builder
			for i := range len(p) {
				if i > 0 {
					b.WriteString(between)
				}
				b.Write([]byte{digits[p[i]>>4], digits[p[i]&15]})
			}
			all = append(all, b.String())
		}
	}
	return all
}

// wide is p in UTF-16, in both orders of its bytes; nothing where p is no text.
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

// twice are the characters that stand in any base64 text of a base64 text whose bytes hold p: each of the three ways in which p may
// stand in the first can stand in three ways in the second.
func twice(p string) []string {
	var all []string
	for shift := range 3 {
		for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			once := sure(p, shift, alphabet)
			for again := range 3 {
				// What is encoded is letters, of which both alphabets make the same.
				all = append(all, sure(once, again, base64.StdEncoding))
			}
		}
	}
	return all
}

// sure are the characters of the base64 text of p, behind shift other bytes, that are p's alone.
func sure(p string, shift int, alphabet *base64.Encoding) string {
	raw := make([]byte, shift+len(p))
	copy(raw[shift:], p)
	return alphabet.EncodeToString(raw)[[]int{0, 2, 3}[shift] : len(raw)*8/6]
}
