package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// A Field is one member of a line.
type Field struct {
	Name  string
	Value any
}

// Object is one JSON object with the fields in the order given, on one line without its end.
func Object(fields []Field) ([]byte, error) {
	var b bytes.Buffer
	for i, f := range fields {
		name, err := encode(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := encode(f.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		b.WriteByte("{,"[min(i, 1)])
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	if len(fields) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// stamp is a time as every line has it: RFC 3339 UTC with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// raw is JSON already.
type raw []byte

// encode is v as JSON on one line, without the escapes that only web pages need.
func encode(v any) ([]byte, error) {
	if b, ok := v.(raw); ok { // byte for byte: the encoder would write it anew
		return b, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
