// Package model is one turn with a model over HTTP: one conversation type and four wire protocols, each read strictly. A
// stream that ends without its terminal event is an error, whatever came before; a tool call counts only when the protocol
// said that it is whole and its arguments are one JSON object. The package decides nothing about retries: it says what happened.
package model

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// A Model is one model behind one protocol. Several goroutines may ask it at once.
type Model struct {
	Provider string // one of Providers
	Name     string
	BaseURL  string       // empty: the provider's own; http:// only to a loopback address
	Key      string       // goes into the provider's header and nowhere else: no error, no event holds it
	HTTP     *http.Client // nil: one of our own, which knows no proxy. Redirects and cookies are off with any client: the key must not travel
	Limits   Limits
}

// Limits bound one turn; the zero value means the defaults (see limits.go). Content is text, thinking, and any part of a call.
type Limits struct {
	Connect time.Duration // from the call of Turn to the head of the answer; with Anthropic to the first byte of its body
	Think   time.Duration // without a byte, before the first content: models think in silence
	Silent  time.Duration // without a byte, later
	Word    time.Duration // without content, whatever else is sent: a provider may keep alive for ever what is dead behind it
	Line    int           // bytes of one line of the stream, and of the data of one event; default 32 MiB
	Total   int64         // bytes of the whole stream; default 256 MiB
}

// A Request is a conversation so far, and what may follow.
type Request struct {
	System    string
	Messages  []Message
	Tools     []Tool
	MaxTokens int             // of the answer; 0: 8192
	Schema    json.RawMessage // the answer must be one JSON object of this schema; nil: free. Its objects must say additionalProperties: false
	Used      []string        // IDs of calls that Messages holds no longer: a call of the answer gets another
}

// A Message is what one side said. User messages hold text and results, assistant messages text, thinking and calls.
type Message struct {
	Role   Role
	Blocks []Block
}

// A Role says who spoke.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Block is one part of a message: at most one of the fields is set, but for Raw and Provider, which stand beside any of
// them, or alone (thinking that the provider does not show). Blocks of an Answer go back as they are, in their order.
type Block struct {
	Text     string
	Thinking string          // what the model reasoned, where the provider shows it; goes back only with Raw
	Call     *Call           // of an assistant message
	Result   *Result         // of a user message
	Raw      json.RawMessage // what must be given back unchanged beside the block (signatures, encrypted reasoning); its Provider alone reads it
	Provider string          // whose Raw it is
}

// A Call asks for a tool. ID is unique in the conversation; where the protocol has none, one is made.
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

// An Event is told while the answer arrives, in order, from the goroutine that called Turn.
type Event struct {
	Kind EventKind
	Text string // of HeardText and HeardThinking: the new piece; of CallArgs: the new piece of its arguments, not yet JSON
	Call Call   // of CallBegun, CallArgs (ID and Name), CallWhole (all of it)
	Stop Stop   // of Stopped
}

// An EventKind says what was heard.
type EventKind string

// The kinds of events.
const (
	TextDelta     EventKind = "text"
	ThinkingDelta EventKind = "thinking"
	CallBegun     EventKind = "call_begun" // its name is known
	CallArgs      EventKind = "call_args"
	CallWhole     EventKind = "call_whole" // its arguments are one JSON object; it must not run before Stopped says ToolCalls
	Stopped       EventKind = "stopped"    // the model gave its stop reason; what follows is usage and the end of the stream
)

// A Stop says why the model stopped.
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

// An Answer is what arrived. Beside an error it holds what was whole before the fault: text as far as it came, whole calls, and
// Broken, the calls that were begun and not finished. Without an error a call stands in Blocks only when Stop is ToolCalls: what
// the model stopped in the middle of (MaxTokens), or whose arguments are no JSON object, is Broken.
type Answer struct {
	Blocks []Block // in the order in which they began
	Broken []Call  // Args is what had come: not JSON, as a rule
	Stop   Stop    // empty: it was not said
	Reason string  // the provider's word for Stop
	Usage  Usage
	ID     string // of the answer, where there is one
	Model  string // as the provider names it
	// Progress says that anything of content was heard: text, thinking, or a part of a call.
	Progress bool
}

// Usage are tokens; nil where the provider did not say. Input counts everything sent, Cached is the part of it that was read from
// a cache, Written the part that was put there.
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
	Err        error         // what lies below, if anything
}
