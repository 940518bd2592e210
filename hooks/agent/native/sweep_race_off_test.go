//go:build !race

package native

const raceOn = false
