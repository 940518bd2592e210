// A layered layout, first half: the column of each task, and the order in a column that lets few lines cross.
package diagram

import (
	"cmp"
	"slices"
)

// A box is a task in its column, or the place where a long line passes through a column that it only crosses (a
// bend). All lines from one task share its bends: they part where their ways do.
type box struct {
	node   int // -1 for a bend
	column int
	from   []int // boxes of the column before, that lines come from
	to     []int // boxes of the column after, that lines go to
	x, y   float64
	width  float64
}

func (b *box) bend() bool { return b.node < 0 }

// A sheet is a group of tasks that depend on each other, directly or not, in columns.
type sheet struct {
	boxes   []box
	columns [][]int  // boxes, from the top down
	far     [][2]int // lines from box to box over so many columns that they are drawn without bends
	height  float64
	width   float64
}

// mostBends limits what long lines cost: beyond it the longest are straight.
const mostBends = 50_000

// split returns the sheets, in the order of their first tasks, and the tasks without any edge.
func split(nodes []node) (sheets [][]int, loose []int) {
	seen := make([]bool, len(nodes))
	for i, n := range nodes {
		if seen[i] {
			continue
		}
		if len(n.after)+len(n.before) == 0 {
			loose = append(loose, i)
			continue
		}
		seen[i] = true
		members := []int{i}
		for k := 0; k < len(members); k++ {
			for _, next := range slices.Concat(nodes[members[k]].after, nodes[members[k]].before) {
				if !seen[next] {
					seen[next] = true
					members = append(members, next)
				}
			}
		}
		slices.Sort(members)
		sheets = append(sheets, members)
	}
	return sheets, loose
}

// layer puts tasks into columns: each as far left as what it waits for allows, so a column is what can start when the
// columns before it have passed.
func layer(nodes []node, members []int) *sheet {
	s := &sheet{}
	at := make(map[int]int, len(members)) // box of a task
	for _, i := range members {           // dependencies first
		column := 0
		for _, d := range nodes[i].after {
			column = max(column, s.boxes[at[d]].column+1)
		}
		at[i] = s.add(i, column)
	}
	longest := max(mostBends/len(members), 1)
	for _, i := range members {
		from := at[i]
		way := []int{from} // the task and its bends so far, by column
		for _, d := range nodes[i].before {
			to := at[d]
			span := s.boxes[to].column - s.boxes[from].column
			if span > longest {
				s.far = append(s.far, [2]int{from, to})
				continue
			}
			for len(way) < span {
				b := s.add(-1, s.boxes[from].column+len(way))
				s.link(way[len(way)-1], b)
				way = append(way, b)
			}
			s.link(way[span-1], to)
		}
	}
	return s
}

func (s *sheet) add(node, column int) int {
	b := len(s.boxes)
	s.boxes = append(s.boxes, box{node: node, column: column})
	for len(s.columns) <= column {
		s.columns = append(s.columns, nil)
	}
	s.columns[column] = append(s.columns[column], b)
	return b
}

func (s *sheet) link(from, to int) {
	s.boxes[from].to = append(s.boxes[from].to, to)
	s.boxes[to].from = append(s.boxes[to].from, from)
}

// order sorts the columns by the middle of their neighbours, forward and back, and keeps the best order.
func (s *sheet) order() {
	const sweeps = 12
	place := make([]int, len(s.boxes)) // in its column
	put := func() {
		for _, column := range s.columns {
			for k, b := range column {
				place[b] = k
			}
		}
	}
	put()
	best, fewest := s.copyColumns(), s.crossings(place)
	for sweep := 0; sweep < sweeps && fewest > 0; sweep++ {
		for k := range s.columns {
			column, back := k, sweep%2 == 1
			if back {
				column = len(s.columns) - 1 - k
			}
			s.sort(column, back, place)
		}
		if n := s.crossings(place); n < fewest {
			best, fewest = s.copyColumns(), n
		}
	}
	s.columns = best
}

func (s *sheet) copyColumns() [][]int {
	c := slices.Clone(s.columns)
	for i := range c {
		c[i] = slices.Clone(c[i])
	}
	return c
}

// sort orders one column by the mean place of the neighbours on one side; what has none there stays in its place.
func (s *sheet) sort(column int, back bool, place []int) {
	boxes := s.columns[column]
	mean := make(map[int]float64, len(boxes))
	for _, b := range boxes {
		near := s.boxes[b].from
		if back {
			near = s.boxes[b].to
		}
		if len(near) == 0 {
			mean[b] = float64(place[b])
			continue
		}
		sum := 0
		for _, n := range near {
			sum += place[n]
		}
		mean[b] = float64(sum) / float64(len(near))
	}
	slices.SortStableFunc(boxes, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	for k, b := range boxes {
		place[b] = k
	}
}

// crossings counts the pairs of lines that cross, column by column, with a Fenwick tree.
func (s *sheet) crossings(place []int) int {
	n := 0
	for k := 1; k < len(s.columns); k++ {
		tree := make([]int, len(s.columns[k])+1)
		lines := 0
		for _, from := range s.columns[k-1] {
			ends := make([]int, 0, len(s.boxes[from].to))
			for _, to := range s.boxes[from].to {
				ends = append(ends, place[to]+1)
			}
			for _, end := range ends { // those before that end further down
				upTo := 0
				for i := end; i > 0; i -= i & -i {
					upTo += tree[i]
				}
				n += lines - upTo
			}
			for _, end := range ends {
				for i := end; i < len(tree); i += i & -i {
					tree[i]++
				}
			}
			lines += len(ends)
		}
	}
	return n
}

// A layered layout, second half: the places of the boxes, in pixels.

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
