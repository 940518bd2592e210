// Readers of the two things that are asked of YAML here: a list of texts under a key of the top level, and the names of a
// map under one. Not read: anchors, tags, texts over several lines, maps in braces.
package detect

import "strings"

// yamlList gives the texts of `key: [a, b]` or of the lines `- a` under `key:`.
func yamlList(text, key string) []string {
	var all []string
	inside := false
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(yamlBare(raw), " \t\r\n")
		word := strings.TrimLeft(raw, " \t")
		item, isItem := strings.CutPrefix(word, "-")
		switch {
		case word == "":
		case inside && isItem:
			if s := unquoted(item); s != "" {
				all = append(all, s)
			}
		case word != raw: // deeper than the top level
		default:
			name, value, ok := strings.Cut(raw, ":")
			inside = ok && unquoted(name) == key
			if list, flow := strings.CutPrefix(strings.TrimSpace(value), "["); inside && flow {
				for s := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
					if s = unquoted(s); s != "" {
						all = append(all, s)
					}
				}
			}
		}
	}
	return all
}

// A yamlEntry is one name of a map, and the plain values under it.
type yamlEntry struct {
	name string
	is   map[string]string
}

// yamlMap gives the names under `key:`, in order.
func yamlMap(text, key string) []yamlEntry {
	var all []yamlEntry
	inside, step := false, 0
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(yamlBare(raw), " \t\r\n")
		word := strings.TrimLeft(raw, " ")
		if word == "" {
			continue
		}
		indent := len(raw) - len(word)
		name, value, ok := yamlCut(word)
		switch {
		case indent == 0:
			inside, step = ok && name == key, 0
		case !inside || !ok || strings.HasPrefix(word, "- "):
		case step == 0 || indent == step:
			step = indent
			all = append(all, yamlEntry{name, map[string]string{}})
		case indent > step && len(all) > 0:
			is := all[len(all)-1].is
			if _, known := is[name]; !known {
				is[name] = unquoted(value)
			}
		}
	}
	return all
}

// yamlCut parts a line at the colon that ends its name: test:unit: is named test:unit.
func yamlCut(word string) (name, value string, ok bool) {
	if name, ok = strings.CutSuffix(word, ":"); ok {
		return unquoted(name), "", true
	}
	name, value, ok = strings.Cut(word, ": ")
	return unquoted(name), value, ok
}

// yamlBare is a line without its comment, which begins after a space.
func yamlBare(s string) string {
	end := len(s)
	quoted(s, func(i int, in bool) bool {
		if !in && s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			end = i
		}
		return end == len(s)
	})
	return s[:end]
}

func unquoted(s string) string { return strings.Trim(strings.TrimSpace(s), `"'`) }
