package judge

import "github.com/async-pipeline/async-pipeline/internal/patch"

// PutBack is changes with every check file, and the check parts of every manifest, as the tree that c was made of has
// them. What is left is what the second half of verification runs with.
func (c *Checks) PutBack(changes []patch.Change) []patch.Change {
	var rest []patch.Change
	for _, change := range changes {
		if class, _ := c.Class(change.Path); class == 0 {
			rest = append(rest, change)
		}
	}
	return rest
}
