// What the agents of a fix said and did, read by a person: the same for every agent.
package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
)

// ShowTranscript shows a transcript. Folded, a call of a tool and its result are one line, and prompts, thoughts,
// requests and what stood on stderr are counted; unfolded, all of it is shown.
func (s *Screen) ShowTranscript(p *fix.Proposal, lines []fix.TranscriptLine, unfold bool) {
	t := &telling{Screen: s, lines: lines, unfold: unfold, told: make([]bool, len(lines))}
	t.b.WriteString(s.title("Transcript of the fix for " + called(p) + " of run " + Harmless(p.Run)))
	attempt := 0
	for i, l := range lines {
		if t.told[i] {
			continue
		}
		if l.Attempt != attempt {
			attempt, t.from = l.Attempt, l.At
			t.b.WriteString("\n" + s.paint(bold, fmt.Sprintf("Attempt %d", attempt)) + "\n")
		}
		t.line(i)
	}
	s.put(t.b.String())
}

// A telling is a transcript on its way to the screen.
type telling struct {
	*Screen
	lines  []fix.TranscriptLine
	unfold bool
	told   []bool // lines that were shown with an earlier one
	from   time.Time
	b      strings.Builder
}

const (
	clockColumns = 7
	labelColumns = 8
)

// row shows one line: when it was, since the beginning of the attempt, what it is, and a text.
func (t *telling) row(at time.Time, label, text string) {
	since := at.Sub(t.from).Round(time.Second)
	clock := fmt.Sprintf("%2d:%02d", int(since.Minutes()), int(since.Seconds())%60)
	if text != "" {
		label = pad(label, labelColumns)
	}
	t.b.WriteString(t.hanging(t.paint(dim, pad(clock, clockColumns))+t.paint(cyan, label), text))
}

// quote shows a text of somebody else below a row.
func (t *telling) quote(text string) {
	if strings.TrimSpace(text) != "" {
		t.b.WriteString(t.paragraph(text, strings.Repeat(" ", clockColumns)+"│ "))
	}
}

// line shows line i, and with it those that belong to it.
func (t *telling) line(i int) {
	l := t.lines[i]
	switch text := word(l, "text"); l.Type {
	case "prompt":
		t.row(l.At, "asked", english.Size(int64(len(text)))+" of instructions"+packed(l))
		t.full(text)
	case "text":
		t.row(l.At, "says", "")
		t.quote(text)
	case "thinking":
		t.row(l.At, "thinks", english.Count(lineCount(text), "line"))
		t.full(text)
	case "tool_call":
		t.call(i)
	case "tool_result": // without its call
		t.row(l.At, "got", strings.TrimSpace(word(l, "name")+" → "+outcome(l)))
		t.full(text)
	case "request":
		t.requests(i)
	case "notice":
		t.notices(i)
	case "end":
		t.row(l.At, "ends", ending(l))
	case "finalizer":
		t.row(l.At, "again", "asked for the object that was missing: "+word(l, "problem"))
	default:
		t.row(l.At, Harmless(l.Type), cmp.Or(text, word(l, "reason"), word(l, "kind"), word(l, "why")))
	}
}

// full shows a text that is folded otherwise.
func (t *telling) full(text string) {
	if t.unfold {
		t.quote(text)
	}
}

// call shows a call of a tool with its result, which is the next one with its id.
func (t *telling) call(i int) {
	l := t.lines[i]
	text := word(l, "name")
	if at := targetOf(l); at != "" {
		text += " " + at
	}
	var result *fix.TranscriptLine
	for j := i + 1; j < len(t.lines) && t.lines[j].Attempt == l.Attempt; j++ {
		if r := &t.lines[j]; r.Type == "tool_result" && !t.told[j] && word(*r, "id") == word(l, "id") {
			result, t.told[j] = r, true
			break
		}
	}
	if result == nil {
		t.row(l.At, "calls", text+" → no result")
	} else {
		t.row(l.At, "calls", text+" → "+outcome(*result))
	}
	if args, ok := l.Data["args"]; ok && t.unfold {
		if s, isText := args.(string); isText { // too long to be kept whole
			t.quote(s)
		} else if b, err := json.MarshalIndent(args, "", "  "); err == nil {
			t.quote(string(b))
		}
	}
	if result != nil {
		t.full(word(*result, "text"))
	}
}

// requests shows a request to a model; folded, those that follow at once are added to it.
func (t *telling) requests(i int) {
	l := t.lines[i]
	n, sum := 1, requestOf(l)
	for j := i + 1; !t.unfold && j < len(t.lines) && t.lines[j].Type == "request" && t.lines[j].Attempt == l.Attempt; j++ {
		n, t.told[j] = n+1, true
		sum = sum.and(requestOf(t.lines[j]))
	}
	t.row(l.At, "model", strings.Join(append([]string{english.Count(n, "request")}, sum.words()...), ", "))
}

