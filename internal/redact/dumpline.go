package redact

// The lines of a dump: an offset, columns of numbers or characters and, in some, a column of text.

import (
	"bytes"
	"sync"
)

// The readings of a line: how its columns are turned back into bytes. A column of several bytes is a number, which
// programs write in the order of the machine, or in that of the bytes.
const (
	hexBig    = iota // also one byte each
	hexLittle        // hexdump, od -t x2
	octalBig         // also one byte each
	octalLittle
	decimal    // one byte each
	characters // od -c, od -a, hexdump -c
	readings
)

// A dumpLine is what one line shows.
type dumpLine struct {
	readings [readings]reading
	plain    []byte // the line without terminal escapes, if it has any
	places   []int  // where in the line each byte of plain is, and where the line ends
}

// A reading is what a line shows in one reading, if that is possible: bytes, and where in the line the column of each
// is. The column at rest, if that is not negative, is unfinished.
type reading struct {
	ok     bool
	bytes  []byte
	places []int
	rest   int
}

func (r *reading) add(place int, bytes ...byte) {
	r.bytes = append(r.bytes, bytes...)
	for range bytes {
		r.places = append(r.places, place)
	}
}

// mayDump reports whether a line of a dump may begin as text does. An escape is seen to later.
func mayDump(text []byte) bool {
	n, _, ok := dumpHead(text)
	if !ok || n > 0 {
		return ok
	}
	for n < len(text) && text[n] == ' ' {
		n++
	}
	word := text[n:min(len(text), n+4)] // a column of so many characters is a number
	return bytes.ContainsAny(word, " \r\n\x1b") || len(word) < 4 || isDigits(word)
}

// dumpHead returns the length of the offset that a line of a dump begins with. Without one (od -An) there is a blank.
func dumpHead(line []byte) (n int, colon, ok bool) {
	for n < len(line) && n <= 16 && hexDigit(line[n]) >= 0 {
		n++
	}
	switch {
	case n > 16:
		return 0, false, false
	case n == len(line):
		return n, false, true
	case n > 0 && n < 6:
		return 0, false, false
	case n > 0 && line[n] == ':':
		n, colon = n+1, true
	}
	return n, colon, n == len(line) || line[n] == ' ' || line[n] == esc
}

// parse reports whether line is one of a dump or, if it is not whole, may become one.
func (l *dumpLine) parse(line []byte, whole bool) bool {
	if bytes.IndexByte(line, esc) < 0 {
		return l.columns(line, whole)
	}
	if !l.strip(line) || !l.columns(l.plain, whole) {
		return false
	}
	for i := range l.readings {
		r := &l.readings[i]
		for k, place := range r.places {
			r.places[k] = l.places[place]
		}
		if r.rest >= 0 {
			r.rest = l.places[r.rest]
		}
	}
	return true
}

// strip sets plain. It reports false if line has an ESC that begins no escape.
func (l *dumpLine) strip(line []byte) bool {
	l.plain, l.places = l.plain[:0], l.places[:0]
	state := escape(0)
	for i, by := range line {
		if state != 0 || by == esc {
			if state = state.next(by); state == broken {
				return false
			}
			continue
		}
		l.plain, l.places = append(l.plain, by), append(l.places, i)
	}
	l.places = append(l.places, len(line))
	return true
}

// columns is parse for a line without escapes.
func (l *dumpLine) columns(line []byte, whole bool) bool {
	for i := range l.readings {
		r := &l.readings[i]
		*r = reading{bytes: r.bytes[:0], places: r.places[:0], rest: -1}
	}
	head, colon, ok := dumpHead(line)
	if !ok {
		return false
	}
	l.numbers(line, head, colon, whole)
	if !colon {
		l.cells(line, head, whole)
	}
	for i := range l.readings {
		r := &l.readings[i]
		r.ok = r.ok && (!whole || len(r.bytes) > 0)
	}
	return l.any()
}

// any reports whether any reading is possible.
func (l *dumpLine) any() bool {
	for i := range l.readings {
		if l.readings[i].ok {
			return true
		}
	}
	return false
}

// numbers reads the columns after the first head bytes of line as numbers.
func (l *dumpLine) numbers(line []byte, head int, colon, whole bool) {
	all := l.readings[:characters]
	for i := range all {
		all[i].ok = i <= hexLittle || !colon
	}
	width := 0 // of the first column
	for at := head; ; {
		from := at
		for from < len(line) && line[from] == ' ' {
			from++
		}
		if from == len(line) || width > 0 && from-at > 1 && isText(line[from:], colon, whole) {
			return
		}
		at = from
		for at < len(line) && line[at] != ' ' {
			at++
		}
		if at == len(line) && !whole {
			for i := range all {
				all[i].rest = from
				all[i].ok = all[i].ok && isDigits(line[from:])
			}
			return
		}
		if width == 0 {
			width = at - from
		}
		l.hex(line[from:at], from, width, colon)
		l.octal(line[from:at], from, width)
		l.decimal(line[from:at], from)
		if !l.any() {
			return
		}
	}
}

// isText reports whether the column rest shows as text what those before it show as numbers: that of xxd, |…| of
// hexdump -C, or >…< of od.
func isText(rest []byte, colon, whole bool) bool {
	if colon {
		return true
	}
	last := rest[len(rest)-1]
	return rest[0] == '|' && (!whole || last == '|') || rest[0] == '>' && (!whole || last == '<')
}

