// A reader of as much TOML as is asked for here: tables, and keys with strings or lists of strings. Not read: strings over
// several lines ("""), inline tables, dates, what is inside a list of tables beyond its last entry. A line it does not
// understand is passed over.
package detect

import "strings"

// A toml is the values of a file by their way from the top, "tool.poetry.name"; a table stands in it with a nil value.
type toml map[string][]string

// has says whether a table or key of that name, or one below it, is there.
func (t toml) has(name string) bool {
	if _, ok := t[name]; ok {
		return true
	}
	for k := range t {
		if strings.HasPrefix(k, name+".") {
			return true
		}
	}
	return false
}

// get is the first value of a key, or "".
func (t toml) get(name string) string {
	if v := t[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func readTOML(text string) toml {
	t, table := toml{}, ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		raw := strings.TrimSpace(bare(lines[i]))
		if strings.HasPrefix(raw, "[") {
			table = dotted(strings.Trim(raw, "[] \t"))
			if _, known := t[table]; table != "" && !known {
				t[table] = nil
			}
			continue
		}
		key, value, ok := cutKey(raw)
		if !ok {
			continue
		}
		if q := quote3(value); q != "" { // skip to its end
			for !strings.Contains(value[min(3, len(value)):], q) && i+1 < len(lines) {
				i++
				value = q + lines[i]
			}
			continue
		}
		if strings.HasPrefix(value, "[") {
			rows, open := []string{value}, unclosed(value)
			for open > 0 && i+1 < len(lines) {
				i++
				row := bare(lines[i])
				rows, open = append(rows, row), open+unclosed(row)
			}
			value = strings.Join(rows, "\n")
		}
		if table != "" {
			key = table + "." + key
		}
		t[key] = texts(value)
	}
	return t
}

func quote3(value string) string {
	for _, q := range []string{`"""`, "'''"} {
		if strings.HasPrefix(value, q) {
			return q
		}
	}
	return ""
}

// quoted walks over text and calls each with every byte and whether it stands in quotes; it stops when each says so.
func quoted(text string, each func(i int, in bool) bool) {
	var quote byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !each(i, quote != 0) {
			return
		}
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == '"' && c == '\\':
			i++
		case c == quote:
			quote = 0
		}
	}
}

// bare is a line without its comment.
func bare(s string) string {
	end := len(s)
	quoted(s, func(i int, in bool) bool {
		if !in && s[i] == '#' {
			end = i
		}
		return end == len(s)
	})
	return s[:end]
}

// unclosed is how many more brackets begin in a line than end.
func unclosed(s string) int {
	open := 0
	quoted(s, func(i int, in bool) bool {
		switch {
		case in:
		case s[i] == '[':
			open++
		case s[i] == ']':
			open--
		}
		return true
	})
	return open
}

func cutKey(s string) (key, value string, ok bool) {
	quoted(s, func(i int, in bool) bool {
		if !in && s[i] == '=' {
			key, value, ok = dotted(s[:i]), strings.TrimSpace(s[i+1:]), true
		}
		return !ok
	})
	return key, value, ok && key != ""
}

// dotted is a key without quotes and spaces: tool . "poetry" is tool.poetry.
func dotted(key string) string {
	parts := strings.Split(key, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"'`)
	}
	return strings.Join(parts, ".")
}

// texts are the strings of a value, or the value itself where it has none: true, 3.
func texts(value string) []string {
	var all []string
	from := -1
	was := false
	quoted(value+" ", func(i int, in bool) bool {
		if in && !was {
			from = i
		}
		if was && !in && from >= 0 {
			all = append(all, unescaped(value[from:i-1]))
		}
		was = in
		return true
	})
	if all == nil && !strings.HasPrefix(value, "[") {
		all = []string{value}
	}
	return all
}

func unescaped(s string) string {
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(s)
}
