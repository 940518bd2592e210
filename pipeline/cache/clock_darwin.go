package cache

import "time"

// afterTick returns the time in ns since 1970, with which files are stamped here.
func afterTick() int64 { return time.Now().UnixNano() }
