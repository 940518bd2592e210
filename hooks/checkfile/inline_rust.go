package checkfile

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	// testAttribute matches an attribute of what only tests compile, or of a test.
	testAttribute = lazily.Regexp(`^#\[\s*(?:cfg\s*\(\s*(?:all\s*\([^\]]*)?\btest\b|(?:\w+\s*::\s*)*(?:test|rstest|test_case|bench|quickcheck|wasm_bindgen_test|proptest)\b)`)
	// rustItem begins an item that ends with its block or with a semicolon.
	rustItem = lazily.Regexp(`^(?:pub\b|fn\b|mod\b|struct\b|enum\b|union\b|impl\b|trait\b|use\b|const\b|static\b|type\b|macro_rules!|extern\b|async\b|unsafe\b|let\b|\w+!)`)
	// rustLine begins an item that ends with a semicolon, also after a block.
	rustLine = lazily.Regexp(`^(?:pub(?:\([^)]*\))?\s+)?(?:use|static|type|let|const\s+\w+\s*:|const\s+_)\b?`)
)

// splitRust splits a source into what only tests compile (items with #[test] or #[cfg(test)], with all of their
// attributes), the documentation with examples, which `cargo test` runs, and the rest. ok is false where a test shares
// a line with something else, or does not end.
func splitRust(src string) (list []piece, ok bool) {
	s := rustSource{src: src, code: maskRust(src)}
	extents, ok := s.tests()
	extents = append(extents, s.examples(extents)...)
	slices.SortFunc(extents, func(a, b extent) int { return a.from - b.from })
	return pieces(src, extents), ok
}

// A rustSource is a text, and the same with blanks in the place of comments and of what is in strings.
type rustSource struct{ src, code string }

// tests returns the items that are compiled for tests only.
func (s rustSource) tests() (found []extent, ok bool) {
	var around []string // the heads of the blocks that are open
	head := 0           // where the text before the next block begins
	text := 0           // bytes of names
	for at := 0; at < len(s.code); at++ {
		switch s.code[at] {
		case '{':
			around = append(around, s.head(head, at))
			head = at + 1
		case '}':
			around = around[:max(0, len(around)-1)]
			head = at + 1
		case ';':
			head = at + 1
		case '#':
			end, only, ok := s.attributes(at)
			if !ok {
				return found, false
			}
			if !only {
				at = max(at, end-1)
				continue
			}
			to := s.item(end)
			from, alone := lineStart(s.src, at)
			after := lineAfter(s.src, max(to-1, 0))
			if to < 0 || !alone || strings.TrimSpace(s.code[to:after]) != "" {
				return found, false
			}
			in := strings.Join(around, " › ")
			name := strings.TrimPrefix(in+" › "+s.name(end), " › ")
			found = append(found, extent{from: from, to: after, in: in, name: name, value: strings.TrimSpace(s.src[from:after])})
			if text += len(in) + len(name); text > maxPieceText {
				return found, false
			}
			at, head = after-1, after
		}
	}
	return found, true
}

// attributes reads the attributes that begin at at, if any. It returns where what they belong to begins, and whether one
// makes that an item for tests only. ok is false where one does not end.
func (s rustSource) attributes(at int) (end int, only, ok bool) {
	for strings.HasPrefix(s.code[at:], "#[") {
		to := s.closing(at + 1)
		if to < 0 {
			return at, false, false
		}
		only = only || testAttribute().MatchString(s.code[at:to])
		at = to + len(s.code[to:]) - len(strings.TrimLeft(s.code[to:], " \t\r\n"))
	}
	return at, only, true
}

