package agent

// Unified diffs in the answer of an agent: fenced or bare, with git's headers or plain ones, between prose.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

// A Diff is one unified diff of an answer, in the form that internal/patch reads: names behind a/ and b/, no index
// lines.
type Diff struct {
	Text string
	// if the whole answer has \r\n: Text with a \r in each line of a file, which may be meant; else empty
	CRLF    string
	Line    int    // of the answer, from 1, where it begins
	Problem string // why it cannot be read, and in which line of the answer; empty: it is complete
}

// Diffs returns the unified diffs of an answer in their order. A file that begins directly after the last hunk of
// another, or after empty lines, belongs to the same diff. Nothing is guessed: a hunk has as many lines as its header
// says, or the diff has a Problem. What the model thinks before it answers is not read.
func Diffs(answer string) []Diff {
	if rest, _, ok := WithoutThinking(answer); ok {
		answer = strings.Repeat("\n", strings.Count(answer[:len(answer)-len(rest)], "\n")) + rest
	}
	r := &diffReader{lines: strings.SplitAfter(answer, "\n")}
	var all []Diff
	for r.at < len(r.lines) {
		if !r.begins(r.at) {
			r.at++
			continue
		}
		all = append(all, r.diff())
	}
	return all
}

// LastDiff returns the last complete diff of an answer, or else the last one; false if there is none.
func LastDiff(answer string) (Diff, bool) {
	all := Diffs(answer)
	for _, d := range slices.Backward(all) {
		if d.Problem == "" {
			return d, true
		}
	}
	if len(all) == 0 {
		return Diff{}, false
	}
	return all[len(all)-1], true
}

// A diffReader reads an answer line by line.
type diffReader struct {
	lines     []string // with their ends
	at        int
	crlf      bool   // the diff's own headers end in \r\n
	fence     string // an indented line that ends the diff, because one like it begins it; empty: none
	closes    string // a tag that ends the diff, because one of its name begins it; empty: none
	out, kept strings.Builder
}

// head returns line i as a header, without its line end; it is empty beyond the last line.
func (r *diffReader) head(i int) string {
	if i >= len(r.lines) {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(r.lines[i], "\n"), "\r")
}

// body returns line i as a line of a hunk. Its \r belongs to the file, unless all lines of the answer have one.
func (r *diffReader) body(i int) string {
	if r.crlf || i >= len(r.lines) {
		return r.head(i)
	}
	return strings.TrimSuffix(r.lines[i], "\n")
}

func (r *diffReader) write(format string, args ...any) {
	fmt.Fprintf(&r.out, format, args...)
	fmt.Fprintf(&r.kept, format, args...)
}

// modes and others are the lines that may come between "diff --git" and the names.
var (
	modes  = []string{"old mode ", "new mode ", "new file mode ", "deleted file mode "}
	others = []string{"index ", "similarity ", "dissimilarity ", "rename ", "copy ", "GIT binary patch", "Binary files "}
)

func begin(line string, with []string) bool {
	return slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(line, w) })
}

// begins reports whether the patch of a file begins at line i.
func (r *diffReader) begins(i int) bool {
	line := r.head(i)
	if m := tagInFront().FindString(line); strings.HasPrefix(line[len(m):], "diff --git ") {
		return r.named(i+1) || begin(r.head(i+1), modes) || begin(r.head(i+1), others)
	}
	return r.named(i)
}

// named reports whether line i and the next are the names of a file, with a hunk after them.
func (r *diffReader) named(i int) bool {
	line := r.head(i)
	line = line[len(tagInFront().FindString(line)):]
	return strings.HasPrefix(line, "--- ") && strings.HasPrefix(r.head(i+1), "+++ ") &&
		strings.HasPrefix(r.head(i+2), "@@ ")
}

// diff reads the diff that begins at the present line.
func (r *diffReader) diff() Diff {
	r.out.Reset()
	r.kept.Reset()
	r.crlf = strings.HasSuffix(r.lines[r.at], "\r\n")
	r.wrapped()
	d := Diff{Line: r.at + 1}
	for {
		if d.Problem = r.file(); d.Problem != "" {
			break
		}
		next := r.at
		for next < len(r.lines) && r.head(next) == "" {
			next++
		}
		if next >= len(r.lines) || !r.begins(next) || tagInFront().MatchString(r.lines[next]) {
			break
		}
		r.at = next
	}
	d.Text = r.out.String()
	if r.crlf {
		d.CRLF = r.kept.String()
	}
	return d
}

