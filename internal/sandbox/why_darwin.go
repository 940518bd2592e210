package sandbox

import "fmt"

// Why returns why this machine does not give a tier; nil when it does.
func Why(t Tier) error {
	if t == None {
		return nil
	}
	return fmt.Errorf("%w: %s needs Linux", ErrTier, t)
}