// closing returns where the bracket that opens at at is closed, behind it; -1: nowhere.
func (s rustSource) closing(at int) int {
	depth := 0
	for i := at; i < len(s.code); i++ {
		switch s.code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// item returns where the item that begins behind at ends; -1: nowhere.
func (s rustSource) item(at int) int {
	at += len(s.code[at:]) - len(strings.TrimLeft(s.code[at:], " \t\r\n"))
	text := s.code[at:]
	item, line := rustItem().MatchString(text), rustLine().MatchString(text)
	for i := at; i < len(s.code); i++ {
		switch c := s.code[i]; {
		case c == ';', c == ',' && !item:
			return i + 1
		case c == '}' || c == ')' || c == ']': // of what is around: the last variant, field or arm
			return i
		case c == '{' || c == '(' || c == '[':
			to := s.closing(i)
			if to < 0 || c == '{' && item && !line {
				return to
			}
			i = to - 1
		}
	}
	return -1
}

// head returns the text before a block, on one line.
func (s rustSource) head(from, to int) string {
	return strings.Join(strings.Fields(s.code[from:to]), " ")
}

// name returns what the item behind at is called: its text up to its parameters, its block or its end.
func (s rustSource) name(at int) string {
	text := strings.TrimSpace(s.code[at:min(len(s.code), at+300)])
	if end := strings.IndexAny(text, "({;=,<"); end > 0 {
		text = text[:end]
	}
	return strings.Join(strings.Fields(text), " ")
}

// examples returns the comments of documentation with code in them, outside of tests. Their value is that code.
func (s rustSource) examples(tests []extent) (found []extent) {
	for at := 0; at < len(s.src); {
		to := at
		var value strings.Builder
		in := false
		for to < len(s.src) {
			next := lineAfter(s.src, to)
			line := strings.TrimSpace(s.src[to:next])
			text, ok := strings.CutPrefix(line, "///")
			if !ok {
				text, ok = strings.CutPrefix(line, "//!")
			}
			if !ok || strings.TrimSpace(s.code[to:next]) != "" {
				break
			}
			fence := strings.HasPrefix(strings.TrimSpace(text), "```") || strings.HasPrefix(strings.TrimSpace(text), "~~~")
			if in || fence {
				value.WriteString(strings.TrimSpace(text) + "\n")
			}
			in = in != fence
			to = next
		}
		for len(tests) > 0 && tests[0].to <= at { // they are in order
			tests = tests[1:]
		}
		if inTest := len(tests) > 0 && tests[0].from <= at; value.Len() > 0 && !inTest {
			found = append(found, extent{from: at, to: to, name: "examples of " + s.documented(to), value: value.String()})
		}
		at = max(to, lineAfter(s.src, at))
	}
	return found
}

const maxToItem = 2_000 // bytes of attributes and other comments between a comment of documentation and its item

// documented returns the name of the item behind a comment, without its attributes.
func (s rustSource) documented(at int) string {
	s.code = s.code[:min(len(s.code), at+maxToItem)]
	at += len(s.code[at:]) - len(strings.TrimLeft(s.code[at:], " \t\r\n"))
	end, _, _ := s.attributes(at)
	return s.name(end)
}

// maskRust returns src with blanks in the place of comments and of what is in strings and characters. Their quotes, and
// line ends, stay.
func maskRust(src string) string {
	out := []byte(src)
	blank := func(from, to int) {
		for i := from; i < min(to, len(out)); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(src); {
		rest := src[i:]
		end := i + 1
		switch {
		case strings.HasPrefix(rest, "//"):
			end = i + len(rest)
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				end = i + n
			}
			blank(i, end)
		case strings.HasPrefix(rest, "/*"):
			end = i + blockComment(rest)
			blank(i, end)
		case rest[0] == '"':
			end = i + quotedLength(rest, '"')
			blank(i+1, end-1)
		case rest[0] == 'r' && (i == 0 || !lang.IsWord(src[i-1]) || src[i-1] == 'b' || src[i-1] == 'c'):
			if n := rawLength(rest); n > 0 {
				end = i + n
				blank(i+1, end)
			}
		case rest[0] == '\'':
			if n := charLength(rest); n > 0 {
				end = i + n
				blank(i+1, end-1)
			}
		}
		i = end
	}
	return string(out)
}

// blockComment returns the length of the comment that s begins with. Such comments may hold others.
func blockComment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// quotedLength returns the length of the string that s begins with, in which a backslash escapes.
func quotedLength(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return len(s)
}

// rawLength returns the length of the string without escapes that s begins with (r"…", r#"…"#); 0: it begins with none.
func rawLength(s string) int {
	hashes := len(s[1:]) - len(strings.TrimLeft(s[1:], "#"))
	begin := 1 + hashes
	if begin >= len(s) || s[begin] != '"' {
		return 0
	}
	end := `"` + strings.Repeat("#", hashes)
	if n := strings.Index(s[begin+1:], end); n >= 0 {
		return begin + 1 + n + len(end)
	}
	return len(s)
}

// charLength returns the length of the character that s begins with; 0: it is a lifetime.
func charLength(s string) int {
	if len(s) > 2 && s[1] == '\\' {
		return min(quotedLength(s, '\''), len(s))
	}
	for i, c := range s[1:] {
		if i > 0 {
			if c == '\'' {
				return 1 + i + 1
			}
			return 0
		}
	}
	return 0
}
