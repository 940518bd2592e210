package judge

// The gaming report: what a reviewer should look at in a patch. It reports; it accuses nobody.

import "github.com/async-pipeline/async-pipeline/internal/patch"

// A Finding is one line of the report.
type Finding struct {
	Rule   string
	Path   string // after the change; before it for a deletion
	Line   int    // from 1, in that file; 0 where none applies
	Detail string // for a person, one line
}

// Report says what to look at in changes, which start from the tree that c was made of: by path, then line, then rule.
func (c *Checks) Report(changes []patch.Change) []Finding {
	var found []Finding
	for _, change := range changes {
		class, rule := c.Class(change.Path)
		if class == 0 {
			continue
		}
		detail := "a check file: verification also ran with it as it was"
		if rule == ProtectedFile {
			detail = "named by protect, or PIPELINE.hcl: verification also ran with it as it was"
		}
		found = append(found, Finding{Rule: rule, Path: change.Path, Detail: detail})
	}
	return found
}
