package native

// The same session cut at places that are drawn, on real connections: the kernel decides what of a reset stream still
// arrives.

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// sweepSeed is new each time; ASYNC_PIPELINE_SWEEP_SEED asks for the draws of an earlier sweep.
func sweepSeed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("ASYNC_PIPELINE_SWEEP_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("ASYNC_PIPELINE_SWEEP_SEED=%d", seed)
	return seed
}

func TestSweepSockets(t *testing.T) {
	t.Parallel()
	draws := 20
	if sweepFull() {
		draws = 200
	}
	rng := rand.New(rand.NewPCG(sweepSeed(t), 1))
	streams := map[string][]string{}
	for _, p := range allProviders {
		streams[p] = record(t, p)
	}
	next := make(chan func())
	var hands sync.WaitGroup
	for range 10 { // most of a session is the second before it goes on
		hands.Go(func() {
			for do := range next {
				do()
			}
		})
	}
	for range draws {
		provider := allProviders[rng.IntN(len(allProviders))]
		turn := rng.IntN(len(sweepStory))
		f := modeltest.Fault{Kind: []string{modeltest.Cut, modeltest.End}[rng.IntN(2)], Bytes: rng.IntN(len(streams[provider][turn]) + 1)}
		dir := t.TempDir()
		next <- func() {
			s := &session{provider: provider, stage: &stage{faults: map[int][]modeltest.Fault{turn: {f}}}, dir: dir}
			web := httptest.NewServer(s.stage)
			defer web.Close()
			defer s.stage.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			transport := &http.Transport{DisableCompression: true}
			defer transport.CloseIdleConnections()
			err := s.play(ctx, web.URL, &http.Client{Transport: transport})
			if err == nil {
				err = s.wrong()
			}
			if n := count(s.stage.served, turn); err != nil || n > 2 || len(s.stage.served) != len(sweepStory)+n-1 {
				t.Errorf("%s, turn %d cut (%s) behind byte %d: %v\n%s", provider, turn+1, f.Kind, f.Bytes, err, s.show())
			}
		}
	}
	close(next)
	hands.Wait()
}