// hex reads a column of hexadecimal digits. The last one of xxd may be shorter than the others.
func (l *dumpLine) hex(column []byte, place, width int, colon bool) {
	big, little := &l.readings[hexBig], &l.readings[hexLittle]
	n := len(column)
	known := colon || n == 2 || n == 4 || n == 8 || n == 16
	if !known || n%2 != 0 || n > width || n < width && !colon {
		big.ok, little.ok = false, false
	}
	little.ok = little.ok && width > 2 // else it is the same
	if !big.ok {
		return
	}
	for i := 0; i < n; i += 2 {
		high, low := hexDigit(column[i]), hexDigit(column[i+1])
		if high < 0 || low < 0 {
			big.ok, little.ok = false, false
			return
		}
		big.add(place, byte(high<<4|low))
	}
	for i := range n / 2 {
		little.add(place, big.bytes[len(big.bytes)-1-i])
	}
}

// octalSizes are how many bytes a column of so many octal digits shows.
var octalSizes = [23]int{3: 1, 6: 2, 11: 4, 22: 8}

// octal reads a column of octal digits, as many as the greatest number of one, two, four or eight bytes has.
func (l *dumpLine) octal(column []byte, place, width int) {
	big, little := &l.readings[octalBig], &l.readings[octalLittle]
	size := octalSizes[min(len(column), len(octalSizes)-1)]
	big.ok = big.ok && size > 0 && len(column) == width
	number, ok := octalNumber(column, size)
	big.ok = big.ok && ok
	little.ok = big.ok && size > 1
	if !big.ok {
		return
	}
	for i := range size {
		big.add(place, byte(number>>(8*(size-1-i))))
		little.add(place, byte(number>>(8*i)))
	}
}

// octalNumber returns the number of size bytes that the digits are.
func octalNumber(digits []byte, size int) (n uint64, ok bool) {
	for i, c := range digits {
		if c < '0' || c > '7' || i == 21 && n>>61 > 0 {
			return 0, false
		}
		n = n<<3 | uint64(c-'0')
	}
	return n, size == 8 || n>>(8*size) == 0
}

// decimal reads a column of one byte as a decimal number, with or without a sign.
func (l *dumpLine) decimal(column []byte, place int) {
	r := &l.readings[decimal]
	digits := bytes.TrimPrefix(column, []byte("-"))
	n := 0
	for _, c := range digits {
		r.ok = r.ok && c >= '0' && c <= '9'
		n = n*10 + int(c-'0')
	}
	if len(digits) < len(column) {
		n = -n
	}
	r.ok = r.ok && len(digits) > 0 && len(digits) <= 3 && n >= -128 && n <= 255
	if r.ok {
		r.add(place, byte(n))
	}
}

// cellNames are what od and hexdump write in the place of a character that cannot be printed.
var cellNames = sync.OnceValue(func() map[string]byte {
	all := map[string]byte{"sp": ' ', "del": 0x7f}
	for i, name := range bytes.Fields([]byte(`nul soh stx etx eot enq ack bel bs ht nl vt ff cr so si
		dle dc1 dc2 dc3 dc4 nak syn etb can em sub esc fs gs rs us`)) {
		all[string(name)] = byte(i)
	}
	for i, c := range []byte("0......abtnvfr") {
		all[`\`+string(c)] = byte(i)
	}
	return all
})

// cells reads the columns after the first head bytes of line as characters, each at the end of four bytes.
func (l *dumpLine) cells(line []byte, head int, whole bool) {
	r := &l.readings[characters]
	at := head
	if bytes.HasPrefix(line[at:], []byte("    ")) {
		switch { // od of the BSDs has one blank more
		case len(line) > at+4 && line[at+4] != ' ':
			at++
		case len(line) == at+4 && !whole:
			r.ok = true
			return
		}
	}
	for ; len(line)-at >= 4; at += 4 {
		by, place, ok := cell(line[at : at+4])
		if !ok {
			r.ok = len(r.bytes) > 0 && bytes.HasPrefix(line[at:], []byte("  >")) && isText(line[at+2:], false, whole)
			return
		}
		r.add(at+place, by)
	}
	rest := bytes.TrimLeft(line[at:], " ")
	text := len(r.bytes) > 0 && string(line[at:]) == "  >"
	r.ok = len(rest) == 0 || !whole && (text || beginsCell(rest))
	if len(rest) > 0 {
		r.rest = len(line) - len(rest)
	}
}

// beginsCell reports whether s may be the first characters of a cell of several: a number, a name or an escape.
func beginsCell(s []byte) bool {
	for i, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (i > 0 || c != '\\') {
			return false
		}
	}
	return true
}

// cell returns the character in the four bytes of c, and where it is. That of a blank is behind it, so that no blanks
// are held.
func cell(c []byte) (by byte, place int, ok bool) {
	name := bytes.TrimLeft(c, " ")
	place = len(c) - len(name)
	switch {
	case len(name) == 4 || bytes.IndexByte(name, ' ') >= 0:
		return 0, 0, false
	case len(name) == 0:
		return ' ', 4, true
	case len(name) == 1:
		return name[0], place, name[0] > ' '
	}
	if by, ok = cellNames()[string(name)]; ok {
		return by, place, true
	}
	number, ok := octalNumber(name, 1)
	return byte(number), place, ok && len(name) == 3
}

// isDigits reports whether s may be the beginning of a number.
func isDigits(s []byte) bool {
	for i, c := range s {
		if hexDigit(c) < 0 && (i > 0 || c != '-') {
			return false
		}
	}
	return true
}

// hexDigit returns the value of a hexadecimal digit, or -1.
func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
