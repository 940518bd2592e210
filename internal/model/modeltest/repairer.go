package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Edited is printed by the command of a Repairer, so that each request after it has it.
const Edited = "the-edit-is-done"

// A Repairer is a provider whose model runs one command by a tool of the client, and then answers. It speaks to any
// client, whichever protocol it has, and answers side requests, which offer no tools, with a title. First and Then go
// before the usual answers. It is an http.Handler; see Serve.
type Repairer struct {
	Tool, Argument string // of the client: the name of its tool for commands, and of the argument
	Command        string // a line for a shell
	Answer         string // after the command
	First          *Turn  // before the command has run; nil: the usual answer, its call
	Then           *Turn  // after it
	Once           bool   // First and Then answer one request only
	Key            string // that requests must carry; one with it in its body is remembered

	mu    sync.Mutex
	asked int
	shown bool
	wrong []error
}

// Asked returns how many requests were answered, and whether one had the key in its body.
func (p *Repairer) Asked() (requests int, key bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, p.shown
}

// Wrong returns what was wrong with requests by the rules of their protocol.
func (p *Repairer) Wrong() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.wrong...)
}

// ServeHTTP answers one request.
func (p *Repairer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, mostRequest))
	if err != nil {
		return // the client went away
	}
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	p.mu.Lock()
	n := p.asked
	p.asked++
	p.shown = p.shown || p.Key != "" && bytes.Contains(body, []byte(p.Key))
	turn := p.turn(body)
	p.mu.Unlock()
	turn.Usage = Usage{Input: 100, Output: 20}
	one := &Server{Scenario: Scenario{Turns: []Turn{turn}}, Key: p.Key, from: n}
	defer one.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	one.ServeHTTP(w, r)
	p.mu.Lock()
	p.wrong = append(p.wrong, one.Wrong()...)
	p.mu.Unlock()
}

// turn returns the answer to a request. p.mu is held.
func (p *Repairer) turn(body []byte) Turn {
	odd := &p.First
	command := fmt.Sprintf("%s; echo %s", p.Command, Edited)
	args, _ := json.Marshal(map[string]string{p.Argument: command, "description": "runs a command"}) // strings
	usual := Turn{Calls: []Call{{Name: p.Tool, Args: args}}}
	switch {
	case !bytes.Contains(body, []byte(`"tools"`)):
		return Turn{Text: "A title"}
	case bytes.Contains(body, []byte(Edited)):
		odd, usual = &p.Then, Turn{Text: p.Answer}
	}
	if *odd == nil {
		return usual
	}
	turn := **odd
	if p.Once {
		*odd = nil
	}
	return turn
}

// Serve serves h at a loopback address until stop is called, which also ends the requests that are being answered.
func Serve(h http.Handler) (url string, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(l) }) // until Close
	return "http://" + l.Addr().String(), func() {
		_ = s.Close() // of connections that nobody needs any more
		served.Wait()
	}, nil
}
