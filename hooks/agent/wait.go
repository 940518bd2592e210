package agent

import "time"

// LongestWait is the longest wait that is believed, of a provider as of an agent. A longer one comes from a wrong
// clock or another unit, and is not waited for.
const LongestWait = 30 * 24 * time.Hour