var (
	tagInFront  = lazily.Regexp(`^<([A-Za-z][\w-]*)(?:\s[^<>]*)?>`)
	tagAlone    = lazily.Regexp(`^\s*<([A-Za-z][\w-]*)(?:\s[^<>]*)?>\s*$`)
	fenceInside = lazily.Regexp("^(\\s+(?:```+|~~~+))[\\w-]*\\s*$")
)

// wrapped reads what stands around the diff that begins at the present line. A tag in front of it on its line is
// removed.
func (r *diffReader) wrapped() {
	r.fence, r.closes = "", ""
	before := ""
	if r.at > 0 {
		before = r.head(r.at - 1)
	}
	if m := fenceInside().FindStringSubmatch(before); m != nil {
		r.fence = m[1]
	}
	m := tagInFront().FindStringSubmatch(r.lines[r.at])
	if m != nil {
		r.lines[r.at] = r.lines[r.at][len(m[0]):]
	} else if m = tagAlone().FindStringSubmatch(before); m == nil {
		return
	}
	// only where it ends a line of the diff: on a line of its own it is behind the diff, and what ends a line is the file's
	closes := "</" + m[1] + ">"
	if !slices.ContainsFunc(r.lines[r.at:], func(l string) bool { return strings.TrimSpace(l) == closes }) {
		r.closes = closes
	}
}

// bad returns a problem of the present line and moves on.
func (r *diffReader) bad(format string, args ...any) string {
	r.at++
	return fmt.Sprintf("line %d of the answer: ", r.at) + fmt.Sprintf(format, args...)
}

// file copies the patch of one file. It returns a Problem.
func (r *diffReader) file() string {
	git, said := "", ""
	if rest, ok := strings.CutPrefix(r.head(r.at), "diff --git "); ok {
		git = rest
		for r.at++; begin(r.head(r.at), modes) || begin(r.head(r.at), others); r.at++ {
			switch line := r.head(r.at); {
			case begin(line, modes):
				said += line + "\n"
			case strings.HasPrefix(line, "index "): // what an agent writes there is invented as often as not
			case begin(line, others[5:]):
				return r.bad("a binary patch is not taken, only text")
			default:
				return r.bad("renames and copies are not taken; a diff deletes the one file and adds the other")
			}
		}
	}
	if !r.named(r.at) { // a mode, or an empty file
		name, ok := gitName(git)
		if !ok || said == "" {
			return r.bad("no hunks follow the names of the file")
		}
		r.write("diff --git %s %s\n%s", name.behind("a/"), name.behind("b/"), said)
		return ""
	}
	old, now, ok := fileNames(r.head(r.at), r.head(r.at+1), git)
	if !ok {
		return r.bad("the two names of the file do not agree")
	}
	if said != "" {
		name := now
		if now.null {
			name = old
		}
		r.write("diff --git %s %s\n%s", name.behind("a/"), name.behind("b/"), said)
	}
	r.write("--- %s\n+++ %s\n", old.behind("a/"), now.behind("b/"))
	for r.at += 2; strings.HasPrefix(r.head(r.at), "@@ "); {
		if problem := r.hunk(); problem != "" {
			return problem
		}
	}
	if l := r.body(r.at); strings.TrimSpace(l) != "" && strings.Contains(" +-", l[:1]) && !r.begins(r.at) &&
		(r.fence == "" || strings.TrimRight(l, " \t\r") != r.fence) {
		return r.bad("the hunk before it has more lines than its head says")
	}
	return ""
}

