package native

// What the fault sweeps are made of: a session of a model that knows its story, played on a wire of any protocol,
// with the real client and the real tools on a small folder; and what must be true of it whatever happened to the
// wire.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

var allProviders = []string{model.Anthropic, model.OpenAI, model.OpenAIChat, model.Gemini}

const inMemory = "http://127.0.0.1" // where nobody listens

// A page is one turn of the story, and what the conversation holds, once, when the calls of the turn have run.
type page struct {
	modeltest.Turn
	proofs []string
}

var sweepStory = []page{
	{modeltest.Turn{Thinking: "A sign?", Calls: []modeltest.Call{
		{Name: "read", Args: json.RawMessage(`{"path":"a.go"}`)}, {Name: "search", Args: json.RawMessage(`{"pattern":"Sum"}`)},
	}}, []string{"proof of the reading", "proof of the search"}},
	{modeltest.Turn{Calls: []modeltest.Call{
		{Name: "write", Args: json.RawMessage(`{"path":"n","content":"ö\n"}`)}, {Name: "edit", Args: json.RawMessage(`{"path":"a.go","old":"-","new":"+"}`)},
	}}, []string{"It is complete: do not write it again", "edited at line 4"}},
	{modeltest.Turn{
		Text: "I run it.", Calls: []modeltest.Call{{Name: "run", Args: json.RawMessage(`{"argv":["prove"]}`)}, {Name: "check"}},
		Usage: modeltest.Usage{Input: 90, Output: 9},
	}, []string{"proof of the program", "proof of the check"}},
	{modeltest.Turn{Calls: []modeltest.Call{{Name: "finish", Args: json.RawMessage(`{"outcome":"fixed","summary":"a sign"}`)}}}, nil},
}

// Of the files of the copy the story reads two, changes one and makes one; the program appends a line to the witness.
var (
	sweepBefore = map[string]string{"a.go": "package sum\n\n// proof of the reading\nfunc add(a, b int) int { return a - b }\n", "b.go": "package sum\n\nvar _ = Sum(1, 2) // proof of the search\n"}
	sweepAfter  = map[string]string{
		"a.go": strings.Replace(sweepBefore["a.go"], "-", "+", 1), "b.go": sweepBefore["b.go"], "n": "ö\n", "witness": "ran\n",
	}
	sweepTools = []string{"check", "edit", "finish", "read", "run", "search", "write"}
)

// slow is how long the program of the story takes: longer than any stream may be silent.
const slow = 3 * time.Minute

// A wire answers requests in memory. Like a server's, the handler works beside its client, and each write waits for
// its reader.
type wire struct{ http.Handler }

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	reply := &pipeReply{head: http.Header{}, out: out, begun: make(chan struct{})}
	asked := r.Clone(r.Context()) // the client's is the client's
	go func() {
		w.ServeHTTP(reply, asked)
		reply.WriteHeader(http.StatusOK)
		_ = out.Close()
	}()
	select {
	case <-reply.begun:
	case <-r.Context().Done():
		_ = in.CloseWithError(r.Context().Err())
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: reply.status, Header: reply.sent, Body: in, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// A pipeReply is an answer whose connection can be had from it, and be reset.
type pipeReply struct {
	head, sent http.Header
	status     int
	out        *io.PipeWriter
	once       sync.Once
	begun      chan struct{}
}

func (p *pipeReply) Header() http.Header { return p.head }
func (p *pipeReply) Flush()              {}

func (p *pipeReply) WriteHeader(status int) {
	p.once.Do(func() {
		p.status, p.sent = status, p.head.Clone()
		close(p.begun)
	})
}

func (p *pipeReply) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.out.Write(b)
}

func (p *pipeReply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return resetting{out: p.out}, nil, nil
}

// A resetting is a connection of which only the end is of interest.
type resetting struct {
	net.Conn
	out *io.PipeWriter
}

func (r resetting) Close() error { return r.out.CloseWithError(syscall.ECONNRESET) }

// A stage plays the story. It goes by what it is told: the next turn is the first whose calls have no results in the
// request.
type stage struct {
	modeltest.Server
	faults map[int][]modeltest.Fault // by turn: what happens to it, time after time
	again  bool                      // after a fault the same turn comes once more, whatever had become of it

	mu     sync.Mutex
	repeat bool
	served []int // the turn of each request
	bodies []string
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	at := 0
	if s.repeat {
		at = s.served[len(s.served)-1]
	} else {
		for at < len(sweepStory)-1 && !slices.ContainsFunc(sweepStory[at].proofs, func(p string) bool { return !bytes.Contains(body, []byte(p)) }) {
			at++
		}
	}
	turn := sweepStory[at].Turn
	s.repeat = false
	if times := count(s.served, at); times < len(s.faults[at]) {
		turn.Fault, s.repeat = s.faults[at][times], s.again
	}
	s.served = append(s.served, at)
	s.bodies = append(s.bodies, string(body))
	s.Scenario.Turns = append(s.Scenario.Turns, turn)
	s.mu.Unlock()
	s.Server.ServeHTTP(w, r)
}

