package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
)

// The lines of all kinds of agents, in the form of each, are read in the same way. What is folded is there unfolded.
func TestShowTranscript(t *testing.T) {
	t.Parallel()
	var lines []fix.TranscriptLine
	at := time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)
	for i, text := range []string{
		`{"attempt":1,"type":"prompt","text":"Repair it.","pack_bytes":2048}`,
		`{"attempt":1,"type":"request","status":429,"outcome":"passed","duration_ms":100,"tokens":{"input":null,"output":null}}`,
		`{"attempt":1,"type":"request","status":200,"outcome":"passed","duration_ms":900,"tokens":{"input":1200,"output":34},"cost_usd":0.25}`,
		`{"attempt":1,"type":"text","text":"I look.\nThen I write."}`,
		`{"attempt":1,"type":"tool_call","id":"1","name":"Bash","target":"go test"}`,
		`{"attempt":1,"type":"tool_call","id":"2","name":"read","args":{"path":"a.go"}}`,
		`{"attempt":1,"type":"tool_result","id":"2","name":"read","text":"package a\n\nvar A = 1\n"}`,
		`{"attempt":1,"type":"tool_result","id":"1","text":"--- FAIL\nexit 1","failed":true}`,
		`{"attempt":1,"type":"notice","stream":"stderr","text":"one"}`,
		`{"attempt":1,"type":"notice","stream":"stderr","text":"two"}`,
		`{"attempt":1,"type":"end","kind":"idle_timeout","evidence":"said nothing","duration_ms":9000}`,
		`{"attempt":2,"type":"request","status":200,"ms":1500,"input_tokens":10,"output_tokens":2,"cost_usd":null}`,
		`{"attempt":2,"type":"tool_call","id":"1","name":"run","args":{"argv":["go","vet"]}}`,
		`{"attempt":2,"type":"end"}`,
	} {
		l := fix.TranscriptLine{At: at.Add(time.Duration(i) * 30 * time.Second)}
		if err := json.Unmarshal([]byte(text), &l.Data); err != nil {
			t.Fatal(err)
		}
		n, _ := l.Data["attempt"].(float64)
		l.Attempt, l.Type = int(n), word(l, "type")
		lines = append(lines, l)
	}
	show := func(unfold bool) string {
		var b strings.Builder
		(&Screen{W: &b}).ShowTranscript(&fix.Proposal{Fix: fix.Fix{Run: "20261122T180000Z-0001", Task: "test"}}, lines, unfold)
		return b.String()
	}
	folded := show(false)
	for _, want := range []string{
		"\nAttempt 1\n 0:00  asked   10 bytes of instructions, and a context pack of 2048 bytes\n",
		" 0:30  model   2 requests, status 429, 1.0s\n",
		" 1:30  says\n       │ I look.\n       │ Then I write.\n",
		" 2:00  calls   Bash go test → failed, 2 lines, the last: exit 1\n",
		" 2:30  calls   read a.go → 3 lines\n",
		" 4:00  stderr  2 lines, the last: two\n",
		" 5:00  ends    idle_timeout: said nothing, after 9.0s\n",
		"\nAttempt 2\n 0:00  model   1 request, tokens 10 in, 2 out, 1.5s\n 0:30  calls   run go vet → no result\n 1:00  ends    by itself\n",
	} {
		if !strings.Contains(folded, want) {
			t.Errorf("%q is not in\n%s", want, folded)
		}
	}
	unfolded := show(true)
	for _, want := range []string{"│ Repair it.\n", "│ --- FAIL\n", `│   "path": "a.go"`, "tokens 1,200 in, 34 out, $0.25, 0.9s\n", "│ one\n"} {
		if strings.Contains(folded, want) || !strings.Contains(unfolded, want) {
			t.Errorf("%q is not only in\n%s", want, unfolded)
		}
	}
}
