package native

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent/native/tools"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// benchTurn holds a conversation of n rounds, each with two reads of two kilobytes and an edit, with a model that
// answers at once.
func benchTurn(b *testing.B, n int) {
	b.Helper()
	d := newDesk(b)
	d.MaxTurns = n + 1
	d.Window = 1 << 30
	body := strings.Repeat("0123456789abcdef", 128)
	d.tools.do = func(_ context.Context, c model.Call) tools.Outcome {
		return tools.Outcome{Text: c.ID + body, Path: c.ID}
	}
	asked := 0
	d.Ask = func(ctx context.Context, _ model.Request, heard func(model.Event)) (model.Answer, error) {
		asked++
		st := step{text: finalText}
		if asked <= n {
			id := fmt.Sprint(asked)
			st = step{text: "I go on with part " + id, calls: []model.Call{
				call("a"+id, "read", `{"path":"`+id+`"}`), call("b"+id, "read", `{"path":"x`+id+`"}`), call("c"+id, "edit", `{"path":"`+id+`"}`),
			}}
		}
		return st.play(ctx, heard, nil)
	}
	d.req.Note, d.req.Pack = nil, nil
	turn := d.turn(context.Background())
	if turn.Kind != "" || *turn.Turns != n+1 {
		b.Fatalf("kind %q after %d turns", turn.Kind, *turn.Turns)
	}
}

// BenchmarkRound is what a round costs besides model and tools, early and late in a conversation; at most 5 ms.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{10, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchTurn(b, n)
			}
			each := b.Elapsed() / time.Duration(b.N*n)
			b.ReportMetric(float64(each)/float64(time.Millisecond), "ms/round")
			if each > 5*time.Millisecond {
				b.Errorf("a round of %d costs %s", n, each)
			}
		})
	}
}

// BenchmarkMemory is what a conversation of 500 rounds holds at its end; at most 30 MB.
func BenchmarkMemory(b *testing.B) {
	var most uint64
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d := newDesk(b)
		d.req.Note = nil
		l := newLoop(d.Agent, d.req, d.tools)
		l.begin()
		body := strings.Repeat("0123456789abcdef", 128)
		for i := range 500 {
			var calls []ended
			var blocks []model.Block
			for k := range 3 {
				c := call(fmt.Sprint(i, k), "read", `{"path":"a"}`)
				calls = append(calls, ended{call: c, result: model.Result{ID: c.ID, Text: c.ID + strings.Clone(body)}})
				blocks = append(blocks, model.Block{Call: &c})
			}
			l.messages = append(l.messages, turnOf(blocks, calls, false, "")...)
			l.guard.Round(l.seen(exchange{calls: calls}))
		}
		req := l.request()
		runtime.GC()
		runtime.ReadMemStats(&after)
		most = max(most, after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))
		runtime.KeepAlive(req)
		runtime.KeepAlive(l)
	}
	b.ReportMetric(float64(most)/(1<<20), "MB")
	if most > 30<<20 {
		b.Errorf("500 rounds hold %d bytes", most)
	}
}
