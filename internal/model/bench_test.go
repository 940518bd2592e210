package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What a turn costs beside the network: the request of a conversation of 500 rounds written, a short answer read. The
// promise is 5 ms at most.
func BenchmarkTurn(b *testing.B) {
	for _, provider := range []string{Anthropic, OpenAI, OpenAIChat, Gemini} {
		b.Run(provider, func(b *testing.B) {
			r := hello
			for i := range 500 {
				id := fmt.Sprintf("call_%d", i)
				r.Messages = append(r.Messages,
					Message{Role: Assistant, Blocks: []Block{
						{Text: "I read the file."},
						{Call: &Call{ID: id, Name: "read", Args: json.RawMessage(`{"path":"internal/model/turn.go"}`)}},
					}},
					Message{Role: User, Blocks: []Block{{Result: &Result{ID: id, Name: "read", Text: strings.Repeat("line of code\n", 40)}}}},
				)
			}
			m := talk(provider, func(q *http.Request) (*http.Response, error) {
				if _, err := io.Copy(io.Discard, q.Body); err != nil {
					return nil, err
				}
				return streamOf(text(recorded[provider])), nil
			})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Turn(context.Background(), r, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// How fast a long answer in small pieces is read.
func BenchmarkDecode(b *testing.B) {
	const piece = "some words of it "
	pieces := map[string][3]string{
		Anthropic: {
			named(`{"type":"message_start","message":{"id":"m"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
			named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + piece + `"}}`),
			named(`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`),
		},
		OpenAI: {
			named(`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`),
			named(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"` + piece + `"}`),
			named(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}`, `{"type":"response.completed","response":{}}`),
		},
		OpenAIChat: {"", plain(`{"id":"c","choices":[{"index":0,"delta":{"content":"` + piece + `"},"finish_reason":null}]}`), plain(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`)},
		Gemini:     {"", plain(`{"candidates":[{"content":{"role":"model","parts":[{"text":"` + piece + `"}]},"index":0}]}`), plain(`{"candidates":[{"finishReason":"STOP"}]}`)},
	}
	for provider, p := range pieces {
		b.Run(provider, func(b *testing.B) {
			stream := p[0] + strings.Repeat(p[1], 10_000) + p[2]
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				a, err := answering(provider, stream).Turn(context.Background(), hello, nil)
				if err != nil || len(a.Blocks) != 1 || len(a.Blocks[0].Text) != 10_000*len(piece) {
					b.Fatal(err)
				}
			}
		})
	}
}
