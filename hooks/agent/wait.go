package agent

// What is believed when somebody asks to be left alone for a while.

import "time"

// LongestWait is the longest wait that is believed, of a provider as of an agent. Who asks for more has a wrong clock or another unit
// in mind: no time at which to go on is made of it.
const LongestWait = 30 * 24 * time.Hour
