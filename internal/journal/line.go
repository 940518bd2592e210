package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

// A Field is one member of a line.
type Field struct {
	Name  string
	Value any
}

// Object returns one JSON object with the fields in the order given, on one line without its end.
func Object(fields []Field) ([]byte, error) {
	var w lineWriter
	b := []byte("{")
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = w.member(b, f.Name, f.Value, nil); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// A lineWriter makes lines in one buffer that it keeps.
type lineWriter struct {
	buf  bytes.Buffer // of the encoder
	out  []byte
	from time.Time // when the journal was opened; see Steady
}

// line returns the next line of a journal with its end. It is valid until the next call. clean may be nil.
func (w *lineWriter) line(after *chain, clean func([]byte) []byte, e *Event, fields []Field) ([]byte, error) {
	b := append(w.out[:0], `{"seq":`...)
	b = strconv.AppendInt(b, after.seq+1, 10)
	b = append(b, `,"at":"`...)
	b = Steady(w.from, time.Now()).UTC().AppendFormat(b, timestamp.Layout)
	b = append(b, '"')
	var err error
	if e != nil {
		if b, err = w.text(append(b, `,"type":`...), e.Type); err == nil && e.Task != "" {
			b, err = w.text(append(b, `,"task":`...), e.Task)
		}
	}
	for i := 0; i < len(fields) && err == nil; i++ {
		b, err = w.member(append(b, ','), fields[i].Name, fields[i].Value, clean)
	}
	if err != nil {
		return nil, err
	}
	b = append(b, `,"prev":`...)
	if after.head == "" {
		b = append(b, "null"...)
	} else {
		b = append(append(append(b, '"'), after.head...), '"')
	}
	b = append(b, "}\n"...)
	w.out = b
	if cap(b) > 1<<16 { // one long line is no reason to keep so much
		w.out = nil
	}
	return b, nil
}

// member adds "name":value.
func (w *lineWriter) member(b []byte, name string, value any, clean func([]byte) []byte) ([]byte, error) {
	b, err := w.text(b, name)
	if err != nil {
		return nil, err
	}
	b = append(b, ':')
	from := len(b)
	if b, err = w.value(b, value); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if clean != nil && (b[from] == '"' || b[from] == '{' || b[from] == '[') { // a number is no text
		b = append(b[:from], clean(b[from:])...)
	}
	return b, nil
}

// value adds v as JSON, byte for byte as the encoder writes it, but without the encoder for the usual types.
func (w *lineWriter) value(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case string:
		return w.text(b, v)
	case *string:
		if v != nil {
			return w.text(b, *v)
		}
	case *int:
		if v != nil {
			return strconv.AppendInt(b, int64(*v), 10), nil
		}
	case *int64:
		if v != nil {
			return strconv.AppendInt(b, *v, 10), nil
		}
	default:
		return w.encoded(b, v)
	}
	return append(b, "null"...), nil
}

// text adds s as a JSON string.
func (w *lineWriter) text(b []byte, s string) ([]byte, error) {
	if plain(s) {
		return append(append(append(b, '"'), s...), '"'), nil
	}
	return w.encoded(b, s)
}

// encoded adds v as the encoder writes it, without the escapes that only web pages need.
func (w *lineWriter) encoded(b []byte, v any) ([]byte, error) {
	w.buf.Reset()
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(w.buf.Bytes(), []byte("\n"))...), nil
}

// plain reports whether s is the same in JSON, without an escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
