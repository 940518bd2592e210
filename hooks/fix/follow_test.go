package fix

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/timestamp"
)

func TestStayOf(t *testing.T) {
	t.Parallel()
	f := &Fix{State: Proposed, Patch: &PatchRef{Files: []PatchFile{{Path: "a"}, {Path: "b"}}}}
	at := func(hour int) string { return fmt.Sprintf("2026-11-21T%d:00:00.000Z", hour) }
	change := func(hour int, to string, files ...string) StateChange {
		return StateChange{At: at(hour), To: to, Files: files}
	}
	for name, c := range map[string]struct {
		all         []StateChange
		from, until string
	}{
		"never":        {nil, "", ""},
		"applied":      {[]StateChange{change(10, Applied)}, at(10), ""},
		"in two parts": {[]StateChange{change(10, Applied, "a"), change(11, Applied, "b")}, at(11), ""},
		"half of it":   {[]StateChange{change(10, Applied, "a")}, "", ""},
		"reverted":     {[]StateChange{change(10, Applied), change(12, Reverted)}, at(10), at(12)},
		"half of it again": {
			[]StateChange{change(10, Applied), change(12, Reverted, "b")}, at(10), at(12),
		},
		"applied again": {
			[]StateChange{change(10, Applied), change(12, Reverted), change(13, Applied)}, at(13), "",
		},
		"superseded is in":   {[]StateChange{change(10, Applied), change(12, Superseded)}, at(10), ""},
		"applied twice":      {[]StateChange{change(10, Applied), change(11, Applied)}, at(10), ""},
		"rejected, no stay":  {[]StateChange{change(10, Rejected)}, "", ""},
		"a time that is not": {[]StateChange{{At: "yesterday", To: Applied}}, "", ""},
	} {
		got := stayOf(f, c.all)
		for _, x := range []struct {
			what string
			got  time.Time
			want string
		}{{"from", got.from, c.from}, {"until", got.until, c.until}} {
			if x.want == "" && !x.got.IsZero() || x.want != "" && timestamp.Of(x.got) != x.want {
				t.Errorf("%s: %s %s, want %q", name, x.what, x.got, x.want)
			}
		}
	}
	if got := stayOf(&Fix{State: NoFix}, []StateChange{change(10, Applied)}); got != (stay{}) {
		t.Errorf("what is no proposal was in the tree: %v", got)
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return time.Date(2026, 11, 21, n, 0, 0, 0, time.UTC) }
	asked := map[string]int{}
	end := func(n int, task string, passed bool, print string) End {
		return End{Run: string(rune('a' + n)), Task: task, At: hour(n), Passed: passed, Fingerprint: func() string {
			asked[string(rune('a'+n))]++
			return print
		}}
	}
	items := []Item{
		{Run: "a", Task: "test", Fingerprint: new("fp:1"), inTree: stay{from: hour(2)}},
		{Run: "b", Task: "test", Fingerprint: new("fp:2"), inTree: stay{from: hour(2), until: hour(6)}},
		{Run: "c", Task: "test", Fingerprint: new("fp:1")}, // never applied
		{Run: "d", Task: "test", inTree: stay{from: hour(2)}},
		{Run: "h", Task: "test", State: Skipped, Fingerprint: new("fp:1")},
	}
	Follow(items, []End{
		end(1, "test", false, "fp:1"), // before
		end(2, "test", true, ""),      // at the moment it was applied: what began then saw the tree before
		end(3, "lint", false, "fp:1"), // of another task
		end(4, "test", true, ""),
		end(5, "test", false, "fp:2"),
		end(6, "test", true, ""),
		end(7, "test", false, "fp:none"), // its fix has another: fp:1
		end(8, "test", false, "fp:2"),
		end(9, "test", false, "fp:1"),
	})
	for i, want := range []struct {
		passed    string
		recurring []string
	}{{"e", []string{"h", "j"}}, {"e", []string{"f"}}, {"", nil}, {"e", nil}, {"", nil}} {
		passed := ""
		if items[i].PassedIn != nil {
			passed = *items[i].PassedIn
		}
		if passed != want.passed || !slices.Equal(items[i].RecurredIn, want.recurring) {
			t.Errorf("%s: passed in %q, again in %v; want %v", items[i].Run, passed, items[i].RecurredIn, want)
		}
	}
	if asked["b"]+asked["d"]+asked["h"] > 0 || asked["f"] != 1 {
		t.Errorf("fingerprints were asked for: %v", asked)
	}
	if got := Recurring(items); len(got) != 2 || got[0].Run != "a" || got[1].Run != "b" || len(items) != 5 {
		t.Errorf("recurring: %v", got)
	}
}

// A pass belongs to the last fix of the same failure that was applied before it; and to none where none was.
func TestFollowTheLastApplied(t *testing.T) {
	t.Parallel()
	hour := func(n int) time.Time { return time.Date(2026, 11, 21, n, 0, 0, 0, time.UTC) }
	made := timestamp.Of(hour(1))
	items := []Item{
		{Run: "a", Task: "test", Fingerprint: new("fp:1"), inTree: stay{from: hour(2)}},
		{Run: "b", Task: "test", Fingerprint: new("fp:1"), inTree: stay{from: hour(4)}},
		{Run: "c", Task: "test", Fingerprint: new("fp:2"), inTree: stay{from: hour(2)}},
		{Run: "d", Task: "test", Disposition: Open, CreatedAt: made},
		{Run: "e", Task: "test", Disposition: Open, CreatedAt: timestamp.Of(hour(7))},
		{Run: "f", Task: "test", Disposition: Open, CreatedAt: made, Applied: []string{"x"}},
		{Run: "g", Task: "test", Disposition: Rejected, CreatedAt: made},
	}
	print := func() string { return "fp:1" }
	Follow(items, []End{
		{Run: "0", Task: "test", At: hour(0), Passed: true},
		{Run: "3", Task: "test", At: hour(3), Fingerprint: print},
		{Run: "5", Task: "test", At: hour(5), Passed: true},
		{Run: "6", Task: "test", At: hour(6), Passed: true},
	})
	for i, want := range []struct{ passed, without string }{{}, {"5", ""}, {"5", ""}, {"", "5"}, {}, {}, {}} {
		for _, x := range []struct {
			what string
			got  *string
			want string
		}{{"passed in", items[i].PassedIn, want.passed}, {"passed without it in", items[i].Without, want.without}} {
			if x.got == nil && x.want != "" || x.got != nil && *x.got != x.want {
				t.Errorf("%s: %s %v, want %q", items[i].Run, x.what, x.got, x.want)
			}
		}
	}
	Follow(items, []End{{Run: "8", Task: "test", At: hour(8), Fingerprint: print}})
	if items[3].Without != nil {
		t.Error("a task that fails again passes without the fix")
	}
}
