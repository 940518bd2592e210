// Package sum adds.
package sum

const sum = 5
