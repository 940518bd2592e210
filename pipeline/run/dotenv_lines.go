package run

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// statements goes over a dotenv file and gives it in the plain form that godotenv reads rightly: one NAME=VALUE after
// the other, without comments.
type statements struct {
	rest  []byte
	line  int            // of the statement in hand, from 1
	known map[string]int // names set so far, and how long their values will be, in bytes
	sum   int            // of all values, also of those that a later line sets again
	plain []byte
}

// called is what a variable of a dotenv file may be called.
var called = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// use is where godotenv would put the value of a variable: with or without braces, in capitals.
var use = regexp.MustCompile(`(\\)?\$(\()?(\{)?([A-Z0-9_]+)?(\})?`)

// In double quotes godotenv first goes over what stands behind a \, and only then puts values in: "$\A" names A.
var (
	behind = regexp.MustCompile(`\\.`)
	bared  = regexp.MustCompile(`\\([^$])`)
)

// unescaped is the text of double quotes as godotenv goes over it for names.
func unescaped(value []byte) []byte {
	return bared.ReplaceAll(behind.ReplaceAllFunc(value, func(pair []byte) []byte {
		switch pair[1] {
		case 'n':
			return []byte{'\n'}
		case 'r':
			return []byte{'\r'}
		}
		return pair
	}), []byte("$1"))
}

// all goes over the file; after an error line is where it is.
func (s *statements) all() error {
	next := 0 // lines that the statement before took
	for {
		s.line += next
		next = 0
		s.blank()
		if len(s.rest) == 0 {
			return nil
		}
		if s.rest[0] == '#' {
			s.rest = s.rest[end(s.rest):]
			continue
		}
		before := len(s.rest)
		text := s.rest
		if err := s.statement(); err != nil {
			return err
		}
		next = bytes.Count(text[:before-len(s.rest)], []byte("\n"))
	}
}

// blank goes to the next thing that is no white space.
func (s *statements) blank() {
	i := 0
	for i < len(s.rest) && bytes.IndexByte([]byte(" \t\v\f\r\n"), s.rest[i]) >= 0 {
		if s.rest[i] == '\n' {
			s.line++
		}
		i++
	}
	s.rest = s.rest[i:]
}

// end is where the line ends that b begins with.
func end(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i
	}
	return len(b)
}

// statement takes one NAME=VALUE, up to the end of its last line.
func (s *statements) statement() error {
	line := s.rest[:end(s.rest)]
	at := bytes.IndexAny(line, "=:")
	if at < 0 {
		return errors.New("this is no NAME=VALUE")
	}
	key := strings.TrimSpace(string(line[:at]))
	if words := strings.Fields(key); len(words) == 2 && words[0] == "export" {
		key = words[1]
	}
	switch {
	case !called.MatchString(key):
		return errors.New("what stands before the = is no name of a variable: use letters, digits and _")
	case strings.HasPrefix(key, ours):
		return fmt.Errorf("the names that begin with %s are async-pipeline's own; use another", ours)
	}
	s.rest = s.rest[at+1:]
	before := len(s.rest)
	s.rest = bytes.TrimLeft(s.rest, " \t\v\f")
	spaced := len(s.rest) < before
	var value []byte
	var size int
	var err error
	if len(s.rest) > 0 && (s.rest[0] == '"' || s.rest[0] == '\'') {
		value, size, err = s.quoted()
	} else {
		value, size, err = s.bare(spaced)
	}
	if err != nil {
		return err
	}
	if s.sum += size; s.sum > maxDotenv {
		return fmt.Errorf("the values have more than %d bytes here, with what their ${NAME} stand for: use fewer of them", maxDotenv)
	}
	s.known[key] = size
	s.plain = append(append(append(s.plain, key...), '='), value...)
	s.plain = append(s.plain, '\n')
	return nil
}

// bare takes a value without quotes: up to the end of the line, or to a # after a space. It says how long the value will be.
func (s *statements) bare(spaced bool) ([]byte, int, error) {
	line := s.rest[:end(s.rest)]
	s.rest = s.rest[len(line):]
	for i, c := range line {
		last, _ := utf8.DecodeLastRune(line[:i])
		if c == '#' && (i == 0 && spaced || i > 0 && unicode.IsSpace(last)) {
			line = line[:i]
			break
		}
	}
	line = bytes.TrimSpace(line)
	if bytes.ContainsRune(line, '\r') {
		return nil, 0, errors.New("there is a carriage return in the value: put it into double quotes as \\r")
	}
	size, err := s.uses(line)
	return line, size, err
}

// quoted takes a value in quotes, which may go over several lines, and says how long it will be. As in godotenv a quote behind
// a \ does not end it.
func (s *statements) quoted() ([]byte, int, error) {
	quote := s.rest[0]
	i := 1
	for i < len(s.rest) && (s.rest[i] != quote || s.rest[i-1] == '\\') {
		i++
	}
	if i >= len(s.rest) {
		return nil, 0, fmt.Errorf("the value begins with %c and has no end: write the closing %c (a value that ends in a \\ stands without quotes)", quote, quote)
	}
	value := s.rest[:i+1]
	if i >= 2 && s.rest[i-1] == quote { // it would lose that one too
		return nil, 0, fmt.Errorf("the value ends in an escaped %c, which is not understood: use the other kind of quotes", quote)
	}
	s.rest = s.rest[i+1:]
	tail := bytes.TrimSpace(s.rest[:end(s.rest)])
	if len(tail) > 0 && tail[0] != '#' {
		return nil, 0, fmt.Errorf("something follows the closing %c of the value: escape a %c inside as \\%c, or use the other kind of quotes", quote, quote, quote)
	}
	s.rest = s.rest[end(s.rest):]
	if quote == '\'' {
		return value, len(value), nil
	}
	size, err := s.uses(unescaped(value))
	return value, size, err
}

// uses refuses what would silently become an empty or a wrong text. It does not say which name: it may be half a password.
// The size is how many bytes the value will have with all values put in, or some number above maxDotenv.
func (s *statements) uses(value []byte) (size int, err error) {
	size = len(value)
	for _, m := range use.FindAllSubmatch(value, -1) {
		escaped, command, brace, of, closed := m[1] != nil, m[2] != nil, m[3] != nil, string(m[4]), m[5] != nil
		const literally = `; to mean it literally put the value into single quotes, or write \$`
		switch {
		case escaped:
		case command:
			return 0, errors.New("$(…) runs nothing here" + literally)
		case brace && (of == "" || !closed):
			return 0, errors.New("only ${NAME} is understood here, in capitals and without a default" + literally)
		case !brace && of != "" && closed: // it would lose the brace
			return 0, errors.New("a $NAME has a } behind it: write ${NAME}" + literally)
		case of != "":
			long, ok := s.known[of]
			if !ok {
				return 0, errors.New("the value names a variable ($NAME) that is set nowhere above in this file, and nothing from outside goes into it" + literally)
			}
			if size += long - len(m[0]); size > 2*maxDotenv { // what is still to come takes away less than maxDotenv
				return size, nil
			}
		}
	}
	return size, nil
}
