package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

const (
	maxHits     = 200
	maxFiles    = 100_000
	maxSearched = 2 << 20 // of one file of a folder, in bytes; for a file that the call names see maxWhole
	maxProgram  = 10_000  // steps of a pattern: more of them make every byte of a file dear
	longLine    = 4 << 10 // bytes of a line from which on the search may be ended within it
	maxExcerpt  = 300     // of a line, in bytes
	searchLimit = 30 * time.Second
)

var errSearchLimit = errors.New("the search took too long")

var toolSearch = declared{
	name: "search", effect: Reads, verb: "searches for", noun: "pattern",
	says: "Finds lines that match a regular expression, as path:line:text, at most 200. Of a folder, binary files, " +
		"files of more than 2 MiB, folders of git and symlinks are left out; a file that is named may have 16 MiB.",
	fields: []field{
		{name: "pattern", must: true, says: "a regular expression (RE2), matched line by line"},
		{name: "path", says: "the folder or file; the working directory where it is left out"},
	},
	do: func(ctx context.Context, w *Toolset, a args) Outcome {
		if len(a.texts["pattern"]) > 1000 {
			return failed("the pattern is longer than 1,000 bytes")
		}
		re, err := regexp.Compile(a.texts["pattern"])
		if err != nil {
			return failed("the pattern cannot be read: %v", err)
		}
		if tooDear(a.texts["pattern"]) {
			return failed("the pattern repeats too much: use smaller numbers in its braces, or search for a part of it")
		}
		ctx, cancel := context.WithTimeoutCause(ctx, searchLimit, errSearchLimit)
		defer cancel()
		s := &searching{w: w, re: re}
		if n, ok := outputID(a.texts["path"]); ok {
			kept, err := w.output(n)
			if err != nil {
				return failed("%v", err)
			}
			s.lines(ctx, fmt.Sprintf("output:%d", n), []byte(kept))
			return s.outcome(ctx)
		}
		at, err := w.find(cmp.Or(a.texts["path"], "."))
		return onFile(at, err, func() Outcome { return s.place(ctx, at) })
	},
}

// A searching is one search. It belongs to the goroutine of the call.
type searching struct {
	w      *Toolset
	re     *regexp.Regexp
	out    strings.Builder
	hits   int
	files  int
	large  int
	unread int
	full   bool
}

// place searches a folder or a file.
func (s *searching) place(ctx context.Context, at string) Outcome {
	info, err := s.w.root.Lstat(at)
	switch {
	case err != nil:
		return failed("%s: %s", s.w.shown(at), why(err))
	case info.IsDir():
		s.folder(ctx, at)
		return s.outcome(ctx)
	}
	if err := s.w.isFile(at, info); err != nil {
		return failed("%v", err)
	}
	if info.Size() > maxWhole {
		return failed("%s has %s: search looks through one file of up to %s; read shows lines of it by their numbers",
			s.w.shown(at), english.Size(info.Size()), english.Size(maxWhole))
	}
	s.file(ctx, at, maxWhole)
	return s.outcome(ctx)
}

// folder searches everything below a folder, in the order of the names.
func (s *searching) folder(ctx context.Context, top string) {
	todo := []string{top}
	for len(todo) > 0 && !s.over(ctx) {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		info, err := s.w.root.Lstat(at)
		if err != nil {
			s.unread++
			continue
		}
		if !info.IsDir() {
			s.file(ctx, at, maxSearched)
			continue
		}
		entries, _, err := s.w.entries(ctx, at)
		if err != nil {
			s.unread++
			continue
		}
		for _, e := range slices.Backward(entries) { // the last of todo comes next
			if e.IsDir() || e.Type().IsRegular() {
				todo = append(todo, path.Join(at, e.Name()))
			}
		}
	}
}

func (s *searching) over(ctx context.Context) bool { return s.full || ctx.Err() != nil }

