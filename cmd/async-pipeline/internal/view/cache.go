// What `cache verify` found.
package view

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
)

// CacheVerified shows what is damaged in the cache in dir, and how much is in it. remove is the
// command that removes what is damaged.
func (s *Screen) CacheVerified(dir string, v store.Verified, remove string) {
	var b strings.Builder
	left := false
	for _, d := range v.Damaged {
		what := "blob"
		if d.Result {
			what = "result"
		}
		text := "damaged " + what + ": " + d.Why
		switch {
		case d.Removed:
			text += "; removed"
		case d.Err != nil:
			text += "; not removed: " + d.Err.Error()
			left = true
		default:
			left = true
		}
		b.WriteString(s.hanging(s.paint(red, "✗")+" ", text) + "  " + s.Path(d.Path) + "\n") // a path is never broken
	}
	if len(v.Damaged) > 0 {
		b.WriteString("What is damaged is never used: a task that needs it runs again.\n")
	}
	if left {
		b.WriteString(s.next([]Next{{"remove what is damaged", remove}}))
	}
	b.WriteString(s.words(english.Count(v.Results, "result")+" and "+english.Count(v.Blobs, "blob")+
		" ("+english.Size(v.Bytes)+") in "+s.Path(dir)+": "+verdictOfCache(len(v.Damaged)), ""))
	s.put(b.String())
}

func verdictOfCache(damaged int) string {
	if damaged == 0 {
		return "all whole."
	}
	return english.Count(damaged, "file") + " damaged."
}
