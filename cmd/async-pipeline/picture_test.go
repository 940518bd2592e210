// The picture of the README: docs/session-light.svg and docs/session-dark.svg, drawn from a real run in a terminal.
package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A palette has the colours of a picture: the paper, the text, and the sixteen of a terminal.
type palette struct {
	name, paper, text string
	ansi              [16]string
}

var palettes = []palette{
	{"light", "#ffffff", "#24292f", [16]string{
		"#24292f", "#cf222e", "#116329", "#4d2d00", "#0969da", "#8250df", "#1b7c83", "#6e7781",
		"#57606a", "#a40e26", "#1a7f37", "#633c01", "#218bff", "#a475f9", "#3192aa", "#8c959f",
	}},
	{"dark", "#0d1117", "#e6edf3", [16]string{
		"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
		"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
	}},
}

// The pictures show what the program prints today. go test ./cmd/async-pipeline -run TestPicture -update draws them
// anew.
func TestPicture(t *testing.T) {
	t.Parallel()
	notShort(t)
	p := &docPage{t: t, name: "docs/getting-started.md", text: document(t, "docs/getting-started.md")}
	p.begin("empty")
	for _, m := range block.FindAllStringSubmatchIndex(p.text, -1) {
		before := p.text[:m[0]]
		if d := directive.FindAllStringSubmatchIndex(before, -1); len(d) > 0 && strings.TrimSpace(before[d[len(d)-1][1]:]) == "" {
			if last := d[len(d)-1]; before[last[2]:last[3]] == "file" {
				p.write(before[last[4]:last[5]], p.text[m[4]:m[5]]) // of several the last one counts
			}
		}
	}
	p.git("add", "-A")
	p.git("-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "A greeting")
	s := sit(t, 80, 60, p.dir, "async-pipeline", "run").look()
	s.ends(1)

	for _, colours := range palettes {
		got := s.draw("async-pipeline run", colours)
		file := filepath.Join(top, "docs", "session-"+colours.name+".svg")
		old, err := os.ReadFile(file)
		if err != nil && !*update {
			t.Fatal(err)
		}
		if flat(words(string(old))) == flat(words(got)) {
			continue
		}
		if !*update {
			t.Errorf("%s shows something else:\n%s", file, words(got))
			continue
		}
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
}

// words returns the text of a picture, a line for a line.
func words(svg string) string {
	svg = strings.ReplaceAll(svg, "</text>", "</text>\n")
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(svg, ""))
}

// draw returns the screen as an SVG, below the command that was typed.
func (s *seat) draw(command string, colours palette) string {
	const column, row, margin = 8.4, 19, 16
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, rows := s.vt.Size()
	type span struct{ text, style string }
	lines := [][]span{{{"$ ", "fill:" + colours.ansi[2]}, {command, "font-weight:bold"}}}
	last := 0
	for y := range rows {
		var line []span
		for x := range columns {
			cell := s.vt.Cell(x, y)
			style := ""
			if cell.FG < 16 {
				style = "fill:" + colours.ansi[cell.FG]
			}
			if cell.Mode&bold != 0 {
				style += ";font-weight:bold"
			}
			char := string(cell.Char)
			if cell.Char == 0 {
				char = " "
			}
			if n := len(line); n > 0 && (line[n-1].style == style || char == " ") {
				line[n-1].text += char
			} else {
				line = append(line, span{char, style})
			}
		}
		if n := len(line); n > 0 {
			line[n-1].text = strings.TrimRight(line[n-1].text, " ")
			if line[n-1].text != "" || n > 1 {
				last = y
			}
		}
		lines = append(lines, line)
	}
	lines = lines[:last+2]
	var b strings.Builder
	width, height := int(float64(columns)*column)+2*margin, len(lines)*row+2*margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", width, height, width, height)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"%s\" stroke=\"%s\" stroke-opacity=\"0.3\"/>\n", colours.paper, colours.ansi[7])
	fmt.Fprintf(&b, "<g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,monospace\" font-size=\"14\" fill=\"%s\" xml:space=\"preserve\">\n", colours.text)
	for y, line := range lines {
		if len(line) == 0 || len(line) == 1 && line[0].text == "" {
			continue
		}
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">", margin, margin+(y+1)*row-5)
		for _, part := range line {
			if part.style == "" {
				b.WriteString(html.EscapeString(part.text))
			} else {
				fmt.Fprintf(&b, "<tspan style=\"%s\">%s</tspan>", part.style, html.EscapeString(part.text))
			}
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// bold is the bit of vt10x.Glyph.Mode for bold text, which the package does not export.
const bold = 1 << 2
