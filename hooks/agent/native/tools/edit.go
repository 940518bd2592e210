package tools

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

var toolEdit = declared{
	name: Edit, effect: Writes, verb: "edits", noun: "file",
	says: "Replaces a text that stands in a file exactly once by another. Copy old from the file, with its " +
		"indentation, and with enough lines around it to be unique.",
	fields: []field{
		{name: "path", must: true, says: "the file"},
		{name: "old", must: true, says: "text that stands in the file exactly once"},
		{name: "new", must: true, says: "what takes its place; empty takes it out"},
	},
	do: func(_ context.Context, w *Toolset, a args) Outcome {
		at, err := w.findToWrite(a.texts["path"], true)
		return onFile(at, err, func() Outcome { return w.edit(at, a.texts["old"], a.texts["new"]) })
	},
}

func (w *Toolset) edit(at, old, with string) Outcome {
	b, info, err := w.whole(at)
	switch {
	case err != nil:
		return failed("%v", err)
	case old == "":
		return failed("old is empty: name the text to replace. To make a file, or to fill an empty one, use write.")
	case old == with:
		return failed("old and new are the same: nothing was changed")
	}
	content := string(b)
	places := w.places(content, old)
	if len(places) == 0 && strings.Contains(content, "\r\n") && !strings.Contains(old, "\r") {
		// The model was shown the lines without telling how they end.
		old, with = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(strings.ReplaceAll(with, "\r\n", "\n"),
			"\n", "\r\n")
		places = w.places(content, old)
	}
	switch {
	case len(places) > 1:
		often := fmt.Sprintf("%d times", len(places))
		if len(places) == maxPlaces {
			often += " or more"
		}
		return failed("old stands in %s %s, at lines %s: nothing was changed. Take more of the lines around the place "+
			"that is meant.", w.shown(at), often, linesAt(content, places))
	case len(places) == 0:
		return failed("old does not stand in %s: nothing was changed. %s", w.shown(at), w.instead(content, old))
	}
	after := content[:places[0]] + with + content[places[0]+len(old):]
	if len(after) > maxWhole {
		return tooLarge(w.shown(at), len(after))
	}
	if err := w.save(at, []byte(after), info); err != nil {
		return failed("%v", err)
	}
	if s, ok := w.known(at); ok && s == sha256.Sum256(b) { // else the rest of the file was not shown
		w.know(at, sha256.Sum256([]byte(after)))
	}
	line := 1 + strings.Count(content[:places[0]], "\n")
	o := Outcome{Text: fmt.Sprintf("%s: edited at line %d, %s in place of %s", w.shown(at), line,
		english.Count(lineCount(with), "line"), english.Count(lineCount(old), "line"))}
	warnPlaceholders(&o, at, content, after, lineCount(after) < lineCount(content))
	return o
}

// places returns the occurrences of old in what the model may see of content: it is not told whether a guess
// continues inside a secret.
func (w *Toolset) places(content, old string) []int {
	all, shown := occurrences(content, old), w.clean(content)
	if shown == content {
		return all
	}
	const (
		most      = 21       // more than are told of
		mostBytes = 64 << 20 // bytes, after which what was found has to do
	)
	var seen []int
	mark := agent.NewMark()
	for i, p := range all {
		if len(seen) == most || i > 0 && i*len(content) > mostBytes {
			break
		}
		// A change within a secret brings to light what is left of it.
		if changed := w.clean(content[:p] + mark + content[p+len(old):]); strings.Replace(changed, mark, old,
			1) == shown {
			seen = append(seen, p)
		}
	}
	return seen
}

// maxPlaces is how many occurrences of a text are searched for.
const maxPlaces = 1000

// occurrences returns the positions of s in content, overlapping ones too.
func occurrences(content, s string) []int {
	var all []int
	for from := 0; len(all) < maxPlaces; {
		i := strings.Index(content[from:], s)
		if i < 0 {
			break
		}
		all = append(all, from+i)
		from += i + 1
	}
	return all
}

// linesAt returns the line numbers of positions, at most twenty.
func linesAt(content string, places []int) string {
	const most = 20
	var all []string
	line, at := 1, 0
	for _, p := range places {
		if len(all) == most {
			all = append(all, "…")
			break
		}
		line += strings.Count(content[at:p], "\n")
		at = p
		all = append(all, fmt.Sprint(line))
	}
	return strings.Join(all, ", ")
}

// instead returns what the file has where the model may have meant old.
func (w *Toolset) instead(content, old string) string {
	if strings.Contains(old, redact.Mark) && !strings.Contains(content, redact.Mark) {
		return redact.Mark + " stands for a secret that is not shown: leave it out of old."
	}
	lines, want := splitLines(w.clean(content)), splitLines(strings.Trim(old, "\r\n"))
	at, same := nearest(lines, want, mostCompared)
	if same == 0 {
		return "No line of it stands there; read the file."
	}
	const most = 20
	shown := lines[at:min(len(lines), at+min(len(want), most))]
	text := strings.Join(shown, "\n")
	if len(text) > 4<<10 {
		text = text[:border(text, min(len(text), 4<<10))]
	}
	where := fmt.Sprintf("lines %d–%d", at+1, at+len(shown))
	if len(shown) == 1 {
		where = fmt.Sprintf("line %d", at+1)
	}
	if same == len(want) {
		return fmt.Sprintf("These differ from it only in white space, %s:\n%s", where, text)
	}
	return fmt.Sprintf("The nearest is at %s; line %d is the first that differs:\n%s", where, at+same+1, text)
}

// mostCompared bounds how many lines are compared to find the nearest text: a file of similar lines would take very
// long.
const mostCompared = 5_000_000

// nearest finds where the most lines of want follow one another in lines, apart from white space, from want's first
// line on. A first line that is blank finds nothing. It returns the best match after most comparisons.
func nearest(lines, want []string, most int) (at, same int) {
	lines, want = squeeze(lines), squeeze(want)
	if want[0] == "" {
		return 0, 0
	}
	for i := range lines {
		n := 0
		for n < len(want) && i+n < len(lines) && lines[i+n] == want[n] {
			n++
		}
		if n > same {
			at, same = i, n
		}
		if most -= n + 1; most < 0 || same == len(want) {
			break
		}
	}
	return at, same
}

// squeeze returns lines without white space.
func squeeze(lines []string) []string {
	all := make([]string, len(lines))
	for i, s := range lines {
		all[i] = strings.Join(strings.Fields(s), "")
	}
	return all
}

func splitLines(s string) []string {
	all := strings.Split(s, "\n")
	for i, line := range all {
		all[i] = strings.TrimSuffix(line, "\r")
	}
	return all
}
