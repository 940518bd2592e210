package sandbox

// TryOverlay returns why an overlay cannot be had: it needs Linux.
func TryOverlay(string, ...string) error { return Why(View) }
