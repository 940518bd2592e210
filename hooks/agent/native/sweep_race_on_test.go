//go:build race

package native

const raceOn = true // a sweep under the detector takes ten times as long
