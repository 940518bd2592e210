// Package clock adds minutes to times of the day.
package clock

// Add gives the time of the day, in minutes from midnight, that is d minutes after t; d may be negative.
func Add(t, d int) int {
	return (t + d) % (24 * 60)
}
