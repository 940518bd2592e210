package sandbox

import "os"

// TryOverlay returns why an overlay cannot be had: it needs Linux.
func TryOverlay(string, ...string) error { return Why(View) }

// OpenCopy opens the top of b.Copy.
func (b Box) OpenCopy() (*os.Root, error) { return os.OpenRoot(b.Copy) }
