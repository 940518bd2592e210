package fix

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/digest"
	"github.com/async-pipeline/async-pipeline/internal/journal"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// A Provenance names what a fix came from. What is not known is null.
type Provenance struct {
	Files      []Evidence   `json:"files"`      // all of this fix below fixes/ when it was sealed, sorted
	Pack       *Evidence    `json:"pack"`       // the context pack that the agent was given
	Transcript *Evidence    `json:"transcript"` // one of Files
	Prompts    []PromptRef  `json:"prompts"`    // what each attempt was asked, as the transcript has it
	Policy     *Policy      `json:"policy"`
	Sandbox    *Confined    `json:"sandbox"`
	Agent      *Program     `json:"agent"`
	Journal    *journal.End `json:"journal"` // how far fixes/events.jsonl went before the fix was sealed
}

// An Evidence is a file as it was when the fix was sealed. Its path is relative to the run's folder.
type Evidence struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

// A PromptRef is the digest of one prompt's text.
type PromptRef struct {
	Attempt int    `json:"attempt"`
	Digest  string `json:"digest"`
}

// A Policy is what the hook was allowed and told, and the command that had failed, as they were then.
type Policy struct {
	Digest string `json:"digest"` // of the other fields as one line of JSON, in this order; filled in by Seal

	Agent       string   `json:"agent"`
	Command     string   `json:"command"` // of the failed task, as written
	Prompt      *string  `json:"prompt"`  // the person's own words to the agent
	Output      *string  `json:"output"`  // tree | diff
	Attempts    int      `json:"attempts"`
	WallClockMS int64    `json:"wall_clock_ms"`
	Protect     []string `json:"protect"`
	Verify      []string `json:"verify"`
	PassSecrets bool     `json:"pass_secrets"`
	CI          bool     `json:"ci"`
	TierAsked   *string  `json:"tier_asked"` // null: the best there is

	// Absent where the hook has none: older records have no such fields, and their digest is still right.
	Fallback []string   `json:"fallback,omitempty"`
	Tokens   int64      `json:"tokens,omitempty"`
	CostUSD  float64    `json:"cost_usd,omitempty"`
	Allow    [][]string `json:"allow,omitempty"`
	Reviewer string     `json:"reviewer,omitempty"`
}

// Confined is the tier of the agent and of every check.
type Confined struct {
	Tier  *string `json:"tier"`
	Asked *string `json:"asked"`
}

// A Program is what the agent was: a program, or a model of a provider.
type Program struct {
	Name    string   `json:"name"`
	Command []string `json:"command"` // as written; null: a model
	Path    *string  `json:"path"`    // of the program that the command names
	Digest  *string  `json:"digest"`  // of that program's file

	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"` // as PIPELINE.hcl names it; each attempt has what the provider answered with
	BaseURL  string `json:"base_url,omitempty"`
}

// Sum returns what Digest should be.
func (p Policy) Sum() (string, error) {
	p.Digest = ""
	text, err := recordfile.JSON(p)
	return recordfile.Digest(text), err
}

// EvidenceOf reads a file of a run's folder.
func EvidenceOf(runDir, rel string) (Evidence, error) {
	f, err := os.OpenFile(filepath.Join(runDir, filepath.FromSlash(rel)),
		os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Evidence{}, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Evidence{}, errors.Join(err, fmt.Errorf("%s is not a regular file", f.Name()))
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return Evidence{Path: rel, Bytes: n, Digest: digest.Text(sum.Sum(nil))}, err
}

// PromptDigest returns the digest of the text in a line of a transcript, or "".
func PromptDigest(line []byte) string {
	var l struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(line, &l) != nil || l.Text == nil {
		return ""
	}
	return recordfile.Digest([]byte(*l.Text))
}

// DigestOf returns the digest of a file of a run's folder; nil where it cannot be read.
func DigestOf(runDir, rel string) *string {
	e, err := EvidenceOf(runDir, rel)
	if err != nil {
		return nil
	}
	return &e.Digest
}
