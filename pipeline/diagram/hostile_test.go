package diagram

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// hostile are names that try to end a quoting, to start a script, or to hide.
var hostile = []string{
	`</text><script>alert(1)</script>`,
	`x" onload="alert(1)`,
	`a"]; end; n9["b`,
	`]]>`,
	`<!--`,
	`&lt;`,
	`back\slash`,
	`ends in \`,
	`\"`,
	`\n\N`,
	"two\nlines",
	"tab\tand\rreturn",
	"nul\x00bell\x07",
	"\x1b[31mred\x1b[0m",
	"right\u202eleft",
	"zero\u200bwidth",
	"no\xffutf8",
	"\ufffe",
	`test["linux"]`,
	"#quot;",
	"`code`",
	"end",
	"テスト",
	"e\u0301",
	strings.Repeat("long", 100),
	strings.Repeat("長", 100),
	"a -> b",
	"%%{init: {}}%%",
	"",
}

// wicked is a graph in which every hostile name waits for the one before it, and is described by itself.
func wicked(t *testing.T) *pipeline.Graph {
	t.Helper()
	c := &pipeline.Config{}
	for i, name := range hostile {
		task := &pipeline.Task{Name: name, Description: name}
		if i > 0 {
			task.DependsOn = []string{hostile[i-1]}
		}
		c.Tasks = append(c.Tasks, task)
	}
	return selected(t, c)
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	out := draw(t, wicked(t), "text", 80)
	if i := strings.IndexFunc(out, func(r rune) bool { return acts(r) && r != '\n' }); i >= 0 {
		t.Errorf("%q acts", out[i:min(i+20, len(out))])
	}
	for _, want := range []string{"two^Jlines", "^[[31mred", "right<U+202E>left", "nul^@bell^G", "no\ufffdutf8"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestHostileJSON(t *testing.T) {
	t.Parallel()
	var g jsonGraph
	check(t, json.Unmarshal([]byte(draw(t, wicked(t), "json", 0)), &g))
	for i, task := range g.Tasks {
		if want := strings.ToValidUTF8(hostile[i], "\ufffd"); task.Name != want {
			t.Errorf("got %q, want %q", task.Name, want)
		}
	}
}

func TestHostileSVG(t *testing.T) {
	t.Parallel()
	texts, titles := elements(t, draw(t, wicked(t), "svg", 0))
	var want []string
	for _, name := range hostile {
		want = append(want, shorten(label(pipeline.ShownName(name)), mostText))
	}
	if d := cmp.Diff(want, texts); d != "" {
		t.Error(d)
	}
	for i, name := range hostile {
		w := label(pipeline.ShownName(name))
		if name != "" {
			w += ": " + label(name)
		}
		if titles[i+1] != w { // the first is the picture's own
			t.Errorf("got %q, want %q", titles[i+1], w)
		}
	}
}

// elements parses an SVG, refuses every element that we do not write and every attribute that could act, and gives
// the texts and titles.
func elements(t *testing.T, picture string) (texts, titles []string) {
	t.Helper()
	known := strings.Fields("svg title style g path rect text")
	d := xml.NewDecoder(strings.NewReader(picture))
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if !slices.Contains(known, name) {
				t.Errorf("element %s", name)
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
			open = append(open, name)
			switch name {
			case "text":
				texts = append(texts, "")
			case "title":
				titles = append(titles, "")
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			switch {
			case len(open) == 0:
			case open[len(open)-1] == "text":
				texts[len(texts)-1] += string(token)
			case open[len(open)-1] == "title":
				titles[len(titles)-1] += string(token)
			}
		case xml.Comment, xml.Directive, xml.ProcInst:
			t.Errorf("%T", token)
		}
	}
	return texts, titles
}

// A line of DOT is a node, with or without a tooltip, or an edge. Within quotes a quote has a backslash before it,
// and a backslash is written twice.
var (
	dotString = `"((?:[^"\\]|\\"|\\\\)*)"`
	dotNode   = regexp.MustCompile(`^  ` + dotString + `(?: \[(?:label=` + dotString + `(?:, )?)?(?:tooltip=` + dotString + `)?\])?$`)
	dotEdge   = regexp.MustCompile(`^  ` + dotString + ` -> ` + dotString + `$`)
)

func TestHostileDOT(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(draw(t, wicked(t), "dot", 0), "\n"), "\n")
	if len(lines) != 3+len(hostile)+len(hostile)-1+1 {
		t.Fatalf("%d lines", len(lines))
	}
	plain := strings.NewReplacer(`\"`, `"`, `\\`, `\`)
	var ids []string
	for i, line := range lines[3 : len(lines)-1] {
		if m := dotNode.FindStringSubmatch(line); m != nil && i < len(hostile) {
			name := label(pipeline.ShownName(hostile[i]))
			if got := plain.Replace(m[1]); got != name || html.UnescapeString(plain.Replace(m[3])) != label(hostile[i]) {
				t.Errorf("got %q, %q; want %q", got, m[3], name)
			}
			if shown := html.UnescapeString(plain.Replace(m[2])); strings.Contains(name, "&") && shown != name {
				t.Errorf("%q is drawn as %q", name, shown)
			}
			ids = append(ids, m[1])
			continue
		}
		m := dotEdge.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("neither a node nor an edge: %s", line)
			continue
		}
		if k := i - len(hostile); m[1] != ids[k] || m[2] != ids[k+1] {
			t.Errorf("edge %d is %s", k, line)
		}
	}
}

// Two names of which only one has an invisible character as it is stay two nodes.
func TestDOTIDs(t *testing.T) {
	t.Parallel()
	c := &pipeline.Config{Tasks: []*pipeline.Task{{Name: "a\x01"}, {Name: "a^A"}, {Name: "b", DependsOn: []string{"a^A"}}}}
	out := draw(t, selected(t, c), "dot", 0)
	for _, want := range []string{"\n  \"a^A\"\n", "\n  \"a^A (2)\"\n", "\n  \"a^A (2)\" -> \"b\"\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

var (
	mermaidNode = regexp.MustCompile(`^  n([0-9]+)\["((?:[\pL\pN ._,/:-]|#[0-9]+;)*)"\]$`)
	mermaidEdge = regexp.MustCompile(`^  n[0-9]+ --> n[0-9]+$`)
	entity      = regexp.MustCompile(`#[0-9]+;`)
)

func TestHostileMermaid(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(draw(t, wicked(t), "mermaid", 0), "\n"), "\n")
	if len(lines) != 1+len(hostile)+len(hostile)-1 || lines[0] != "flowchart LR" {
		t.Fatalf("%d lines, first %q", len(lines), lines[0])
	}
	for i, line := range lines[1:] {
		if i >= len(hostile) {
			if k := i - len(hostile); !mermaidEdge.MatchString(line) || line != fmt.Sprintf("  n%d --> n%d", k+1, k+2) {
				t.Errorf("edge %d is %s", k, line)
			}
			continue
		}
		m := mermaidNode.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not a node: %s", line)
			continue
		}
		got := entity.ReplaceAllStringFunc(m[2], func(e string) string {
			n, err := strconv.Atoi(e[1 : len(e)-1])
			if err != nil {
				t.Error(err)
			}
			return string(rune(n))
		})
		if got != label(pipeline.ShownName(hostile[i])) {
			t.Errorf("got %q, want %q", got, label(pipeline.ShownName(hostile[i])))
		}
	}
}

