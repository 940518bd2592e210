package native

// Whatever bytes a provider sends, a turn ends in its time, nothing panics, what is sent back is legal, and only
// calls that were written down have changed a file.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model"
	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// Whichever messages a request holds, the provider's next calls get no ID that one of this turn had: the transcript
// names each call by it.
func TestIDsAreUsedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		half := call("2", "write", `{"path":"a`)
		d := newDesk(t, step{calls: []model.Call{call("1", "read", `{"path":"a"}`)}}, step{half: &half, err: lost()}, step{text: finalText})
		d.turn(context.Background())
		if asked := d.script.requests(); !slices.Equal(asked[2].Used, []string{"1", "2"}) || len(asked[0].Used) != 0 {
			t.Errorf("used are %v, %v", asked[0].Used, asked[2].Used)
		}
	})
}

const fuzzClock = 10 * time.Minute

// answerAll plays one session with a provider that gives every request the same bytes, and says what is wrong with
// what it left.
func answerAll(provider, dir, stream string) (*session, error) {
	s := &session{provider: provider, dir: dir, stage: &stage{}}
	said := modeltest.Turn{Body: stream, Type: "text/event-stream", Times: 1000}
	server := &modeltest.Server{Key: "k-123456", Scenario: modeltest.Scenario{Turns: []modeltest.Turn{said}}}
	ctx, cancel := context.WithTimeout(context.Background(), fuzzClock)
	defer cancel()
	start := time.Now()
	if err := s.play(ctx, inMemory, &http.Client{Transport: wire{server}}); err != nil {
		return s, err
	}
	if took := time.Since(start); took > fuzzClock+letGo {
		return s, fmt.Errorf("it took %v", took)
	}
	if wrong := server.Wrong(); len(wrong) > 0 {
		return s, fmt.Errorf("a request was refused: %w\n%s", wrong[0], server.Asked()[0])
	}
	if _, _, err := s.journal(); err != nil {
		return s, err
	}
	return s, s.accounted()
}

// accounted follows the transcript: the files are those of before, but where a call that changes files went well.
func (s *session) accounted() error {
	found, err := tree(s.dir)
	if err != nil {
		return err
	}
	changed := map[any]bool{}
	ran := 0
	for _, l := range s.lines {
		switch name := l.Data["name"]; {
		case l.Type == "tool_call" && name == "run":
			ran++
		case l.Type == "tool_result" && l.Data["failed"] == false && (name == "write" || name == "edit" || name == "delete"):
			changed[l.Data["path"]] = true
		}
	}
	for path, text := range found {
		if before, was := sweepBefore[path]; was && before == text || changed[path] {
			continue
		}
		if path != "witness" || strings.Count(text, "\n") > ran {
			return fmt.Errorf("%s is %q, and %d commands ran", path, text, ran)
		}
	}
	for path := range sweepBefore {
		if _, is := found[path]; !is && !changed[path] {
			return fmt.Errorf("%s is gone", path)
		}
	}
	return nil
}

// spoil changes a stream in a few places, as no network does: bytes flipped, pieces lost, twice, in another order, or
// of another stream.
func spoil(rng *rand.Rand, stream string, others []string) string {
	b := []byte(stream)
	for range 1 + rng.IntN(3) {
		if len(b) == 0 {
			break
		}
		from := rng.IntN(len(b))
		to := from + rng.IntN(min(len(b)-from, 200)+1)
		switch rng.IntN(6) {
		case 0:
			b[from] ^= 1 << rng.IntN(8)
		case 1:
			b = append(b[:from:from], b[to:]...)
		case 2:
			b = append(b[:to:to], b[from:]...)
		case 3:
			events := strings.SplitAfter(string(b), "\n\n")
			rng.Shuffle(len(events), func(i, j int) {
				if rng.IntN(4) == 0 {
					events[i], events[j] = events[j], events[i]
				}
			})
			b = []byte(strings.Join(events, ""))
		case 4:
			other := others[rng.IntN(len(others))]
			at := rng.IntN(len(other) + 1)
			b = append(b[:from:from], other[at:min(at+200, len(other))]+string(b[to:])...)
		case 5: // a value of another kind
			words := []string{"null", "0", "-1", "1e999", `""`, "[]", "{}", "true", `"\ud800"`, "99999999999"}
			if colon := strings.IndexByte(string(b[from:]), ':'); colon >= 0 {
				at := from + colon + 1
				end := at + strings.IndexAny(string(b[at:])+",", ",}")
				b = append(b[:at:at], words[rng.IntN(len(words))]+string(b[end:])...)
			}
		}
	}
	return string(b)
}

func TestSpoiltStreams(t *testing.T) {
	t.Parallel()
	rounds := 150
	switch {
	case sweepFull():
		rounds = 5000
	case testing.Short() || raceOn:
		rounds = 30
	}
	seed := sweepSeed(t)
	var others []string
	streams := map[string][]string{}
	for _, provider := range allProviders {
		streams[provider] = record(t, provider)
		others = append(others, streams[provider]...)
	}
	for i, provider := range allProviders {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				ends := map[string]int{}
				for range rounds {
					stream := spoil(rng, streams[provider][rng.IntN(len(sweepStory))], others)
					s, err := answerAll(provider, dir, stream)
					if err != nil {
						t.Fatalf("%v\nthe stream was %q\n%s", err, stream, s.show())
					}
					ends[string(s.turn.Kind)]++
				}
				t.Logf("%v", ends)
			})
		})
	}
}

// Fuzzing it asks for -fuzzminimizetime=5x: goroutines do not go the same way twice, and a fuzzer that insists on it
// stands still.
func FuzzStream(f *testing.F) {
	for i, provider := range allProviders {
		for _, stream := range record(f, provider) {
			f.Add(byte(i), stream)
		}
	}
	f.Add(byte(0), "data: {}\n\n")
	f.Fuzz(func(t *testing.T, provider byte, stream string) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			if s, err := answerAll(allProviders[int(provider)%len(allProviders)], dir, stream); err != nil {
				t.Fatalf("%v\n%s", err, s.show())
			}
		})
	})
}
