// Reading the header of one file's patch.

package patch

import (
	"errors"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

var indexLine = late.Regexp(`^([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: ([0-7]{6}))?$`)

func (s *scanner) header() (*header, error) {
	h := &header{}
	if s.have("--- ") {
		h.plain = true
		return h, s.names(h)
	}
	line := s.next()
	rest, ok := strings.CutPrefix(line, "diff --git ")
	if !ok {
		return nil, s.bad("%.60q is not the beginning of a file's patch", line)
	}
	var err error
	if h.path, err = gitNames(rest); err != nil {
		return nil, s.bad("%v", err)
	}
	for {
		switch {
		case s.have("--- "):
			return h, s.names(h)
		case s.have("index "):
			err = s.index(h)
		case s.have("old mode "):
			err = s.mode(&h.oldMode, "old mode ")
		case s.have("new mode "):
			err = s.mode(&h.newMode, "new mode ")
		case s.have("new file mode "):
			err = s.mode(&h.added, "new file mode ")
		case s.have("deleted file mode "):
			err = s.mode(&h.deleted, "deleted file mode ")
		case s.have("rename "), s.have("copy "), s.have("similarity "), s.have("dissimilarity "):
			s.next()
			return nil, s.bad("renames and copies are not taken; write the patch with git diff --no-renames")
		default:
			return h, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *scanner) mode(to *string, prefix string) error {
	mode := strings.TrimPrefix(s.next(), prefix)
	if *to != "" || fileMode(mode) == 0 {
		return s.bad("mode %.20q: want one of 100644, 100755, 120000, and once", mode)
	}
	*to = mode
	return nil
}

func (s *scanner) index(h *header) error {
	m := indexLine().FindStringSubmatch(strings.TrimPrefix(s.next(), "index "))
	if m == nil || h.index || m[3] != "" && fileMode(m[3]) == 0 {
		return s.bad("not an index line")
	}
	h.index, h.oldBlob, h.newBlob, h.mode = true, m[1], m[2], m[3]
	return nil
}

// names reads the --- and +++ lines.
func (s *scanner) names(h *header) error {
	h.namesSeen = true
	old, oldNull, err := fileName(strings.TrimPrefix(s.next(), "--- "), "a/")
	if err != nil {
		return s.bad("%v", err)
	}
	if !s.have("+++ ") {
		return s.bad("no +++ line after this one")
	}
	now, newNull, err := fileName(strings.TrimPrefix(s.next(), "+++ "), "b/")
	if err != nil {
		return s.bad("%v", err)
	}
	h.oldNull, h.newNull = oldNull, newNull
	if h.plain {
		h.path = first(now, old)
	}
	if oldNull && newNull || !oldNull && old != h.path || !newNull && now != h.path {
		return s.bad("the names of the file do not agree; renames are not taken")
	}
	return nil
}

var (
	errPrefix = errors.New("want names that begin with a/ and b/, or /dev/null")
	errRename = errors.New("want the same name behind a/ and b/; renames are not taken")
)

// fileName reads the name of a --- or +++ line; a tab ends it, what follows would be a time.
func fileName(s, prefix string) (name string, null bool, err error) {
	if strings.HasPrefix(s, `"`) {
		name, s, err = unquote(s)
		if err != nil {
			return "", false, err
		}
		if s != "" && s[0] != '\t' {
			return "", false, errQuote
		}
	} else {
		name, _, _ = strings.Cut(s, "\t")
		if name == "/dev/null" {
			return "", true, nil
		}
	}
	name, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return "", false, errPrefix
	}
	return name, false, nil
}

// gitNames reads the two names of a "diff --git" line. They must be one: then it is clear where the first ends, whatever spaces are in it.
func gitNames(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		n := (len(s) - len("a/ b/")) / 2
		if n < 1 || s != "a/"+s[2:2+n]+" b/"+s[2:2+n] {
			return "", errRename
		}
		return s[2 : 2+n], nil
	}
	old, rest, err := unquote(s)
	if err != nil {
		return "", err
	}
	rest, ok := strings.CutPrefix(rest, " ")
	if !ok {
		return "", errQuote
	}
	now, rest, err := unquote(rest)
	if err != nil {
		return "", err
	}
	a, okA := strings.CutPrefix(old, "a/")
	b, okB := strings.CutPrefix(now, "b/")
	if rest != "" || !okA || !okB || a != b {
		return "", errRename
	}
	return a, nil
}
