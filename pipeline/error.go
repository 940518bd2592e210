package pipeline

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// An Error is a fault in what a person wrote: where, what, in the user's words, and what to do next.
type Error struct {
	Pos        Pos
	Warning    bool   // a warning stops nothing
	Summary    string // what is wrong, one line, no full stop
	Detail     string // why, and what to write instead
	Suggestion string // the word that was probably meant, or empty
	Source     string // the line of the file at Pos, without its line end
	Width      int    // columns the fault takes on Source; 0 means unknown
}

func (e Error) Error() string {
	s := e.Summary
	if p := e.Pos.String(); p != "" {
		s = p + ": " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Errors are all the faults of one reading, in file order.
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the first fault as an Error.
func (e Errors) Unwrap() []error {
	each := make([]error, len(e))
	for i := range e {
		each[i] = e[i]
	}
	return each
}

// Serious returns how many of the errors are not warnings.
func (e Errors) Serious() int {
	n := 0
	for i := range e {
		if !e[i].Warning {
			n++
		}
	}
	return n
}

// The names that a pipeline may give to variables of the environment.

var envName = lazily.Regexp(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// EnvNameRule is the rule of IsEnvName in words.
const EnvNameRule = "A name consists of a-z, A-Z, 0-9, _ and ., and begins with a letter or _."

// IsEnvName reports whether env or a dotenv file may set a variable of this name. A shell can read only letters,
// digits and _; dots are allowed because programs such as Elasticsearch are configured by names with them. pass_env
// is not restricted by it.
func IsEnvName(name string) bool { return envName().MatchString(name) }

// Nearest returns the name that was probably meant by word, or "". It ignores case, dashes and underscores, so
// dependsOn is depends_on. test is web:test, and the other way round, where a pipeline includes files. Of two that are equally
// near it returns the first.
func Nearest(word string, names []string) string {
	const longest = 64 // nobody mistypes more, and the cost is a product of lengths
	w := plain(word)
	if w == "" || len(w) > longest {
		return ""
	}
	best, bestAt := "", max(1, len(w)/3)+1
	for _, name := range names {
		n := plain(name)
		if n == w {
			return name
		}
		if bestAt > 0 && (strings.HasSuffix(n, ":"+w) || strings.HasSuffix(w, ":"+n)) {
			best, bestAt = name, 0
		}
		if len(n) > longest || len(n) >= len(w)+bestAt || len(w) >= len(n)+bestAt {
			continue
		}
		if d := distance(w, n); d < bestAt && d < len(w) {
			best, bestAt = name, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// distance counts the letters to insert, remove, change or swap with their neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
