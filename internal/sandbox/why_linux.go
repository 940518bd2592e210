package sandbox

// Why says why this machine does not give a tier; nil when it does. It tries anew.
func Why(t Tier) error {
	if t == None {
		return nil
	}
	return tryTier(t)
}