func count(all []int, n int) int {
	times := 0
	for _, m := range all {
		if m == n {
			times++
		}
	}
	return times
}

// A session is one turn of the agent before a stage, and what it left.
type session struct {
	provider string
	stage    *stage
	dir      string        // of the copy
	takes    time.Duration // how long the program takes
	breaker  *Breaker      // nil: one of its own

	turn  agent.Turn
	ran   []string // names of the tools that were started, sorted
	lines []agent.Line
}

// watched are the real tools, observed. Thousands of requests hold their specs: the story knows them, they need no
// words.
type watched struct {
	*tools.Toolset
	calls func(name string)
}

func (w watched) Specs() []model.Tool {
	all := w.Toolset.Specs()
	for i := range all {
		all[i].Description, all[i].Schema = "", nil
	}
	return all
}

func (w watched) Call(ctx context.Context, c model.Call) tools.Outcome {
	w.calls(c.Name)
	return w.Toolset.Call(ctx, c)
}

// play plays the session on the model at its place.
func (s *session) play(ctx context.Context, baseURL string, client *http.Client) error {
	if err := s.begin(); err != nil {
		return err
	}
	m := &model.Model{Provider: s.provider, Name: "m-1", BaseURL: baseURL, Key: "k-123456", HTTP: client}
	s.stage.Key = m.Key
	breaker := cmp.Or(s.breaker, &Breaker{})
	var mu sync.Mutex
	a := &Agent{
		ID: "own", Ask: m.Turn, Model: m.Name, Provider: s.provider, Breaker: breaker, MaxTurns: 12, random: func() float64 { return 0 },
		open: func(r agent.Request) (toolset, error) {
			w, err := tools.Open(&r)
			return watched{w, func(name string) {
				mu.Lock()
				s.ran = append(s.ran, name)
				mu.Unlock()
			}}, err
		},
	}
	var err error
	s.turn, err = a.Turn(ctx, agent.Request{
		Attempt: 1, Prompt: "Repair it.", Dir: s.dir, Copy: s.dir, Idle: time.Minute, Allow: [][]string{{"prove"}},
		Note: func(l agent.Line) { s.lines = append(s.lines, l) },
		Exec: func(ctx context.Context, c agent.Command) (agent.Exit, error) {
			if err := s.witness(); err != nil {
				return agent.Exit{}, err
			}
			cancelled := pause(ctx, s.takes) != nil
			_, err := io.WriteString(c.Stdout, "proof of the program\n")
			return agent.Exit{Cancelled: cancelled}, err
		},
		Check: func(_ context.Context, out io.Writer) (bool, error) {
			text, err := os.ReadFile(filepath.Join(s.dir, "a.go"))
			_, _ = io.WriteString(out, "proof of the check\n") // into memory
			return string(text) == sweepAfter["a.go"], err
		},
	})
	mu.Lock()
	slices.Sort(s.ran)
	mu.Unlock()
	return err
}

// begin makes the copy what it was before the story; a session before this one may have left its own there.
func (s *session) begin() error {
	left, err := os.ReadDir(s.dir)
	for _, e := range left {
		if _, ok := sweepBefore[e.Name()]; !ok {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, e.Name())))
		}
	}
	for name, text := range sweepBefore {
		err = errors.Join(err, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644))
	}
	return err
}

func (s *session) witness() error {
	f, err := os.OpenFile(filepath.Join(s.dir, "witness"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("ran\n")
	return errors.Join(err, f.Close())
}

// tree returns the files of a folder.
func tree(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+string(filepath.Separator))] = string(text)
		return err
	})
	return files, err
}

// wrong says what is not as in a session to which nothing happened, and a few more things that must be true of any.
func (s *session) wrong() error {
	if err := s.differs(); err != nil {
		return err
	}
	return s.always()
}

