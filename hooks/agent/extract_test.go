package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// valid is a predicate S of the conformance table: success and summary are there.
func valid(raw []byte) bool {
	var v struct {
		Success *bool
		Summary *string
	}
	return json.Unmarshal(raw, &v) == nil && v.Success != nil && v.Summary != nil
}

func anything([]byte) bool { return true }

const accepted = `{"success":true,"summary":"s"}`

func TestStripFence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"G01 space around":        {"  {\"a\":1}\n", `{"a":1}`},
		"G02 fenced with json":    {"```json\n{\"a\":1}\n```", `{"a":1}`},
		"bare fence":              {"\n```\n{\"a\":1}\n```\n", `{"a":1}`},
		"fence that never closes": {"```json\n{\"a\":1}\n", `{"a":1}`},
		"prose first":             {"here:\n```json\n{}\n```", "here:\n```json\n{}\n```"},
	} {
		if got := stripFence(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestBalancedAt(t *testing.T) {
	t.Parallel()
	tricky := `{"a":"} \" {"}`
	for name, c := range map[string]struct{ in, want string }{
		"G04 in noise":            {`noise {"a":1} more`, `{"a":1}`},
		"G05 nested":              {`{"a":{"b":{}}}`, `{"a":{"b":{}}}`},
		"G06 brace and quote":     {tricky + " tail", tricky},
		"G08 no close":            {`{"a":{"b":1}`, `{"b":1}`}, // what is inside of it is closed
		"G08 no close at all":     {`{"a":1`, ""},
		"balanced but not JSON":   {`{a}`, ""},
		"trailing comma":          {`{"a":1,}`, ""},
		"NaN":                     {`{"a":NaN}`, ""},
		"string that never ends":  {`{"a}`, ""},
		"backslash as last byte":  {`{"a\`, ""},
		"escaped backslash":       {`{"a":"\\"} }`, `{"a":"\\"}`},
		"close without an object": {`} {"a":1}`, `{"a":1}`},
	} {
		if got := string(lastObject([]byte(c.in), nil)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLastObject(t *testing.T) {
	t.Parallel()
	outer := `{"success":true,"summary":"call f({}) and {\"a\":{}}"}`
	for name, c := range map[string]struct {
		in     string
		accept func([]byte) bool
		want   string
	}{
		"G09 the second of two":           {`{"a":1} and {"b":2} end`, anything, `{"b":2}`},
		"G10 no brace":                    {`nothing`, anything, ""},
		"G12 braces in a string":          {"so: " + outer, valid, outer},
		"no predicate, not the innermost": {`prose {"a":{"b":1}}`, nil, `{"a":{"b":1}}`},
		"no predicate, last outermost":    {`{"a":{"b":1}} {"c":{"d":{}}} }`, nil, `{"c":{"d":{}}}`},
		"no predicate, around two":        {`x {"o":[{"a":1},{"b":2}]}`, nil, `{"o":[{"a":1},{"b":2}]}`},
		"no predicate, outer is not JSON": {`func() { x({"a":1}) }`, nil, `{"a":1}`},
	} {
		if got := string(lastObject([]byte(c.in), c.accept)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in     string
		accept func([]byte) bool
		want   string
	}{
		"G13 pure JSON":                       {`{"a":1}`, anything, `{"a":1}`},
		"G14 fenced JSON":                     {"```json\n{\"a\":1}\n```", anything, `{"a":1}`},
		"G16 JSON, then a sentence":           {`{"a":1} That is all.`, anything, `{"a":1}`},
		"G17 two objects":                     {"{\"a\":1}\n{\"b\":2}", anything, `{"b":2}`},
		"G18 nested in a rejected whole":      {`{"result":` + accepted + `}`, valid, ""},
		"G18 nested in an array":              {`[` + accepted + `]`, valid, ""},
		"G20 empty":                           {"", anything, ""},
		"G20 spaces":                          {" \n\t ", anything, ""},
		"G21 prose, fence, prose":             {"Done.\n```json\n" + accepted + "\n```\nBye {x}.", valid, accepted},
		"G22 an unrelated snippet after it":   {accepted + "\nas in `{\"k\": 1}` and {…}", valid, accepted},
		"byte order mark":                     {bom + accepted, valid, accepted},
		"byte order mark before a fence":      {bom + "```\n" + accepted + "\n```", valid, accepted},
		"tilde fence":                         {"~~~\n" + accepted + "\n~~~", valid, accepted},
		"other tag":                           {"```jsonc\n" + accepted + "\n```", valid, accepted},
		"scalar":                              {`"{}"`, anything, ""},
		"outside of the tail":                 {accepted + strings.Repeat(" x", TailLimit/2), valid, ""},
		"inside the tail of a long output":    {strings.Repeat("{ü", TailLimit) + " " + accepted, valid, accepted},
		"before too many other objects":       {accepted + " " + strings.Repeat("{}", maxCandidates+1), valid, ""},
		"before as many objects as are asked": {accepted + " " + strings.Repeat("{}", maxCandidates-1), valid, accepted},
	} {
		if got := string(find(c.in, c.accept)); got != c.want {
			t.Errorf("%s: %.80q, want %q", name, got, c.want)
		}
	}
}

func TestFindIsQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	for name, text := range map[string]string{
		"G24 a MiB of braces":     strings.Repeat("{", 1<<20),
		"braces in strings":       strings.Repeat(`{\"`, 1<<18) + strings.Repeat("x", 1<<17),
		"quotes and braces":       strings.Repeat(`{"`, 1<<19),
		"nested valid objects":    "x " + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000),
		"long siblings":           "x " + strings.Repeat("{", 5000) + strings.Repeat(`{"a":1}`, 20000),
		"brackets":                strings.Repeat("[", 1<<20),
		"strings that never end":  strings.Repeat(`{"a`, 1<<18),
		"escapes that never end":  strings.Repeat(`{"\`, 1<<18),
		"close braces":            strings.Repeat("}", 1<<20),
		"valid but for the start": "x" + strings.Repeat(`{"a":{}}`, 1<<16),
	} {
		limit := time.Second
		if name == "G24 a MiB of braces" {
			limit = 50 * time.Millisecond
		}
		took := time.Hour
		for try := 0; try < 5 && took > limit*raceFactor; try++ { // a busy machine is not slowness of ours
			began := time.Now()
			if got := find(text, valid); got != nil {
				t.Errorf("%s: found %.40q", name, got)
			}
			took = min(took, time.Since(began))
		}
		if took > limit*raceFactor {
			t.Errorf("%s: took %s, the limit is %s", name, took, limit)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`["a",1]`:              {"a"}, // G30
		`"[\"a\"]"`:            {"a"}, // G30
		`"a"`:                  {"a"}, // G30
		`5`:                    {},    // G30
		`null`:                 {},
		`["a",null,["b"],"c"]`: {"a", "c"},
		`"[not json"`:          {"[not json"},
		`{"a":1}`:              {},
		``:                     {},
	} {
		t.Run("G30 "+in, func(t *testing.T) {
			if got := List(json.RawMessage(in)); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	if got := Tail("aüü", 3); got != "ü" {
		t.Errorf("%q: a rune was cut", got)
	}
	if got := Tail("abc", 3); got != "abc" {
		t.Errorf("%q", got)
	}
}

func TestNull(t *testing.T) {
	t.Parallel()
	if Null("") != nil || Null("x") != "x" {
		t.Errorf("%v, %v", Null(""), Null("x"))
	}
}
