package review

import (
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
)

// ownSuppressions reports new comments that have a mark of the project's own checker in them, which lets what is marked
// pass: suppression_added.
func ownSuppressions(e *edit) (found findings) {
	if e.restored || !e.exists() {
		return nil
	}
	for _, j := range e.fresh {
		note := e.after.notes(j)
		if strings.TrimSpace(note) == "" {
			continue
		}
		had := func(mark string) bool {
			return slices.ContainsFunc(e.removed, func(i int) bool { return strings.Contains(e.before.notes(i), mark) })
		}
		for _, mark := range e.of.marks() {
			if strings.Contains(note, mark) && !had(mark) {
				found.add(e, rules.SuppressionAdded, j, false, "a script of the check lets pass what has %q: %s", mark, e.after.trimmed(j))
				break
			}
		}
	}
	return found
}
