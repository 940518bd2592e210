package diagram

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// The colours suit a white page and a black one; a viewer that knows the reader's theme gets its own. Without the
// style the elements are still readable.
const style = `<style>
@media (prefers-color-scheme:dark){
.lines{stroke:#6b7688}
.heads{fill:#6b7688}
.tasks{fill:#1d2431;stroke:#465064}
.tasks text{fill:#e6eaf2}
}
</style>
`

const (
	linesGroup = `<g class="lines" fill="none" stroke="#8893a5" stroke-width="1.5">` + "\n"
	headsGroup = `<g class="heads" fill="#8893a5">` + "\n"
	tasksGroup = `<g class="tasks" fill="#f5f7fb" stroke="#b9c2d0" text-anchor="middle" font-size="13" ` +
		`font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace">` + "\n"
	endGroup = "</g>\n"
)

const (
	margin    = 16.0
	sheetGap  = 32.0
	pageWidth = 880.0 // of the tasks that have to do with no other, in rows; more where the rest is wider
	headSize  = 7.0
)

// svg returns a picture without script, font or link. Time goes from left to right; every name is text.
func svg(nodes []node) []byte {
	widths := make([]float64, len(nodes))
	for i, n := range nodes {
		widths[i] = max(float64(int(glyph*float64(columns(shorten(n.shown(), mostText)))+2*textPad)), 64)
	}
	var b bytes.Buffer
	members, loose := split(nodes)
	width, y := 0.0, margin
	for _, m := range members {
		s := layer(nodes, m)
		s.order()
		s.place(widths)
		s.draw(&b, nodes, y)
		width = max(width, s.width)
		y += s.height + sheetGap
	}
	if len(loose) > 0 {
		wide, high := drawLoose(&b, nodes, widths, loose, y, max(width, pageWidth))
		width = max(width, wide)
		y += high + sheetGap
	}
	if len(nodes) > 0 {
		y -= sheetGap
	}
	var out bytes.Buffer
	w, h := width+2*margin, y+margin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img">`+
		"\n", w, h, w, h)
	fmt.Fprintf(&out, "<title>%s, and what each waits for</title>\n%s", english.Count(len(nodes), "task"), style)
	out.Write(b.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// draw writes the lines of a sheet, and the boxes over them.
func (s *sheet) draw(b *bytes.Buffer, nodes []node, down float64) {
	for i := range s.boxes {
		s.boxes[i].x += margin
		s.boxes[i].y += down
	}
	b.WriteString(linesGroup)
	for i := range s.boxes {
		from := &s.boxes[i]
		if len(from.to) == 0 {
			continue
		}
		b.WriteString(`<path d="`)
		if from.bend() {
			fmt.Fprintf(b, "M%g %gh%g", from.x, from.y, from.width)
		}
		for _, to := range from.to {
			line(b, from, &s.boxes[to])
		}
		b.WriteString("\"/>\n")
	}
	for _, far := range s.far {
		b.WriteString(`<path d="`)
		line(b, &s.boxes[far[0]], &s.boxes[far[1]])
		b.WriteString("\"/>\n")
	}
	b.WriteString(endGroup + headsGroup)
	for i := range s.boxes {
		if at := &s.boxes[i]; !at.bend() && len(nodes[at.node].after) > 0 {
			fmt.Fprintf(b, `<path d="M%g %gl-%g -4v8z"/>`+"\n", at.x, at.y, headSize)
		}
	}
	b.WriteString(endGroup + tasksGroup)
	for i := range s.boxes {
		if at := &s.boxes[i]; !at.bend() {
			task(b, nodes[at.node], at.x, at.y-boxHeight/2, at.width)
		}
	}
	b.WriteString(endGroup)
}

// line draws from the right side of a box to the left side of another, level at both ends.
func line(b *bytes.Buffer, from, to *box) {
	x, end := from.x+from.width, to.x
	if !to.bend() {
		end -= headSize - 1 // the head covers the rest
	}
	middle := (x + end) / 2
	fmt.Fprintf(b, "M%g %gC%g %g %g %g %g %g", x, from.y, middle, from.y, middle, to.y, end, to.y)
}

// drawLoose writes tasks in rows, and returns the width and height they take.
func drawLoose(b *bytes.Buffer, nodes []node, widths []float64, loose []int, down, space float64) (float64, float64) {
	cell := 0.0
	for _, i := range loose {
		cell = max(cell, widths[i])
	}
	row := min(max(int((space+boxGap)/(cell+boxGap)), 1), len(loose))
	b.WriteString(tasksGroup)
	for k, i := range loose {
		task(b, nodes[i], margin+float64(k%row)*(cell+boxGap), down+float64(k/row)*(boxHeight+boxGap), cell)
	}
	b.WriteString(endGroup)
	rows := (len(loose) + row - 1) / row
	return float64(row)*(cell+boxGap) - boxGap, float64(rows)*(boxHeight+boxGap) - boxGap
}

// task writes one box; its tooltip is the whole name and the description.
func task(b *bytes.Buffer, n node, x, y, width float64) {
	name := n.shown()
	tip := name
	if n.about != "" {
		tip += ": " + label(n.about)
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%g" y="%g" width="%g" height="%g" rx="7"/>`,
		xmlEscape.Replace(tip), x, y, width, boxHeight)
	fmt.Fprintf(b, `<text x="%g" y="%g" fill="#1c2330" stroke="none">%s</text></g>`+"\n",
		x+width/2, y+boxHeight/2+4.5, xmlEscape.Replace(shorten(name, mostText)))
}

var xmlEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")
