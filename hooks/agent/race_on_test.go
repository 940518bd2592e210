//go:build race

package agent

const raceFactor = 10 // the detector slows memory down
