package files

import (
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// A file with a time in whole seconds may have been changed in all of that second. Any other time is exact.
func TestMayHaveChangedAfter(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	for _, c := range []struct {
		changed, at int64
		sure, may   bool
	}{
		{7 * second, 7*second - 1, true, true},
		{7 * second, 7*second + second/2, false, true},
		{7 * second, 9 * second, false, false},
		{8 * second, 9*second + second/2, false, true},
		{8 * second, 11 * second, false, false},
		{7*second + 4, 7*second + 3, true, true},
		{7*second + 4, 7*second + 4, false, false},
	} {
		v := View{files: []reapi.File{{Path: "f"}}, changed: []int64{c.changed}, latest: tree.Latest(c.changed)}
		if sure, may := v.ChangedAfter("f", c.at), v.MayHaveChangedAfter("f", c.at); sure != c.sure || may != c.may {
			t.Errorf("changed at %d, asked about %d: %v and %v, want %v and %v", c.changed, c.at, sure, may, c.sure, c.may)
		}
	}
}
