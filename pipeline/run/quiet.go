package run

import "time"

// How long nothing must have happened before Observer.Quiet is called, at first and at most: each time twice as long.
const (
	quietFirst = time.Minute
	quietMost  = 10 * time.Minute
)

// tellQuiet calls Observer.Quiet when there was nothing else to tell for long, until end is called.
func (w *walker) tellQuiet() (end func()) {
	if w.r.Observer.Quiet == nil {
		return func() {}
	}
	after, told := quietFirst, time.Now() // told is when the observer was called last, Quiet or another
	var clock *time.Timer
	ended := false
	look := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if ended {
			return
		}
		if w.shown.After(told) {
			after, told = quietFirst, w.shown
		}
		if time.Since(told) >= after {
			if !w.silent {
				w.r.Observer.Quiet()
			}
			after, told = min(2*after, quietMost), time.Now()
		}
		clock.Reset(max(time.Until(told.Add(after)), time.Millisecond))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	clock = time.AfterFunc(after, look)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		ended = true
		clock.Stop()
	}
}