// file searches a file of at most so many bytes.
func (s *searching) file(ctx context.Context, at string, most int64) {
	if s.files++; s.files > maxFiles {
		s.full = true
		return
	}
	f, info, err := s.w.open(at)
	if err != nil {
		s.unread++
		return
	}
	defer f.Close()
	if info.Size() > most {
		s.large++
		return
	}
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		s.unread++
		return
	}
	if !binary(b) {
		// Only what read shows is searched: what is hidden is not found either, and nothing tells how a secret goes
		// on.
		s.lines(ctx, s.w.shown(at), s.w.r.Secrets.Bytes(b))
	}
}

// lines searches a text without secrets.
func (s *searching) lines(ctx context.Context, name string, b []byte) {
	passed := 0 // bytes since the end was asked for
	for n := 1; len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		b = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if passed += len(line) + 1; passed > longLine {
			if passed = 0; ctx.Err() != nil {
				return
			}
		}
		at := s.find(ctx, line)
		if at == nil {
			continue
		}
		hit := fmt.Sprintf("%s:%d:%s\n", name, n, excerpt(string(line), at[0]))
		if s.hits == maxHits || s.out.Len()+len(hit) > maxBytes {
			s.full = true
			return
		}
		s.hits++
		s.out.WriteString(hit)
	}
}

// find returns where the pattern matches in a line. A long line is passed to it rune by rune, so that the end of ctx
// ends the search within the line.
func (s *searching) find(ctx context.Context, line []byte) []int {
	if len(line) <= longLine {
		return s.re.FindIndex(line)
	}
	at := s.re.FindReaderIndex(&bounded{ctx: ctx, left: line})
	if ctx.Err() != nil {
		return nil
	}
	return at
}

// A bounded is a text that ends early when its context does.
type bounded struct {
	ctx  context.Context
	left []byte
	n    int
}

// ReadRune is of io.RuneReader.
func (b *bounded) ReadRune() (rune, int, error) {
	if b.n++; b.n%128 == 0 && b.ctx.Err() != nil || len(b.left) == 0 {
		return 0, 0, io.EOF
	}
	r, size := utf8.DecodeRune(b.left)
	b.left = b.left[size:]
	return r, size, nil
}

// tooDear reports whether a pattern compiles to a program of so many steps that each byte of a file costs too much.
func tooDear(pattern string) bool {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	prog, err := syntax.Compile(parsed.Simplify())
	return err == nil && len(prog.Inst) > maxProgram
}

// excerpt returns a line, or of a long one the part around position at.
func excerpt(line string, at int) string {
	if len(line) <= maxExcerpt {
		return line
	}
	from := max(0, min(at-maxExcerpt/3, len(line)-maxExcerpt))
	to := from + maxExcerpt
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to++
	}
	s := line[from:to]
	if from > 0 {
		s = "…" + s
	}
	if to < len(line) {
		s += "…"
	}
	return s
}

func (s *searching) outcome(ctx context.Context) Outcome {
	var o Outcome
	head := english.Count(s.hits, "line")
	switch {
	case s.hits == 0:
		head, o.Code = "nothing matches", Empty
	case s.full:
		head = fmt.Sprintf("the first %s", english.Count(s.hits, "line"))
	}
	switch {
	case errors.Is(context.Cause(ctx), errSearchLimit):
		head += fmt.Sprintf(" within %v, then the search was ended: name a smaller folder", searchLimit)
	case ctx.Err() != nil:
		return failed("search was ended: the turn is ending")
	case s.files > maxFiles:
		head += fmt.Sprintf(" in the first %d files: name a smaller folder", maxFiles)
	case s.full:
		head += "; there are more: name a smaller folder or a narrower pattern"
	}
	if s.large > 0 {
		head += fmt.Sprintf(" (%s of more than %s left out: name one to search it)", english.Count(s.large, "file"),
			english.Size(maxSearched))
	}
	if s.unread > 0 {
		head += fmt.Sprintf(" (%s could not be read)", english.Count(s.unread, "entry"))
	}
	o.Text = head + "\n" + s.out.String()
	return o
}
