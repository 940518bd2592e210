package redact

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

// chunk is 64 KiB of what builds print.
func chunk() []byte {
	var b strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; b.Len() < 64<<10; i++ {
		fmt.Fprintf(&b, "2026/11/21 02:40:%02d INFO step %d: compiled internal/%x in %d ms (cache hit)\n", i%60, i, r.Uint64(), r.IntN(900))
	}
	return []byte(b.String()[:64<<10])
}

// coloured is chunk with a colour at the beginning of each line, and at each number in it.
func coloured() []byte {
	number := regexp.MustCompile(`INFO|[0-9]+ ms`)
	return number.ReplaceAll(chunk(), []byte("\x1b[01;31m\x1b[K$0\x1b[m\x1b[K"))
}

// dumped is a dump of chunk.
func dumped() []byte {
	d := dumpers[1] // xxd
	d.width = 16
	return []byte(d.dump(chunk()))
}

// sink copies, as a pipe would have to: the limit of what a pump can do.
type sink struct{ buf [64 << 10]byte }

func (s *sink) Write(p []byte) (int, error) {
	copy(s.buf[:], p)
	return len(p), nil
}

// BenchmarkWriter gives, besides bytes a second, the time of a plain copy of the same bytes as "x-copy".
func BenchmarkWriter(b *testing.B) {
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 25)
	many := make([]string, 50)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range many {
		many[i] = fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())
	}
	one := []string{"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}
	for _, bb := range []struct {
		name    string
		secrets []string
		data    []byte
	}{
		{"none", nil, chunk()},
		{"one", one, chunk()},
		{"short", []string{"s3cr3t"}, chunk()},
		{"fifty", many, chunk()},
		{"key", []string{key, "s3cr3t-value"}, chunk()},
		{"coloured", one, coloured()},
		{"coloured-fifty", many, coloured()},
		{"dump", one, dumped()},
		{"dump-fifty", many, dumped()},
	} {
		b.Run(bb.name, func(b *testing.B) {
			data := bb.data
			s := setOf(bb.secrets...)
			var to sink
			start := time.Now()
			for range 2000 {
				_, _ = to.Write(data)
			}
			limit := time.Since(start) / 2000
			w := s.Writer(&to)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				_, _ = w.Write(data)
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(limit), "x-copy")
			_ = w.Close()
		})
	}
}

// BenchmarkCompile is what the first use after an Add costs.
func BenchmarkCompile(b *testing.B) {
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n", 25)
	for name, secrets := range map[string][]string{"one": {"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}, "key": {key}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, ok := setOf(secrets...).Find([]byte("nothing")); ok {
					b.Fatal("found")
				}
			}
		})
	}
}