// The name of an agent is drawn as harmlessly as that of a task.
func TestHostileAgent(t *testing.T) {
	t.Parallel()
	c := &pipeline.Config{}
	for i, name := range hostile {
		if name != "" {
			c.Tasks = append(c.Tasks, &pipeline.Task{Name: fmt.Sprint("t", i), Agent: &pipeline.AgentWork{Use: name}})
		}
	}
	g := selected(t, c)
	if out := draw(t, g, "text", 80); strings.ContainsFunc(out, func(r rune) bool { return acts(r) && r != '\n' }) {
		t.Errorf("it acts: %q", out)
	}
	texts, _ := elements(t, draw(t, g, "svg", 0))
	if len(texts) != len(c.Tasks) || !strings.HasSuffix(texts[0], ")") {
		t.Errorf("%q", texts)
	}
	for format, node := range map[string]*regexp.Regexp{"dot": dotNode, "mermaid": mermaidNode} {
		lines := strings.Split(strings.TrimSuffix(strings.TrimSuffix(draw(t, g, format, 0), "\n"), "\n}"), "\n")
		for _, line := range lines[len(lines)-len(c.Tasks):] {
			if !node.MatchString(line) {
				t.Errorf("%s: not a node: %s", format, line)
			}
		}
	}
}

func TestDrawUnknown(t *testing.T) {
	t.Parallel()
	if _, err := Draw(wicked(t), "png", 80); err == nil || !strings.Contains(err.Error(), "mermaid or svg") {
		t.Errorf("got %v", err)
	}
	for _, format := range Formats {
		if out := draw(t, selected(t, &pipeline.Config{}), format, 80); out == "" {
			t.Errorf("%s of nothing is nothing", format)
		}
	}
}
