package run

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// Quiet is called when nothing else was told for a minute, later and later while that goes on, and never after the end.
func TestQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var told []time.Duration
		w := &walker{r: &Run{Observer: Observer{
			Output: func(*pipeline.Task, []byte) {},
			Quiet:  func() { told = append(told, time.Since(begun)) },
		}}}
		end := w.tellQuiet()
		time.Sleep(30 * time.Second)
		w.print(nil, []byte("one\n"))
		time.Sleep(30 * time.Second)
		w.print(nil, []byte(".")) // it is not on the screen
		time.Sleep(29*time.Minute + 30*time.Second)
		w.silence()
		time.Sleep(11 * time.Minute)
		end()
		time.Sleep(time.Hour)
		at := func(m time.Duration) time.Duration { return 30*time.Second + m*time.Minute }
		if want := []time.Duration{at(1), at(3), at(7), at(15), at(25)}; !slices.Equal(told, want) {
			t.Errorf("told at %v, want %v", told, want)
		}
	})
}
