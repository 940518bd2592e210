package task

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// maxDotenv is the size limit of a dotenv file, in bytes.
const maxDotenv = 1 << 20

// dotenv sets the variables of the task's dotenv files; the later file wins. A missing file is skipped: it is
// usually one person's own and not in the repository.
func (b *builder) dotenv(dir string) error {
	for _, file := range b.t.Dotenv {
		rel := filepath.FromSlash(path.Clean(file))
		at := onDisk(filepath.Join(dir, rel), b.box)
		text, err := readDotenv(strings.TrimSuffix(at, rel), file)
		if errors.Is(err, fs.ErrNotExist) || b.box.Base != "" && isRemoved(at) {
			continue
		}
		if err != nil {
			return fmt.Errorf("task %q has dotenv = %q: %w", b.t.Shown(), file, err)
		}
		set, err := parseDotenv(file, text)
		if err != nil {
			return fmt.Errorf("task %q: %w", b.t.Shown(), err)
		}
		for _, name := range slices.Sorted(maps.Keys(set)) {
			if !b.box.Secrets && b.r.secret(name, set[name]) {
				b.hold(name)
				continue
			}
			b.set(name, set[name], file)
		}
	}
	return nil
}

// isRemoved reports whether a path of a copy that has only what differs is the mark of what was removed.
func isRemoved(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

// readDotenv reads a regular file below root. It follows no link out of root and does not block on a pipe. The
// error is fs.ErrNotExist where there is no such file.
func readDotenv(root, file string) ([]byte, error) {
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil, errors.New("it is not inside the root: write a path relative to the folder of PIPELINE.hcl")
	}
	in, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	f, err := in.OpenFile(path.Clean(file), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case errors.Is(err, fs.ErrPermission):
		return nil, errors.New("you may not read it: change its mode")
	case err != nil:
		return nil, fmt.Errorf("it cannot be opened inside the root (a link must not lead out of it): %w",
			errors.Unwrap(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file: name a file of NAME=VALUE lines")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDotenv+1))
	if err == nil && len(text) > maxDotenv {
		err = fmt.Errorf("it has more than %d bytes: name a file of NAME=VALUE lines", maxDotenv)
	}
	return text, err
}

// parseDotenv parses a dotenv file. A ${NAME} is a variable that the same file set above, never one of the
// environment. Errors have file and line and never quote the file, which may contain secrets. It refuses what other
// tools read in different ways, and values that grow without limit: it parses in our process what an agent may have
// written. (github.com/joho/godotenv accepts all of these, expands from the environment, and quotes the file in its
// errors.)
func parseDotenv(file string, text []byte) (map[string]string, error) {
	s := &dotenvParser{text: bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n")), set: make(map[string]string)}
	if err := s.all(); err != nil {
		return nil, fmt.Errorf("%s:%s: %w", file, s.place(), err)
	}
	for name, value := range s.set {
		if strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("%s: the value of %s contains a NUL byte, which no program can be given", file, name)
		}
	}
	return s.set, nil
}

// A dotenvParser parses a dotenv file, one NAME=VALUE after the other.
type dotenvParser struct {
	text  []byte
	at    int // the next byte to read
	fault int // where an error is
	set   map[string]string
	sum   int // bytes of all values, also of those that a later line sets again
}

// literally is the advice where a $ or \ was meant as such.
const literally = "; to mean it literally put the value into single quotes, or write \\%c"

// all parses the whole file. After an error, fault is its offset.
func (s *dotenvParser) all() error {
	for {
		for s.at < len(s.text) && bytes.IndexByte([]byte(" \t\v\f\r\n"), s.text[s.at]) >= 0 {
			s.at++
		}
		if s.at == len(s.text) {
			return nil
		}
		if s.text[s.at] == '#' {
			s.at = s.end()
			continue
		}
		s.fault = s.at
		if err := s.statement(); err != nil {
			return err
		}
	}
}

// end returns the offset of the end of the current line.
func (s *dotenvParser) end() int {
	if i := bytes.IndexByte(s.text[s.at:], '\n'); i >= 0 {
		return s.at + i
	}
	return len(s.text)
}

// place returns the line of the fault and, for a $ or \, its column, both counted from 1.
func (s *dotenvParser) place() string {
	line := 1 + bytes.Count(s.text[:s.fault], []byte("\n"))
	begin := s.text[:s.fault]
	begin = begin[bytes.LastIndexByte(begin, '\n')+1:]
	if c := s.text[s.fault:]; len(c) > 0 && (c[0] == '$' || c[0] == '\\') {
		return fmt.Sprintf("%d:%d", line, utf8.RuneCount(begin)+1)
	}
	return fmt.Sprint(line)
}

// statement parses one NAME=VALUE, up to the end of its last line.
func (s *dotenvParser) statement() error {
	at := bytes.IndexAny(s.text[s.at:s.end()], "=:")
	if at < 0 {
		return errors.New("this is no NAME=VALUE")
	}
	key := strings.TrimSpace(string(s.text[s.at : s.at+at]))
	if words := strings.Fields(key); len(words) == 2 && words[0] == "export" {
		key = words[1]
	}
	switch {
	case !pipeline.IsEnvName(key):
		return fmt.Errorf("the text before the = is not a variable name: %s", pipeline.EnvNameRule)
	case strings.HasPrefix(key, ours):
		return fmt.Errorf("the names that begin with %s are async-pipeline's own; use another", ours)
	}
	s.at += at + 1
	before := s.at
	for s.at < len(s.text) && bytes.IndexByte([]byte(" \t\v\f"), s.text[s.at]) >= 0 {
		s.at++
	}
	var value string
	var err error
	if s.at < len(s.text) && (s.text[s.at] == '"' || s.text[s.at] == '\'') {
		value, err = s.quoted()
	} else {
		value, err = s.bare(s.at > before)
	}
	if err != nil {
		return err
	}
	s.sum += len(value)
	if s.sum > maxDotenv {
		return errTooMuch
	}
	s.set[key] = value
	return nil
}

var errTooMuch = fmt.Errorf("the values have more than %d bytes here, with what their ${NAME} stand for: use fewer of them", maxDotenv)

// bare parses a value without quotes: up to the end of the line, or to a # after a space.
func (s *dotenvParser) bare(spaced bool) (string, error) {
	from, line := s.at, s.text[s.at:s.end()]
	s.at += len(line)
	for i, c := range line {
		last, _ := utf8.DecodeLastRune(line[:i])
		if c == '#' && (i == 0 && spaced || i > 0 && unicode.IsSpace(last)) {
			line = line[:i]
			break
		}
	}
	from += len(line) - len(bytes.TrimLeftFunc(line, unicode.IsSpace))
	line = bytes.TrimSpace(line)
	if bytes.ContainsRune(line, '\r') {
		return "", errors.New("there is a carriage return in the value: put it into double quotes as \\r")
	}
	return s.expand(from, from+len(line), false)
}

// quoted parses a value in quotes, which may span lines. In single quotes nothing is expanded.
func (s *dotenvParser) quoted() (string, error) {
	quote := s.text[s.at]
	from := s.at + 1
	i := from
	for i < len(s.text) && s.text[i] != quote {
		if quote == '"' && s.text[i] == '\\' {
			i++ // an escaped quote does not end the value
		}
		i++
	}
	if i >= len(s.text) {
		return "", fmt.Errorf("the value begins with %c and has no end: write the closing %c", quote, quote)
	}
	s.at = i + 1
	tail := bytes.TrimSpace(s.text[s.at:s.end()])
	switch {
	case len(tail) == 0 || tail[0] == '#':
	case quote == '"':
		return "", errors.New(`something follows the closing " of the value: escape a " inside as \", or use single quotes`)
	default:
		return "", errors.New("something follows the closing ' of the value: put a value with a ' in it into double quotes")
	}
	s.at = s.end()
	if quote == '\'' {
		return string(s.text[from:i]), nil
	}
	return s.expand(from, i, true)
}

// escapes are the escape sequences in double quotes. Tools disagree on all others, so those are refused.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', '"': '"', '\\': '\\', '$': '$'}

// expand returns the bytes between two offsets as a value, with escapes and names expanded. Without quotes the only
// escape is \$.
func (s *dotenvParser) expand(from, to int, quotes bool) (string, error) {
	var b strings.Builder
	for i := from; i < to; {
		if s.sum+b.Len() > maxDotenv {
			return "", errTooMuch
		}
		c, rest := s.text[i], s.text[i+1:to]
		switch {
		case c == '\\' && quotes:
			plain, ok := byte(0), false
			if len(rest) > 0 {
				plain, ok = escapes[rest[0]]
			}
			if !ok {
				s.fault = i
				return "", fmt.Errorf(`in double quotes a \ stands before n, r, $, " and \ only`+literally, '\\')
			}
			b.WriteByte(plain)
			i += 2
		case c == '\\' && len(rest) > 0 && rest[0] == '$':
			b.WriteByte('$')
			i += 2
		case c == '$':
			name, length, err := nameOf(rest)
			value, known := s.set[name]
			if err == nil && name != "" && !known {
				err = fmt.Errorf("this $ names a variable that is set nowhere above in this file, and nothing from outside goes into it"+literally, '$')
			}
			if err != nil { // the name is not shown: it may be part of a password
				s.fault = i
				return "", err
			}
			if name == "" {
				value = "$"
			}
			b.WriteString(value)
			i += 1 + length
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), nil
}

// nameOf returns the variable name after a $, as a shell would read it, and how many bytes it takes. It is empty
// for a $ that starts no name.
func nameOf(rest []byte) (name string, length int, err error) {
	switch {
	case len(rest) == 0:
		return "", 0, nil
	case rest[0] == '(':
		return "", 0, fmt.Errorf("$(…) runs nothing here"+literally, '$')
	case rest[0] == '{':
		end := bytes.IndexByte(rest, '}')
		if end < 0 || !pipeline.IsEnvName(string(rest[1:end])) {
			return "", 0, fmt.Errorf("only ${NAME} is understood here, without a default"+literally, '$')
		}
		return string(rest[1:end]), end + 1, nil
	}
	for length < len(rest) && inName(rest[length], length == 0) {
		length++
	}
	return string(rest[:length]), length, nil
}

// inName reports whether c may be part of a name without braces; first is its first byte.
func inName(c byte, first bool) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || !first && c >= '0' && c <= '9'
}
