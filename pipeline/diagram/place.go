// A layered layout, second half: the places of the boxes, in pixels.
package diagram

const (
	boxHeight = 34.0
	boxGap    = 14.0 // between two boxes of a column
	textPad   = 14.0 // beside a name
	lineGap   = 56.0 // between two columns, at least
	glyph     = 7.83 // of a fixed-width font at 13 px: 0.602 em
	mostText  = 48   // columns of a name; the whole name is in the tooltip
)

// place sets the coordinates of every box; the corner of the sheet is 0, 0.
func (s *sheet) place(widths []float64) {
	for _, column := range s.columns { // stacked, for a start
		y := 0.0
		for k, b := range column {
			if k > 0 {
				y += s.apart(column[k-1], b)
			}
			s.boxes[b].y = y
		}
	}
	const sweeps = 8
	for sweep := range sweeps {
		for k := range s.columns {
			if sweep%2 == 0 {
				s.settle(k, func(b *box) []int { return b.from })
			} else {
				s.settle(len(s.columns)-1-k, func(b *box) []int { return b.to })
			}
		}
	}
	s.trim()
	x := 0.0
	for k, column := range s.columns {
		width := 0.0
		for _, b := range column {
			if !s.boxes[b].bend() {
				width = max(width, widths[s.boxes[b].node])
			}
		}
		for _, b := range column {
			s.boxes[b].x, s.boxes[b].width = x, width
		}
		s.width = x + width
		x += width + s.between(k)
	}
}

// apart returns the least distance between the middles of two boxes, one below the other.
func (s *sheet) apart(above, below int) float64 {
	d := boxGap
	for _, b := range []int{above, below} {
		if !s.boxes[b].bend() {
			d += boxHeight / 2
		}
	}
	return d
}

// between returns the width for the lines behind column k: more where they climb far.
func (s *sheet) between(k int) float64 {
	climb := 0.0
	for _, from := range s.columns[k] {
		for _, to := range s.boxes[from].to {
			climb = max(climb, s.boxes[from].y-s.boxes[to].y, s.boxes[to].y-s.boxes[from].y)
		}
	}
	return float64(int(min(lineGap+climb/8, 3*lineGap)))
}

// A run is boxes of a column that touch and move as one.
type run struct {
	sum, weight float64 // of where they want to be, less what stands above them in the column
	boxes       int
}

func (r run) at() float64 { return r.sum / r.weight }

// settle moves the boxes of a column as near to the middle of their neighbours as the boxes above and below allow:
// the least sum of squares, found by merging runs that would overlap. (float64 keeps each product apart: a fused one
// would differ on another machine.)
func (s *sheet) settle(column int, near func(*box) []int) {
	boxes := s.columns[column]
	var runs []run
	offset := make([]float64, len(boxes))
	for k, b := range boxes {
		if k > 0 {
			offset[k] = offset[k-1] + s.apart(boxes[k-1], b)
		}
		wish, weight := s.boxes[b].y, 0.25
		if next := near(&s.boxes[b]); len(next) > 0 {
			sum := 0.0
			for _, n := range next {
				sum += s.boxes[n].y
			}
			wish, weight = sum/float64(len(next)), 1
			if s.boxes[b].bend() {
				weight = 4 // a long line that goes straight is easier to follow
			}
		}
		r := run{float64(weight * (wish - offset[k])), weight, 1}
		for len(runs) > 0 && runs[len(runs)-1].at() >= r.at() {
			last := runs[len(runs)-1]
			r = run{r.sum + last.sum, r.weight + last.weight, r.boxes + last.boxes}
			runs = runs[:len(runs)-1]
		}
		runs = append(runs, r)
	}
	k := 0
	for _, r := range runs {
		for range r.boxes {
			s.boxes[boxes[k]].y = r.at() + offset[k]
			k++
		}
	}
}

// trim moves the sheet to the corner, and every box to a whole pixel.
func (s *sheet) trim() {
	top, bottom := 0.0, 0.0
	for i := range s.boxes {
		b := &s.boxes[i]
		half := 0.0
		if !b.bend() {
			half = boxHeight / 2
		}
		if i == 0 {
			top, bottom = b.y-half, b.y+half
		}
		top, bottom = min(top, b.y-half), max(bottom, b.y+half)
	}
	for i := range s.boxes {
		s.boxes[i].y = float64(int(s.boxes[i].y - top + 0.5))
	}
	s.height = float64(int(bottom - top + 1))
}