// notices shows a notice. Lines of stderr that follow each other are folded into the last one.
func (t *telling) notices(i int) {
	l := t.lines[i]
	if word(l, "stream") != "stderr" {
		t.row(l.At, "note", word(l, "text"))
		return
	}
	texts := []string{word(l, "text")}
	for j := i + 1; j < len(t.lines) && t.lines[j].Attempt == l.Attempt && word(t.lines[j], "stream") == "stderr"; j++ {
		t.told[j] = true
		texts = append(texts, word(t.lines[j], "text"))
	}
	all := strings.TrimRight(strings.Join(texts, "\n"), "\n")
	if t.unfold {
		t.row(l.At, "stderr", "")
		t.quote(all)
		return
	}
	text := lastLine(all)
	if n := lineCount(all); n > 1 {
		text = english.Count(n, "line") + ", the last: " + text
	}
	t.row(l.At, "stderr", text)
}

// A modelUse is what requests used, as far as it is known.
type modelUse struct {
	in, out  *int64
	usd      *float64
	ms       int64
	troubles []string
}

func requestOf(l fix.TranscriptLine) modelUse {
	tokens, _ := l.Data["tokens"].(map[string]any)
	number := func(values ...any) *int64 {
		for _, v := range values {
			if n, ok := v.(float64); ok {
				return new(int64(n))
			}
		}
		return nil
	}
	u := modelUse{
		in:  number(tokens["input"], l.Data["input_tokens"]),
		out: number(tokens["output"], l.Data["output_tokens"]),
	}
	if usd, ok := l.Data["cost_usd"].(float64); ok {
		u.usd = &usd
	}
	if n := number(l.Data["duration_ms"], l.Data["ms"]); n != nil {
		u.ms = *n
	}
	status, _ := l.Data["status"].(float64)
	outcome := word(l, "outcome")
	switch why := cmp.Or(word(l, "error"), word(l, "kind")); {
	case status >= 300:
		u.troubles = []string{"status " + strconv.Itoa(int(status))}
	case why != "":
		u.troubles = []string{why}
	case outcome != "" && outcome != "passed":
		u.troubles = []string{outcome}
	}
	return u
}

// and returns the sum; what is not known of one is not known of both.
func (u modelUse) and(v modelUse) modelUse {
	sum := modelUse{ms: u.ms + v.ms, troubles: u.troubles}
	if u.in != nil && v.in != nil {
		sum.in = new(*u.in + *v.in)
	}
	if u.out != nil && v.out != nil {
		sum.out = new(*u.out + *v.out)
	}
	if u.usd != nil && v.usd != nil {
		sum.usd = new(*u.usd + *v.usd)
	}
	for _, w := range v.troubles {
		if !slices.Contains(sum.troubles, w) {
			sum.troubles = append(slices.Clip(sum.troubles), w)
		}
	}
	return sum
}

func (u modelUse) words() []string {
	words := slices.Clone(u.troubles)
	if u.in != nil || u.out != nil {
		words = append(words, "tokens "+tokens(fix.Tokens{Input: u.in, Output: u.out}))
	}
	if u.usd != nil {
		words = append(words, cost(u.usd))
	}
	return append(words, took(u.ms))
}

// packed returns how large the context pack of a prompt was.
func packed(l fix.TranscriptLine) string {
	if n, ok := l.Data["pack_bytes"].(float64); ok && n > 0 {
		return ", and a context pack of " + english.Size(int64(n))
	}
	return ""
}

// outcome returns what a tool came to, in few words.
func outcome(l fix.TranscriptLine) string {
	text := strings.TrimSpace(word(l, "text"))
	failed, _ := l.Data["failed"].(bool)
	interrupted, _ := l.Data["interrupted"].(bool)
	switch n := lineCount(text); {
	case interrupted:
		return "interrupted"
	case failed && n > 1:
		return fmt.Sprintf("failed, %s, the last: %s", english.Count(n, "line"), lastLine(text))
	case failed:
		return strings.TrimSuffix("failed: "+text, ": ")
	case n == 0:
		return "no output"
	default:
		return english.Count(n, "line")
	}
}

// ending returns how a turn ended.
func ending(l fix.TranscriptLine) string {
	kind, why := word(l, "kind"), cmp.Or(word(l, "evidence"), word(l, "error"))
	text := cmp.Or(strings.Trim(kind+": "+why, ": "), "by itself")
	if n, ok := l.Data["duration_ms"].(float64); ok {
		text += ", after " + took(int64(n))
	}
	return text
}

// targetOf returns what a call is about: what the reader of the agent's events found, else what its arguments name.
func targetOf(l fix.TranscriptLine) string {
	if at := word(l, "target"); at != "" {
		return at
	}
	args, _ := l.Data["args"].(map[string]any)
	for _, name := range []string{"path", "pattern", "argv"} {
		switch v := args[name].(type) {
		case string:
			if v != "" {
				return v
			}
		case []any:
			return strings.Trim(fmt.Sprint(v), "[]")
		}
	}
	return ""
}

// word returns a text of a line; empty: it has none.
func word(l fix.TranscriptLine, name string) string {
	text, _ := l.Data[name].(string)
	return text
}

func lineCount(text string) int {
	if text = strings.TrimSpace(text); text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
