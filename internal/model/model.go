// Package model sends one request to a model over HTTP and reads its answer. There is one type for conversations and
// one file for each wire protocol; each is read strictly. A stream that ends without its terminal event is an error,
// whatever came before. A tool call counts only when the protocol said that it is complete and its arguments are one
// JSON object. The package retries nothing: it reports what happened.
package model

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// A Model is one model behind one protocol. Several goroutines may use it at once.
type Model struct {
	Provider string // one of Providers
	Name     string
	BaseURL  string // empty: the provider's own; http:// only to a loopback address
	Key      string // goes into the provider's header and nowhere else: it is in no error and no event
	// HTTP is nil for a client of our own, which uses the proxy of this process's environment. Redirects and cookies are
	// off with any client, because the key must not go elsewhere.
	HTTP   *http.Client
	Limits Limits
}

// Limits bound one turn; a zero field means the protocol's default. Content is text, thinking, and any part of a
// call.
type Limits struct {
	// Connect is for the connection, for each piece of the request, and from its end to the head of the answer; with
	// Anthropic to the first byte of its body.
	Connect time.Duration
	Think   time.Duration // without a byte, before the first content: models think in silence
	Silent  time.Duration // without a byte, later
	Word    time.Duration // without content, whatever else is sent: a gateway may keep a dead stream alive for ever
	Line    int           // bytes of one line of the stream, and of the data of one event; default 32 MiB
	Total   int64         // bytes of the whole stream; default 256 MiB
}

// A Request is a conversation so far, and what may follow.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	MaxTokens int // of the answer; 0: 8192
	// Schema is the schema of the one JSON object that the answer must be; nil: the answer is free. Its objects
	// must have additionalProperties: false.
	Schema json.RawMessage
	Used   []string // IDs of calls that are no longer in Messages: a call of the answer gets another
}

// A Message is what one side said. Messages of the user have text and results, those of the assistant text, thinking
// and calls.
type Message struct {
	Role   Role
	Blocks []Block
}

// A Role tells who spoke.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Block is one part of a message: at most one of its fields is set, except that Raw and Provider may be set beside
// any of them, or alone (thinking that the provider does not show). Blocks of an Answer go back unchanged, in their
// order.
type Block struct {
	Text     string
	Thinking string  // what the model reasoned, where the provider shows it; goes back only with Raw
	Call     *Call   // of an assistant message
	Result   *Result // of a user message
	// goes back unchanged with the block (signatures, encrypted reasoning), to its Provider only
	Raw      json.RawMessage
	Provider string // whose Raw it is
}

// A Call asks for a tool. ID is unique in the conversation; if the protocol has none, one is made.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"` // one JSON object
}

// A Result answers a Call.
type Result struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	Failed bool   `json:"failed"`
}

// A Tool is what the model may call; Schema is a JSON schema of an object.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// An Event is passed on while the answer arrives, in order, from the goroutine that called Turn.
type Event struct {
	Kind EventKind
	Text string // the new piece of text or thinking; of CallArgs: of the arguments, not yet JSON
	Call Call   // of CallBegun, CallArgs (ID and Name), CallWhole (all of it)
	Stop Stop   // of Stopped
}

// An EventKind tells what arrived.
type EventKind string

// The kinds of events.
const (
	TextDelta     EventKind = "text"
	ThinkingDelta EventKind = "thinking"
	CallBegun     EventKind = "call_begun" // its name is known
	CallArgs      EventKind = "call_args"
	CallWhole     EventKind = "call_whole" // its arguments are complete; it may run once Stopped has ToolCalls
	Stopped       EventKind = "stopped"    // the model gave its stop reason; usage and the end of the stream follow
)

// A Stop tells why the model stopped.
type Stop string

// The reasons, in our words; Answer.Reason has the provider's.
const (
	EndTurn   Stop = "end_turn"
	ToolCalls Stop = "tool_calls"
	MaxTokens Stop = "max_tokens"
	Refused   Stop = "refused"  // content policy; where the provider words its refusal, that is the text
	Overflow  Stop = "overflow" // the window of the model is full
	Other     Stop = "other"
)

// An Answer is what arrived. With an error it has what was complete before the fault: text as far as it came,
// complete calls, and Broken, the calls that were begun and not finished. Without an error a call is in Blocks only
// if Stop is ToolCalls: a call that was cut (MaxTokens), or whose arguments are not a JSON object, is in Broken.
type Answer struct {
	Blocks []Block // in the order in which they began
	Broken []Call  // Args is what had come: not JSON, as a rule
	Stop   Stop    // empty: it was not said
	Reason string  // the provider's word for Stop
	Usage  Usage
	ID     string // of the answer, where there is one
	Model  string // as the provider names it
	// Progress reports whether any content arrived: text, thinking, or a part of a call.
	Progress bool
}

// Usage counts tokens; nil if the provider did not say. Input counts everything that was sent; Cached is the part of
// it that was read from a cache, Written the part that was put there.
type Usage struct {
	Input, Output, Cached, Written *int64
}

// An Error is how a turn failed. Test for it with errors.As.
type Error struct {
	Kind       failure.Kind
	Status     int           // of HTTP, or the one that the provider names inside the stream; 0: none
	Message    string        // the provider's own words, one line, at most 500 bytes, without the key
	RetryAfter time.Duration // exactly what the provider asks for, absurd or not; negative: it asks for nothing
	Retryable  bool          // the same request may succeed when it is sent again
	Err        error         // the cause, if there is one
}