// differs says what came out otherwise than in a session to which nothing happened.
func (s *session) differs() error {
	found, err := tree(s.dir)
	switch t := s.turn; {
	case err != nil:
		return err
	case !maps.Equal(found, sweepAfter):
		return fmt.Errorf("the tree is %q", found)
	case !slices.Equal(s.ran, sweepTools):
		return fmt.Errorf("the tools ran as %v", s.ran)
	case t.Kind != "" || t.Control == nil || t.Control.Outcome != agent.Fixed || t.Control.Summary != "a sign":
		return fmt.Errorf("kind %q (%s), control %+v", t.Kind, t.Evidence, t.Control)
	case !slices.Equal(t.Control.Touched, []string{"n", "a.go"}) || !slices.Equal(t.Control.VerifiedCommands, []string{"check", "prove"}):
		return fmt.Errorf("control %+v", t.Control)
	}
	last := s.stage.bodies[len(s.stage.bodies)-1]
	for _, p := range sweepStory {
		for _, proof := range p.proofs {
			if n := strings.Count(last, proof); n != 1 {
				return fmt.Errorf("the last request holds %q %d times", proof, n)
			}
		}
	}
	return nil
}

// always is what must be true of any session: the requests legal and within the budget, the journal whole.
func (s *session) always() error {
	if wrong := s.stage.Wrong(); len(wrong) > 0 {
		return fmt.Errorf("request %d was refused: %w", len(s.stage.served), wrong[0])
	}
	recoveries, requests, err := s.journal()
	if err != nil {
		return err
	}
	if asked := len(s.stage.served); requests != asked || s.turn.Kind == "" && recoveries != asked-*s.turn.Turns {
		return fmt.Errorf("%d recoveries; %d requests, written down %d, %d answers", recoveries, asked, requests, *s.turn.Turns)
	}
	return nil
}

// journal is what must be true of any transcript: what ran is named once, before it has its one result, and so is
// what did not run.
func (s *session) journal() (recoveries, requests int, err error) {
	calls, results := map[any]int{}, map[any]int{}
	for i, l := range s.lines {
		id := l.Data["id"]
		switch l.Type {
		case "tool_call":
			if calls[id]++; calls[id] > 1 || results[id] > 0 {
				return 0, 0, fmt.Errorf("line %d: the call %s twice, or after its result", i+1, id)
			}
		case "tool_result":
			started := l.Data["started"] == nil
			if results[id]++; results[id] > 1 || started != (calls[id] == 1) {
				return 0, 0, fmt.Errorf("line %d: result %d of the call %s (started: %v)", i+1, results[id], id, started)
			}
		case "recovery":
			recoveries++
		case "request":
			requests++
		}
	}
	for id := range calls {
		if results[id] != 1 {
			return 0, 0, fmt.Errorf("the call %s has no result in the transcript", id)
		}
	}
	switch last := s.lines[len(s.lines)-1].Type; {
	case len(calls) != len(s.ran):
		return 0, 0, fmt.Errorf("%d calls are written down, and ran %v", len(calls), s.ran)
	case recoveries > maxRecoveries || requests != *s.turn.Requests:
		return 0, 0, fmt.Errorf("%d recoveries; %d requests, counted %d", recoveries, requests, *s.turn.Requests)
	case last != "end":
		return 0, 0, fmt.Errorf("the last line is %s", last)
	}
	return recoveries, requests, nil
}

// show is the transcript of a session that went wrong.
func (s *session) show() string {
	var b strings.Builder
	fmt.Fprintf(&b, "turns served: %v\n", s.stage.served)
	for _, l := range s.lines {
		text, err := json.Marshal(l.Data)
		fmt.Fprintf(&b, "%s %.300s %v\n", l.Type, text, err)
	}
	return b.String()
}

// A tape keeps the answers that pass.
type tape struct {
	http.RoundTripper
	streams []*bytes.Buffer
}

func (p *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	p.streams = append(p.streams, &bytes.Buffer{})
	resp.Body = taped{io.TeeReader(resp.Body, p.streams[len(p.streams)-1]), resp.Body}
	return resp, nil
}

type taped struct {
	io.Reader
	io.Closer
}

// record plays the story without a fault and gives the stream of each turn.
func record(t testing.TB, provider string) []string {
	t.Helper()
	s := &session{provider: provider, stage: &stage{}, dir: t.TempDir()}
	p := &tape{RoundTripper: wire{s.stage}}
	if err := s.play(context.Background(), inMemory, &http.Client{Transport: p}); err != nil {
		t.Fatal(err)
	}
	if err := s.wrong(); err != nil {
		t.Fatalf("with no fault: %v\n%s", err, s.show())
	}
	var streams []string
	for _, b := range p.streams {
		streams = append(streams, b.String())
	}
	if len(streams) != len(sweepStory) {
		t.Fatalf("with no fault: %d requests", len(streams))
	}
	return streams
}
