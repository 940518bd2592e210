package review

import (
	"math"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/review/rules"
	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

var (
	// The words of a limit, by the direction in which it is wider.
	widerUp = lazily.Regexp(`(?i)time_?-?out|deadline|toleran|\beps\b|epsilon|\bdelta\b|\b[ar]tol\b|(?:_` +
		`|\b)(?:abs|rel)(?:_?tol)?\b|InDelta|InEpsilon|AlmostEqual|max-?_?warnings|retr(?:y|ies)|reruns|flak` +
		`|max_?-?(?:errors|failures|diff\w*|duration|ms|age|size|line|complexity)|budget|allowed|\.within\b` +
		`|WithTimeout|Eventually|time\.After|sleep|_NEAR\b|slow|\blimit\b|time\.(?:Milli|Micro|Nano)?second\b`)
	widerDown = lazily.Regexp(`(?i)fail_?-?under|coverage|\bmin(?:imum)?\b|\bmin[_-]|_min\b|\b(?:branches` +
		`|functions|lines|statements)["']?\s*:|toBeCloseTo|\bplaces\b|precision|\bdigits\b|threshold` +
		`|warn_?-?under|\bdecimal\b`)
	exactly = lazily.Regexp(`[\w)\]\s][!=]==?[\w(\s-]`)
	loosely = lazily.Regexp(`approx|isclose|[^-=<>][<>][^<>]`)
	amount  = lazily.Regexp(`(\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*\*?\s*(time\.(?:Nanosecond|Microsecond` +
		`|Millisecond|Second|Minute|Hour)\b|ms\b|s\b|m\b|h\b|%)?`)
)

// limits reports limits, timeouts and tolerances of checks that became wider: threshold_loosened.
func limits(e *edit) (found findings) {
	if !e.limiting() {
		return nil
	}
	for _, p := range e.pairs() {
		if e.threshold(p) == "wider" {
			found.add(e, rules.ThresholdLoosened, p.j, false, "was: %s", e.before.trimmed(p.i))
		}
	}
	return found
}

// threshold returns whether a pair moved a limit, "wider" or "tighter"; "" where it has none.
func (e *edit) threshold(p pair) string {
	was, is := e.before.plain(p.i), e.after.plain(p.j)
	code := e.after.code(p.j)
	if lang.IsCode(e.language) && e.language != "shell" && exactly().MatchString(code) &&
		!loosely().MatchString(code) {
		return "" // Retries != 3 asks for a value, and sets no limit
	}
	up, down := widerUp().MatchString(is), widerDown().MatchString(is)
	if up == down {
		if !up {
			up, down = e.around(p.j)
		}
		if up == down {
			return ""
		}
	}
	old, now := amounts(was), amounts(is)
	if len(old) == 0 || len(old) != len(now) {
		return ""
	}
	verdict := ""
	for k := range old {
		bigger := now[k] > old[k]
		if up && now[k] == 0 && strings.Contains(strings.ToLower(is), "timeout") {
			bigger = true // no timeout at all
		}
		switch {
		case old[k] == now[k]:
		case bigger == up:
			return "wider"
		default:
			verdict = "tighter"
		}
	}
	return verdict
}

// around searches for the words of a limit in the lines above, in a file of settings: "coverageThreshold": {
// "global": { "lines": 90 …
func (e *edit) around(j int) (up, down bool) {
	if lang.IsCode(e.language) && e.class != loadedFile {
		return false, false
	}
	in := indent(e.after.lines[j])
	for k := j - 1; k >= max(0, j-12) && in > 0; k-- {
		line := e.after.lines[k]
		if strings.TrimSpace(line) == "" || indent(line) >= in {
			continue
		}
		in = indent(line)
		if up, down = widerUp().MatchString(line), widerDown().MatchString(line); up != down {
			return up, down
		}
	}
	return false, false
}

// amounts returns the numbers of a line; times are in seconds.
func amounts(line string) []float64 {
	var list []float64
	for _, m := range amount().FindAllStringSubmatchIndex(line, -1) {
		if m[0] > 0 && lang.IsWord(line[m[0]-1]) {
			continue // x2
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(line[m[2]:m[3]], "_", ""), 64)
		if err != nil || math.IsInf(n, 0) {
			continue
		}
		if m[4] >= 0 {
			switch line[m[4]:m[5]] {
			case "time.Nanosecond":
				n /= 1e9
			case "time.Microsecond":
				n /= 1e6
			case "time.Millisecond", "ms":
				n /= 1e3
			case "time.Minute", "m":
				n *= 60
			case "time.Hour", "h":
				n *= 3600
			}
		}
		list = append(list, n)
	}
	return list
}
