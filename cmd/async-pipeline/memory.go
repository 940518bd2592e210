package main

import (
	"runtime"
	"runtime/debug"
)

// delayGC delays the first garbage collection until the heap has 24 MiB instead of the Go runtime's 4. Most commands end before;
// later collections are as usual.
func delayGC() {
	const percent = 600 // of the runtime's smallest heap, 4 MiB
	usual := debug.SetGCPercent(percent)
	if usual != 100 {
		debug.SetGCPercent(usual) // somebody has set GOGC
		return
	}
	first := new([16]byte)
	runtime.SetFinalizer(first, func(*[16]byte) { debug.SetGCPercent(usual) })
}
