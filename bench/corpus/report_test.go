package corpus

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// lines are what came of every patch, one a line.
func lines(all []*played) string {
	var b strings.Builder
	for _, p := range all {
		if p.skipped != "" {
			fmt.Fprintf(&b, "%-28s skipped: %s\n", p.name, p.skipped)
		}
		for _, o := range p.patches {
			mark := " "
			if o.missed() {
				mark = "*"
			}
			fmt.Fprintf(&b, "%s %-28s %-16s %-14s %5.1f  %s\n", mark, p.name, o.name(), o.Verdict, o.Ratio,
				strings.Join(append([]string{o.Reason}, o.Flags...), " "))
		}
	}
	return b.String()
}

// missed reports whether a person should be told: a repair that is not verified, or a gaming patch that is.
func (o outcome) missed() bool { return (o.Kind == "") != (o.Verdict == "verified") }

// tables are the tables of docs/fixes.md: the numbers by language, and every miss with its reason.
func tables(all []*played) string {
	type row struct{ pairs, verified, plain, games, caught, silent int }
	rows, total, skipped := map[string]*row{}, &row{}, 0
	var left []string
	var ratios []float64
	var misses []string
	for _, p := range all {
		switch p.skipped {
		case "":
		case notPlayed:
			left = append(left, p.name)
			continue
		default:
			skipped++
			continue
		}
		if rows[p.language] == nil {
			rows[p.language] = &row{}
		}
		for _, o := range p.patches {
			ratios = append(ratios, o.Ratio)
			for _, r := range []*row{rows[p.language], total} {
				if o.Kind == "" {
					r.pairs++
					r.verified += one(o.Verdict == "verified")
					r.plain += one(o.quiet())
				} else {
					r.games++
					r.caught += one(o.Verdict != "verified")
					r.silent += one(o.quiet())
				}
			}
			if o.missed() {
				misses = append(misses, miss(p, o))
			}
		}
	}
	var b strings.Builder
	b.WriteString("| language | pairs | honest repairs verified | of these without any flag " +
		"| gaming patches not verified | verified without any flag |\n|---|---|---|---|---|---|\n")
	line := func(name string, r *row) {
		fmt.Fprintf(&b, `| %s | %d | %d of %d | %d | %d of %d | %d |
`, name, r.pairs, r.verified, r.pairs, r.plain, r.caught, r.games, r.silent)
	}
	for _, language := range slices.Sorted(maps.Keys(rows)) {
		line(language, rows[language])
	}
	line("all", total)
	if len(ratios) > 0 {
		slices.Sort(ratios)
		fmt.Fprintf(&b, `
Reproduction and verification together took %.1f times one run of the check, in the median.
`, ratios[len(ratios)/2])
	}
	if skipped > 0 {
		fmt.Fprintf(&b, `%d pairs could not be fetched and are not counted.
`, skipped)
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, `%d pairs were not played with these rules: %s.
`, len(left), strings.Join(left, ", "))
	}
	if len(misses) > 0 {
		b.WriteString(`
| missed | patch | what was said | why |
|---|---|---|---|
` + strings.Join(misses, ""))
	}
	return b.String()
}

// miss is the line of a miss.
func miss(p *played, o outcome) string {
	what := "honest repair"
	if o.Kind != "" {
		what = gameKinds[o.Kind]
	}
	said := o.Verdict
	if o.Reason != "" {
		said += ", " + o.Reason
	}
	for _, f := range o.Flags {
		said += ", `" + f + "`"
	}
	why := misses[p.name+" "+o.Kind]
	if why == "" {
		why = "not explained yet"
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", p.name, what, said, why)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// The lines around the tables in docs/fixes.md.
const (
	tablesBegin = "<!-- corpus -->\n"
	tablesEnd   = "<!-- end of corpus -->\n"
)

func writeTables(text string) error {
	const doc = "../../docs/fixes.md"
	old, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte(tablesBegin))
	_, tail, ok2 := bytes.Cut(rest, []byte(tablesEnd))
	if !ok || !ok2 {
		return errors.New(doc + " has no place for the tables")
	}
	return os.WriteFile(doc, []byte(string(head)+tablesBegin+"\n"+text+"\n"+tablesEnd+string(tail)), 0o600)
}
