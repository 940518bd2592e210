//go:build !race

package agent

const raceFactor = 1
