package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// forms lists how value may stand in text: as it is, each of its lines when there are several (a key that is printed
// with an indent or line by line), and all of these as JSON writes them, with and without the escapes for HTML.
// Lines shorter than MinLen are left out, and so are their JSON forms. There are no doubles.
func forms(value string) []string {
	var out []string
	add := func(s string) {
		if len(s) < MinLen {
			return
		}
		for _, have := range out {
			if have == s {
				return
			}
		}
		out = append(out, s)
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
		add(p)
		add(asJSON(p, true))
		add(asJSON(p, false))
	}
	return out
}

// asJSON is s as it stands between the quotes of a JSON string.
func asJSON(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s // a string always encodes
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}
