package agent

import (
	"errors"
	"strings"
	"testing"
)

func TestParseControl(t *testing.T) {
	t.Parallel()
	const good = `{"outcome":"fixed","summary":"off by one","root_cause":"<=","verified_commands":["go test"],"touched":["a.go"]}`
	for name, c := range map[string]struct {
		in  string
		err string // what the error names; empty: none
		sum string
	}{
		"G25 summary missing":                 {in: `{"outcome":"fixed"}`, err: `"summary" is missing`},
		"G26 extra property":                  {in: `{"outcome":"fixed","summary":"s","extra":1}`, err: `unknown field "extra"`},
		"G28 enum miss":                       {in: `{"outcome":"done","summary":"s"}`, err: `"outcome" must be one of fixed, no_fix, needs_human`},
		"G29 prose":                           {in: "I fixed it.", err: "no parseable JSON object"},
		"everything":                          {in: good, sum: "off by one"},
		"the required fields are enough":      {in: `{"outcome":"no_fix","summary":"s"}`, sum: "s"},
		"prose around it":                     {in: "Done!\n" + good + "\nBye.", sum: "off by one"},
		"the last of two":                     {in: good + "\n" + `{"outcome":"fixed","summary":"second"}`, sum: "second"},
		"nested in a rejected whole":          {in: `{"result":` + good + `}`, err: `unknown field "result"`},
		"list with a number":                  {in: `{"outcome":"fixed","summary":"s","touched":["a",1]}`, err: `"touched" must be a list of strings`},
		"list that is a string":               {in: `{"outcome":"fixed","summary":"s","verified_commands":"go test"}`, err: `"verified_commands" must be a list`},
		"summary that is a number":            {in: `{"outcome":"fixed","summary":5}`, err: `"summary" must be a string`},
		"outcome null":                        {in: `{"outcome":null,"summary":"s"}`, err: `"outcome" must be a string`},
		"root_cause that is a list":           {in: `{"outcome":"fixed","summary":"s","root_cause":[]}`, err: `"root_cause" must be a string`},
		"null where a field may be absent":    {in: `{"outcome":"fixed","summary":"s","root_cause":null,"touched":null}`, sum: "s"},
		"unknown before missing":              {in: `{"extra":1}`, err: `unknown field "extra"`},
		"missing before list":                 {in: `{"outcome":"fixed","touched":1}`, err: `"summary" is missing`},
		"list before string":                  {in: `{"outcome":1,"summary":"s","touched":1}`, err: `"touched"`},
		"string before enum":                  {in: `{"outcome":"x","summary":1}`, err: `"summary"`},
		"field names have one spelling":       {in: `{"Outcome":"fixed","summary":"s"}`, err: `unknown field "Outcome"`},
		"a key twice":                         {in: `{"outcome":"no_fix","outcome":"fixed","summary":"s"}`, err: `"outcome" appears twice`},
		"a key twice, in prose":               {in: `so: {"outcome":"no_fix","outcome":"fixed","summary":"s"}`, err: `"outcome" appears twice`},
		"a key twice, inside":                 {in: `{"outcome":"fixed","summary":"s","touched":[{"a":1,"a":2}]}`, err: `"a" appears twice`},
		"same key in two objects":             {in: `{"outcome":"fixed","summary":"s","touched":[{"a":1},{"a":2}]}`, err: `"touched" must be a list`},
		"complains of the one that was meant": {in: `{"outcome":"fixed"} as in {"k":1}`, err: `"summary" is missing`},
		"complains of the outer one":          {in: `see {"a":{"b":1}}`, err: `unknown field "a"`},
		"array":                               {in: `[1,2]`, err: "no parseable JSON object"},
		"trailing comma":                      {in: `{"outcome":"fixed","summary":"s",}`, err: "no parseable JSON object"},
		"empty":                               {in: "", err: "no parseable JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseControl(c.in)
			if c.err == "" {
				if err != nil || got.Summary != c.sum {
					t.Fatalf("%+v, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.err) || got != nil {
				t.Fatalf("%+v, %v; want an error with %q", got, err, c.err)
			}
			if none := errors.Is(err, ErrNoObject); none != (c.err == "no parseable JSON object") {
				t.Errorf("ErrNoObject: %v for %v", none, err)
			}
		})
	}
	all, err := ParseControl(good)
	if err != nil || all.Outcome != Fixed || all.RootCause != "<=" || len(all.VerifiedCommands) != 1 || all.Touched[0] != "a.go" {
		t.Errorf("%+v, %v", all, err)
	}
}

// The form an agent is shown is one that it could fill in: its fields are the ones that are read.
func TestControlForm(t *testing.T) {
	t.Parallel()
	filled := strings.Replace(ControlForm, `"fixed" | "no_fix" | "needs_human"`, `"fixed"`, 1)
	if _, err := ParseControl(filled); err != nil {
		t.Error(err)
	}
}

func FuzzParseControl(f *testing.F) {
	for _, seed := range []string{
		`{"outcome":"fixed","summary":"s"}`, "```json\n{\"outcome\":\"no_fix\",\"summary\":\"\"}\n```", bom + "{}", `{"a":"\`, "{{{{", `}"{"\"{`,
		`x {"outcome":"fixed","summary":"s","touched":["a"]} {"b":{}}`, `{"outcome":"fixed","outcome":"fixed","summary":"s"}`, "[{}]", "\x00\xff{",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseControl(text)
		switch {
		case (c == nil) == (err == nil):
			t.Fatalf("%v, %v", c, err)
		case c == nil:
		case c.Outcome != Fixed && c.Outcome != NoFix && c.Outcome != NeedsHuman:
			t.Fatalf("outcome %q", c.Outcome)
		}
		// What is said before the object changes nothing, unless it is one text with it.
		if c != nil && len(text) < TailLimit/2 && !strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(text, bom)), backticks) {
			again, err := ParseControl("prose.\n" + text)
			if err != nil || again.Summary != c.Summary {
				t.Fatalf("with prose before it: %v, %v", again, err)
			}
		}
	})
}
