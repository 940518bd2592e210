package testreport

// What went wrong by the words of an output, without what differs from run to run.

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	mostErrors   = 5_000 // different lines of one kind that are looked at
	maxErrorLine = 300   // bytes of a line that is kept
	shownErrors  = 2     // lines of a message
	lastWords    = 3     // lines from the end, where none tells of an error
)

// Message returns the most telling lines of an output, normalised, at most two, with "; " between them; "" for an
// output without text. It is only shown: nothing is decided by it.
func Message(output []byte) string {
	lines := telling(output)
	return strings.Join(lines[:min(len(lines), shownErrors)], "; ")
}

// A lineForm is a pattern of lines. Only a line with one of words is matched with it, since most lines of a long log
// have none. The lower the rank, the more telling the line.
type lineForm struct {
	rank  int
	words []string // nil: any line
	form  func() *regexp.Regexp
}

func (f *lineForm) matches(line, small string) bool {
	return (f.words == nil || slices.ContainsFunc(f.words,
		func(w string) bool { return strings.Contains(small, w) })) && f.form().MatchString(line)
}

// ranks is the number of ranks.
const ranks = 6

// tellingForms match lines that tell of an error. Only the lines of the lowest rank count: others are consequences,
// or guesses.
var tellingForms = []lineForm{
	// A crash: Go, sanitizers, an assertion of C, Rust, a signal that a shell saw.
	{0, []string{"panic", "fatal error: ", "assertion", "error: ", "sanitizer"}, lazily.Regexp(
		`^(?:panic: |fatal error: |.*: Assertion .* failed|Assertion failed: |==\d+==\s*ERROR: |SUMMARY: \w+Sanitizer|thread '.*' (?:\(\d+\) )?panicked at )`)},
	{0, []string{"fault", "sigsegv", "sigabrt", "bus error", "illegal instruction", "stack overflow"}, lazily.Regexp(
		`\b(?:[Ss]egmentation fault|SIGSEGV|SIGABRT|Bus error|Illegal instruction|[Ss]tack overflow)\b`)},
	// A place in a file and what is wrong there: compilers, linters, type checkers.
	{1, []string{"error"}, lazily.Regexp(`[\w)]\.\w+[:(]\d+(?:[:,]\d+)?\)?:? (?:- )?\[?(?:fatal )?error\b|^\s*error(?:\[\w+\])?: |: \d+:\d+\s+error\s+\S`)},
	{1, nil, lazily.Regexp(`^\s*(?:--> \S+:\d+:\d+$|(?:vet: )?\S+\.\w+:\d+(?::\d+)?: \S)`)},
	// An exception by its name: Python, JavaScript, Java, Ruby.
	{2, []string{"error", "exception", "warning", "exit", "interrupt"}, lazily.Regexp(
		`^\s*(?:Uncaught |Caused by: |Exception in thread .*? )?(?:[\w.$]+\.)?(?:[A-Z]\w*)?(?:Error|Exception|Warning|Exit|Interrupt)(?: \[\w+\])?(?:: \S|$)`)},
	// A program or file that is not there, a target that cannot be made.
	{3, []string{
		"not found", "no such file", "denied", "cannot ", "no rule", "undefined reference", "no space",
		"refused", "out of memory",
	}, lazily.Regexp(
		`(?i)(?:command not found|: not found$|no such file or directory|permission denied|cannot find (?:module|package)|no rule to make target|undefined reference to|cannot open|no space left|connection refused|out of memory)`)},
	// A line that begins with the word.
	{4, []string{"error", "fatal", "fail"}, lazily.Regexp(`(?i)^\W*(?:[\w./@-]+:?\s+)?(?:error|fatal|failed|failure)\b\W`)},
	{5, []string{
		"error", "fail", "fatal", "refused", "denied", "invalid", "unexpected", "missing", "mismatch", "differ",
	}, lazily.Regexp(
		`(?i)\b(?:error|failed|failure|fatal|refused|denied|invalid|unexpected|missing|mismatch|differs?)\b`)},
}

// passedOn matches lines that only repeat that something failed before, or that are no failures.
var passedOn = []lineForm{
	{0, []string{"warning: ", "note: ", "info: ", "remark: ", "hint: "}, lazily.Regexp(
		`\d: (?:warning|note|info|remark|hint): `)},
	{0, []string{
		"make", "npm", "exit", "elifecycle", "ninja", "collect2", "error", "for more", "traceback", "fail",
	}, lazily.Regexp(
		`^\s*(?:make(?:\[\d+\])?: (?:\*\*\* .*(?:Error \d+|Killed|Terminated)|Target .* not remade|Leaving|Entering)|npm (?:ERR!|error)|(?:exit|error Command failed with) (?:status|exit code) \d+|ELIFECYCLE|ninja: build stopped|collect2: error|error: (?:could not compile|aborting due to|test failed|build failed)|For more information about|Traceback|FAIL(?:ED)?$)`)},
}

