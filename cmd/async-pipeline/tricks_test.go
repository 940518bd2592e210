// The two suites that say how far a verdict can be trusted: testdata/tricks are patches that make a check pass and
// repair nothing, testdata/honest are repairs. A file is a case; tricks_case_test.go has their form. The table of
// docs/fixes.md is what `ASYNC_PIPELINE_SWEEP=full go test -run TestTricks -v ./cmd/async-pipeline` prints.
package main

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A judged case, as the table counts it.
type judged struct {
	*suiteCase
	ran   bool // its programs are here
	good  bool // a trick is not verified; a repair is, or is suspect because the check itself was wrong
	named bool // a trick is named as its head says: by its flags, by what was omitted, by the reason
	quiet bool // a repair has no flag at all
}

// Each trick must end without `verified` and be named in the report; each honest repair must be verified. What
// cannot be seen is counted as well: such a trick is verified, and says `unseen: yes`.
func TestTricks(t *testing.T) {
	t.Parallel()
	var all []*judged
	for _, suite := range []string{"tricks", "honest"} {
		cases := readSuite(t, suite)
		seen := 0
		for _, c := range cases {
			if !c.unseen() {
				seen++
			}
		}
		if seen < 34 {
			t.Errorf("%s has %d cases, fewer than 34", suite, seen)
		}
		for _, c := range ofToday(t, cases) {
			all = append(all, &judged{suiteCase: c})
		}
	}
	t.Run("of", func(t *testing.T) {
		for _, j := range all {
			t.Run(j.suite+"/"+j.name, func(t *testing.T) {
				t.Parallel()
				j.judge(t)
			})
		}
	})
	table := ratesTable(all)
	for line := range strings.Lines(table) {
		t.Log(strings.TrimSuffix(line, "\n"))
	}
	whole := !t.Failed() && sweepFull() && !slices.ContainsFunc(all, func(j *judged) bool { return !j.ran })
	if whole && !strings.Contains(document(t, "docs/fixes.md"), table) {
		t.Error("docs/fixes.md has another table")
	}
}

// ofToday returns the cases that are played today: a case takes some four seconds of a processor, so 20 days play all
// of them. ASYNC_PIPELINE_SWEEP=full plays all, and so does a -run that names some; -short plays every 60th.
func ofToday(t *testing.T, cases []*suiteCase) []*suiteCase {
	switch {
	case testing.Short():
		return part(t, cases, 60)
	case sweepFull() || strings.Contains(flag.Lookup("test.run").Value.String(), "/"):
		return cases
	}
	var some []*suiteCase
	for i, c := range cases {
		if i%20 == time.Now().YearDay()%20 {
			some = append(some, c)
		}
	}
	t.Logf("%d of %d, other ones tomorrow", len(some), len(cases))
	return some
}

// judge runs a case and compares what is recorded with what its head wants.
func (j *judged) judge(t *testing.T) {
	c := j.suiteCase
	c.skipWithoutPrograms(t)
	f, printed := c.play(t)
	j.ran = true
	defer func() {
		if t.Failed() {
			t.Logf("%s\nthe record: %s\n%s", c.about, inShort(f), printed)
		}
	}()
	verdict := "none"
	if f.Verdict != nil {
		verdict = *f.Verdict
	}
	wanted := slices.Contains(c.want, verdict)
	if !wanted {
		t.Errorf("the verdict is %s, want %s", verdict, strings.Join(c.want, " or "))
	}
	wrong := c.compare(f)
	for _, w := range wrong {
		t.Error(w)
	}

	if c.suite == "honest" {
		if verdict == "suspect" && (f.Verification == nil || f.Verification.Reason == nil || *f.Verification.Reason != "check_changed") {
			t.Error("an honest repair is suspect for another reason than a changed check")
		}
		j.good, j.quiet = wanted, len(f.Flags) == 0
		return
	}
	j.good = verdict != "verified"
	j.named = len(wrong) == 0
	// A trick that would not have worked proves nothing.
	worked := false
	if f.Verification != nil && len(f.Verification.Proposed) > 0 {
		last := f.Verification.Proposed[len(f.Verification.Proposed)-1]
		worked = last.Passed || last.CorePassed
	}
	if !worked && len(c.head["said"]) == 0 {
		t.Error("the check did not pass with the patch as proposed, and no `said:` shows that it did for the agent")
	}
}

// ratesTable is the table of the README: both rates, by language. The unseen tricks are counted among the missed.
func ratesTable(all []*judged) string {
	type row struct{ seen, caught, named, tricks, missed, honest, verified, mistaken, suspect, quiet int }
	rows := map[string]*row{}
	total := &row{}
	left := 0
	for _, j := range all {
		if !j.ran {
			left++
			continue
		}
		if rows[j.language] == nil {
			rows[j.language] = &row{}
		}
		for _, r := range []*row{rows[j.language], total} {
			switch {
			case j.mistaken():
				r.mistaken++
				r.suspect += one(j.good)
			case j.suite == "honest":
				r.honest++
				r.verified += one(j.good)
				r.quiet += one(j.quiet)
			default:
				r.tricks++
				r.missed += one(!j.good)
				if !j.unseen() {
					r.seen++
					r.caught += one(j.good)
					r.named += one(j.good && j.named)
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString("| language | tricks not verified | and named as they should | missed of all tricks, unseen ones too | honest repairs verified | of these without any flag | wrong checks corrected: not refused |\n|---|---|---|---|---|---|---|\n")
	line := func(language string, r *row) {
		fmt.Fprintf(&b, "| %s | %d of %d | %d | %d of %d | %d of %d | %d | %d of %d |\n",
			language, r.caught, r.seen, r.named, r.missed, r.tricks, r.verified, r.honest, r.quiet, r.suspect, r.mistaken)
	}
	for _, language := range slices.Sorted(maps.Keys(rows)) {
		line(languages[language], rows[language])
	}
	line("all", total)
	if left > 0 {
		fmt.Fprintf(&b, "%d cases were not run: a program they need is not here, or the run was cut short\n", left)
	}
	return b.String()
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
