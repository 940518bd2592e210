package main

import (
	"runtime"
	"runtime/debug"
)

// leaveGarbage puts off the first collection of garbage: until 24 MB are held, where the Go runtime would begin at 4. Most
// commands end before that, and those that go on collect as usual from then on.
func leaveGarbage() {
	const percent = 600 // of the runtime's smallest heap, 4 MiB
	usual := debug.SetGCPercent(percent)
	if usual != 100 {
		debug.SetGCPercent(usual) // somebody has set GOGC
		return
	}
	first := new([16]byte)
	runtime.SetFinalizer(first, func(*[16]byte) { debug.SetGCPercent(usual) })
}