// telling returns the lines that tell of an error, normalised, in their order, each once; where there are none, the
// last few lines.
func telling(output []byte) []string {
	var of [ranks][]string
	seen := map[string]bool{}
	best := ranks // the lowest that was found
	var last []string
	file := "" // that was alone in a line: linters write it above what is wrong in it
	for raw := range splitAt(output, '\n') {
		if len(raw) > maxTextLine {
			continue
		}
		text := shownLine(raw)
		if strings.TrimSpace(text) == "" {
			continue
		}
		if last = append(last, text); len(last) > lastWords {
			last = slices.Delete(last, 0, 1)
		}
		small := strings.ToLower(text)
		if slices.ContainsFunc(passedOn, func(f lineForm) bool { return f.matches(text, small) }) {
			continue
		}
		if aloneFile().MatchString(text) {
			file = text
		} else if placeOnly().MatchString(text) {
			text = file + ": " + strings.TrimSpace(text)
		}
		for i := range tellingForms {
			f := &tellingForms[i]
			if f.rank > best || !f.matches(text, small) {
				continue
			}
			if line := normalLine(text); line != "" && !seen[line] && len(of[f.rank]) < mostErrors {
				best, seen[line] = f.rank, true
				of[f.rank] = append(of[f.rank], line)
			}
			break
		}
	}
	if best < ranks {
		return of[best]
	}
	var lines []string
	for _, text := range last {
		if line := normalLine(text); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

var (
	aloneFile = lazily.Regexp(`^\S+\.\w{1,5}$`)
	placeOnly = lazily.Regexp(`^\s+\d+:\d+\s+error\s`)
)

// varying is what differs from run to run, and what replaces it. The order counts.
var varying = []struct {
	form func() *regexp.Regexp
	by   string
}{
	{lazily.Regexp("[`\"\u00b4\u2018\u2019\u201c\u201d]"), "'"},
	{lazily.Regexp(`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?`), "<time>"},
	{lazily.Regexp(`\b\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?`), "<time>"},
	{lazily.Regexp(`\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`), "<time>"},
	{lazily.Regexp(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "<id>"},
	{lazily.Regexp(`\b0x[0-9a-fA-F]+\b`), "<address>"},
	{lazily.Regexp(`/tmp/[\w.-]+?(\.\w+)?([^/\w.-]|$)`), "<temp>$1$2"},
	// A path from the root of the machine: where the tree is differs, and where temporary files are.
	{lazily.Regexp(`(^|[\s'(=\[,:<])(?:file://)?/(?:[\w.@+~%-]+/)+([\w.@+~%-]*)`), "$1…/$2"},
	// Where in a file: other lines above it change nothing.
	{lazily.Regexp(`(\.\w+):\d+(?::\d+)?\b`), "$1"},
	{lazily.Regexp(`(\.\w+)\(\d+(?:,\d+)?\)`), "$1"},
	{lazily.Regexp(`: \d+:\d+(\s)`), ":$1"},
	{lazily.Regexp(`\+0x[0-9a-f]+|\bpid \d+`), "<n>"},
	{lazily.Regexp(`\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|m|h|secs?|seconds?|mins?|minutes?)\b`), "<duration>"},
}

var (
	hexID      = lazily.Regexp(`\b[0-9a-f]{7,64}\b`)
	loneNumber = lazily.Regexp(`(^|[^\w.])[-+]?\d+(?:[.,]\d+)*\b`)
)

// normalLine returns a line without what differs from run to run: times, durations, addresses, ids, numbers, places
// in files, the folders of absolute paths, forms of quotes, blanks. A number that is part of a word stays: E0308,
// utf8.
func normalLine(line string) string {
	if len(line) > 2*maxErrorLine {
		line = line[:2*maxErrorLine]
	}
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
	for _, v := range varying {
		line = v.form().ReplaceAllString(line, v.by)
	}
	line = hexID().ReplaceAllStringFunc(line, func(word string) string {
		if strings.ContainsAny(word, "0123456789") && strings.ContainsAny(word, "abcdef") {
			return "<id>"
		}
		return word
	})
	line = loneNumber().ReplaceAllString(line, "$1<n>")
	line = strings.Join(strings.Fields(line), " ")
	if len(line) > maxErrorLine {
		line = strings.ToValidUTF8(line[:maxErrorLine], "")
	}
	return line
}