// hunk copies one hunk.
func (r *diffReader) hunk() string {
	ranges, _, closed := strings.Cut(strings.TrimPrefix(r.head(r.at), "@@ "), " @@")
	minus, plus, both := strings.Cut(ranges, " ")
	old, ok := lineCount(minus, "-")
	now, ok2 := lineCount(plus, "+")
	if !closed || !both || !ok || !ok2 {
		return r.bad("the head of a hunk is @@ -LINE,LINES +LINE,LINES @@")
	}
	r.write("@@ %s @@\n", ranges)
	r.at++
	for old > 0 || now > 0 {
		l := r.body(r.at)
		switch {
		case r.at >= len(r.lines) || r.lines[r.at] == "":
			return r.bad("the answer ends within a hunk: %d old and %d new lines are missing", old, now)
		case strings.TrimSuffix(l, "\r") == "": // an empty line whose space was lost
			l = " " + l
			fallthrough
		case l[0] == ' ':
			old--
			now--
		case l[0] == '-':
			old--
		case l[0] == '+':
			now--
		case l[0] != '\\':
			return r.bad("a line of a hunk begins with a space, + or -; %d old and %d new lines are missing", old, now)
		}
		if old == 0 && now == 0 && !strings.HasPrefix(r.head(r.at+1), "@@ ") { // with another hunk the diff goes on
			l = strings.TrimSuffix(l, r.closes)
		}
		if old < 0 || now < 0 {
			return r.bad("the hunk has more lines than its head says")
		}
		r.copyLine(l)
	}
	if strings.HasPrefix(r.head(r.at), `\ `) {
		r.copyLine(r.head(r.at))
	}
	return ""
}

func (r *diffReader) copyLine(l string) {
	r.out.WriteString(l + "\n")
	if r.crlf && l[0] != '\\' {
		l += "\r"
	}
	r.kept.WriteString(l + "\n")
	r.at++
}

// lineCount parses "-1,3" or "-1", which is one line.
func lineCount(s, sign string) (int, bool) {
	s, ok := strings.CutPrefix(s, sign)
	at, n, both := strings.Cut(s, ",")
	if !both {
		n = "1"
	}
	_, errAt := strconv.ParseUint(at, 10, 31)
	lines, err := strconv.ParseUint(n, 10, 31)
	return int(lines), ok && err == nil && errAt == nil
}

// A diffName is the name of a file in a diff, without quotes. Escapes in it are kept.
type diffName struct {
	text         string
	quoted, null bool
}

// behind returns the name with a prefix in front.
func (n diffName) behind(prefix string) string {
	switch {
	case n.null:
		return "/dev/null"
	case n.quoted:
		return `"` + prefix + n.text + `"`
	}
	return prefix + n.text
}

// aName parses the name of a --- or +++ line. A tab ends it: a time would follow.
func aName(s string) diffName {
	if rest, ok := strings.CutPrefix(s, `"`); ok {
		if end := strings.LastIndexByte(rest, '"'); end >= 0 {
			return diffName{text: rest[:end], quoted: true}
		}
	}
	s, _, _ = strings.Cut(s, "\t")
	return diffName{text: s, null: s == "/dev/null"}
}

// without is the name without a prefix of one letter, such as a/ and w/.
func (n diffName) without() (diffName, bool) {
	if len(n.text) < 3 || n.text[1] != '/' {
		return n, false
	}
	n.text = n.text[2:]
	return n, true
}

// fileNames returns the names of a file before and after, without prefixes. There are none if both sides are the same
// name as they are.
func fileNames(minus, plus, git string) (old, now diffName, ok bool) {
	old, now = aName(strings.TrimPrefix(minus, "--- ")), aName(strings.TrimPrefix(plus, "+++ "))
	_, unprefixed := sameTwice(git)
	bareOld, hasOld := old.without()
	bareNow, hasNow := now.without()
	switch {
	case old.null && now.null:
		return old, now, false
	case old.null || now.null:
		if !unprefixed && !old.null && hasOld && old.text[0] == 'a' {
			old = bareOld
		}
		if !unprefixed && !now.null && hasNow && now.text[0] == 'b' {
			now = bareNow
		}
		return old, now, true
	case old.text == now.text:
		return old, now, true
	}
	return bareOld, bareNow, hasOld && hasNow && bareOld.text == bareNow.text
}

// sameTwice parses a "diff --git" line in which one name appears twice, without prefixes.
func sameTwice(git string) (diffName, bool) {
	half := len(git) / 2
	if len(git)%2 == 0 || git[half] != ' ' || git[:half] != git[half+1:] {
		return diffName{}, false
	}
	return aName(git[:half]), true
}

// gitName returns the one name of a "diff --git" line, without prefixes. Both names are equally long, so the middle
// is known even if the names hold spaces.
func gitName(git string) (diffName, bool) {
	if name, ok := sameTwice(git); ok {
		return name, true
	}
	half := len(git) / 2
	if len(git)%2 == 0 || git[half] != ' ' {
		return diffName{}, false
	}
	old, okOld := aName(git[:half]).without()
	now, okNow := aName(git[half+1:]).without()
	return now, okOld && okNow && old == now
}
