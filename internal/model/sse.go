package model

// Server-sent events: the parser of a stream, by the rules of the WHATWG HTML standard, section "Interpreting an
// event stream".

import (
	"bytes"
	"errors"
)

// errLine means that a line, or the data of one event, is longer than the limit.
var errLine = errors.New("one line of the stream is longer than the limit")

const byteOrderMark = "\xEF\xBB\xBF"

// An sse parses a stream of events. It keeps nothing of an event that was passed on, and an event without its empty
// line is never passed on.
type sse struct {
	max     int  // bytes of a line and of an event's data
	lenient bool // of what is longer only the rest of the stream is read: it is no error

	long bool // the line is longer, and its end has not come
	mark int  // how many bytes of a byte order mark at the beginning were seen
	line []byte
	cr   bool // the last line ended with CR: an LF that follows belongs to it
	name string
	data []byte
	some bool // the event has data, if only an empty line of it

	stray []byte // the first lines that are of no field: of a page, or of an error that is no event
}

// mostStray bounds what is kept of lines that belong to no event, in bytes.
const mostStray = 64 << 10

// feed takes the next piece of the stream, which may end anywhere, and calls event for each event that it completes.
// data is valid until event returns; the first error of event ends everything.
func (p *sse) feed(b []byte, event func(name string, data []byte) error) error {
	for len(b) > 0 && p.mark < len(byteOrderMark) {
		if b[0] != byteOrderMark[p.mark] {
			p.line = append(p.line, byteOrderMark[:p.mark]...)
			p.mark = len(byteOrderMark)
			break
		}
		p.mark++
		b = b[1:]
	}
	for len(b) > 0 {
		if p.cr {
			p.cr = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		end := bytes.IndexAny(b, "\r\n")
		piece := b
		if end >= 0 {
			piece = b[:end]
		}
		if p.long || len(p.line)+len(piece) > p.max {
			if !p.lenient {
				return errLine
			}
			p.line, piece = append(p.line[:0], ':'), nil // a comment
			p.long = end < 0
		}
		if end < 0 {
			p.line = append(p.line, piece...)
			return nil
		}
		p.cr = b[end] == '\r'
		b = b[end+1:]
		if len(p.line) > 0 {
			p.line = append(p.line, piece...)
			piece = p.line
		}
		err := p.take(piece, event)
		p.line = p.line[:0]
		if err != nil {
			return err
		}
	}
	return nil
}

// take handles one line without its end.
func (p *sse) take(line []byte, event func(string, []byte) error) error {
	if len(line) == 0 {
		return p.dispatch(event)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) { // an empty field is a comment; id and retry are for reconnecting, which is not done
	case "event":
		p.name = string(value)
	case "data":
		if len(p.data)+len(value)+1 > p.max {
			if p.lenient {
				return nil
			}
			return errLine
		}
		if p.some {
			p.data = append(p.data, '\n')
		}
		p.data = append(p.data, value...)
		p.some = true
	case "", "id", "retry":
	default:
		if room := mostStray - len(p.stray) - 1; room > 0 {
			p.stray = append(append(p.stray, head(line, room)...), '\n')
		}
	}
	return nil
}

// rest returns, after the end of the stream, what belongs to no event; the last line need not have an end.
func (p *sse) rest() []byte {
	if len(p.stray) > 0 || len(p.line) > 0 && bytes.IndexByte([]byte("{[<"), p.line[0]) >= 0 {
		return bytes.TrimSpace(append(p.stray, head(p.line, mostStray)...))
	}
	return nil
}

func (p *sse) dispatch(event func(string, []byte) error) error {
	name, some := p.name, p.some
	p.name, p.some = "", false
	if !some {
		return nil
	}
	data := p.data
	p.data = p.data[:0]
	return event(name, data)
}
