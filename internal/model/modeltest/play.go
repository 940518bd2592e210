package modeltest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// play sends events, and does to them what the fault says.
func play(w http.ResponseWriter, r *http.Request, events []string, f Fault, gone <-chan struct{}) {
	switch f.Kind {
	case Garbage:
		events = insert(events, f.Events, "data: <!-- \xff\xfe this is no JSON\n\n")
	case Duplicate:
		if f.Events < len(events) {
			events = insert(events, f.Events, events[f.Events])
		}
	case Swap:
		if f.Events+1 < len(events) {
			events = slices.Clone(events)
			events[f.Events], events[f.Events+1] = events[f.Events+1], events[f.Events]
		}
	case LongLine:
		events = insert(events, f.Events, ": "+strings.Repeat("x", f.Bytes)+"\n")
	case GzipDamage:
		w.Header().Set("Content-Encoding", "gzip")
		// here and below: a client that is gone is no concern of ours
		_, _ = w.Write(damaged(strings.Join(events, "")))
		return
	}
	flush := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	_ = flush.Flush()
	whole := strings.Join(events, "")
	at := f.where(events)
	if f.Kind == Cut || f.Kind == End || f.Kind == Stall || f.Kind == HalfOpen {
		_, _ = io.WriteString(w, whole[:at])
		_ = flush.Flush()
	}
	switch f.Kind {
	case Cut:
		reset(w)
	case End:
	case Stall:
		wait(r, gone)
	case HalfOpen:
		if conn, _, err := flush.Hijack(); err == nil {
			<-gone
			_ = conn.Close()
		}
	case Drip:
		for i := range len(whole) {
			_, _ = io.WriteString(w, whole[i:i+1])
			_ = flush.Flush()
			if r.Context().Err() != nil {
				return
			}
			time.Sleep(time.Duration(f.MS) * time.Millisecond)
		}
	default:
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			_ = flush.Flush()
		}
	}
}

// where is the place of the fault in the whole stream, in bytes.
func (f Fault) where(events []string) int {
	whole := 0
	for i, e := range events {
		if i == f.Events && f.Bytes == 0 {
			return whole
		}
		whole += len(e)
	}
	if f.Bytes > 0 {
		return min(f.Bytes, whole)
	}
	return whole
}

func insert(events []string, at int, e string) []string {
	return slices.Insert(slices.Clone(events), min(at, len(events)), e)
}

// damaged compresses text and changes one byte in the middle of it.
func damaged(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text) // into memory
	_ = z.Close()
	packed := b.Bytes()
	packed[len(packed)/2] ^= 0xff
	return packed
}

// reset ends the connection as a broken network does.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: the stream is reset
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func wait(r *http.Request, gone <-chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-gone:
	}
}
