package model

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// parse feeds the pieces and returns the events as "name=data".
func parse(max int, pieces ...string) ([]string, error) {
	p := sse{max: max}
	got := []string{}
	for _, piece := range pieces {
		if err := p.feed([]byte(piece), func(name string, data []byte) error {
			got = append(got, name+"="+string(data))
			return nil
		}); err != nil {
			return got, err
		}
	}
	return got, nil
}

var streams = []struct {
	name, stream string
	want         []string
}{
	{"one", "data: a\n\n", []string{"=a"}},
	{"several lines", "data: a\ndata:  b\ndata\ndata:c\n\n", []string{"=a\n b\n\nc"}},
	{"line ends", "data: a\r\n\r\ndata: b\r\rdata: c\n\ndata: d\r\n\rdata: e\n\r\n", []string{"=a", "=b", "=c", "=d", "=e"}},
	{"names", "event: x\ndata: a\n\ndata: b\n\nevent:y\nevent: z\ndata: c\n\n", []string{"x=a", "=b", "z=c"}},
	{"a name without data", "event: x\n\ndata: a\n\n", []string{"=a"}},
	{"empty data", "data\n\ndata:\n\n\n\n", []string{"=", "="}},
	{"comments and other fields", ": hi\n:\nid: 7\nretry: 9\nnews: x\nDATA: no\ndata: a\n\n", []string{"=a"}},
	{"byte order mark", "\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n", []string{"=a"}},
	{"half a byte order mark", "\xEF\xBBdata: a\n\ndata: b\n\n", []string{"=b"}},
	{"unfinished", "data: a\n\ndata: b\n", []string{"=a"}},
	{"colons", "data:a:b: c\n\n", []string{"=a:b: c"}},
	{"empty", "", []string{}},
}

func TestSSE(t *testing.T) {
	t.Parallel()
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole, err := parse(1<<20, c.stream)
			if err != nil || fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", c.want) {
				t.Fatalf("%q, %v; want %q", whole, err, c.want)
			}
			for i := range len(c.stream) { // wherever the pieces end
				if cut, err := parse(1<<20, c.stream[:i], c.stream[i:]); err != nil || fmt.Sprint(cut) != fmt.Sprint(whole) {
					t.Errorf("cut at %d: %q, %v", i, cut, err)
				}
			}
			if bytewise, err := parse(1<<20, strings.Split(c.stream, "")...); err != nil || fmt.Sprint(bytewise) != fmt.Sprint(whole) {
				t.Errorf("by bytes: %q, %v", bytewise, err)
			}
		})
	}
}

// A line of 20 MB passes below the limit; one byte above the limit is refused, also where a line or an event never
// ends.
func TestSSELimits(t *testing.T) {
	t.Parallel()
	const big = 20 << 20
	p := sse{max: big + 16}
	heard := 0
	stream := []byte("data: " + strings.Repeat("x", big) + "\n\n")
	for len(stream) > 0 {
		n := min(len(stream), bufferSize)
		if err := p.feed(stream[:n], func(_ string, data []byte) error { heard += len(data); return nil }); err != nil {
			t.Fatal(err)
		}
		stream = stream[n:]
	}
	if heard != big {
		t.Errorf("heard %d bytes", heard)
	}
	for name, pieces := range map[string][]string{
		"one piece":  {"data: 5678901\n\n"},
		"two pieces": {"data: 567", "8901\n"},
		"comment":    {":23456789", "0", "1"},
		"many lines": {"data: 5678\n", "data: 5678\n", "data: 5678\n"},
	} {
		if _, err := parse(10, pieces...); !errors.Is(err, errLine) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := parse(10, "data: 5678\ndata:\n\n"); err != nil || len(got) != 1 {
		t.Errorf("at the limit: %q, %v", got, err)
	}
}

func FuzzSSE(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.stream), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, at int) {
		const max = 64
		at = min(len(stream), int(uint(at)%(uint(len(stream))+1)))
		whole, err := parse(max, string(stream))
		cut, cutErr := parse(max, string(stream[:at]), string(stream[at:]))
		if err == nil != (cutErr == nil) || err == nil && fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", cut) {
			t.Fatalf("%q, %v; cut at %d: %q, %v", whole, err, at, cut, cutErr)
		}
		for _, e := range whole {
			_, data, _ := strings.Cut(e, "=")
			if len(data) > max || bytes.ContainsRune([]byte(data), '\r') {
				t.Fatalf("data %q", data)
			}
		}
	})
}
