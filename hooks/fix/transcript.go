package fix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

// mostTranscript is how much of a transcript is read, in bytes. What agents say is bounded far below it.
const mostTranscript = 256 << 20

// A TranscriptLine is one line of what an agent said and did. Its writer, hooks/agent, has the types.
type TranscriptLine struct {
	At      time.Time
	Attempt int
	Type    string
	Data    map[string]any // all fields of the line
}

// Transcript reads what the agents said and did. Where no agent was asked there is none, and the error wraps
// fs.ErrNotExist. A last line without an end, as of a runner that was killed, is left out.
func (p *Proposal) Transcript() (lines []TranscriptLine, err error) {
	file := filepath.Join(p.Dir, "fixes", p.Name+".transcript.jsonl")
	text, err := recordfile.Read(file, mostTranscript)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return lines, nil
		}
		text = rest
		var l TranscriptLine
		if json.Unmarshal(line, &l.Data) != nil || l.Data == nil {
			return nil, fmt.Errorf("%w: %s, line %d cannot be read", ErrDamaged, file, n)
		}
		at, _ := l.Data["at"].(string)
		l.At, _ = time.Parse(timestamp.Layout, at) // else it is the zero time
		attempt, _ := l.Data["attempt"].(float64)
		l.Attempt = int(attempt)
		l.Type, _ = l.Data["type"].(string)
		lines = append(lines, l)
	}
}
