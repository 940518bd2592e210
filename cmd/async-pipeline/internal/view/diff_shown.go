// A difference that is no proposal: what fmt would change.
package view

// Diff shows a patch in git's format.
func (s *Screen) Diff(patch []byte) { s.put(s.diff(patch)) }
