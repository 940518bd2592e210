package review

// threshold_loosened: limits, timeouts and tolerances of checks.

import (
	"math"
	"strconv"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/late"
)

var (
	// The words of a limit, by the direction in which it is wider.
	widerUp   = late.Regexp(`(?i)time_?-?out|deadline|toleran|\beps\b|epsilon|\bdelta\b|\b[ar]tol\b|(?:_|\b)(?:abs|rel)(?:_?tol)?\b|InDelta|InEpsilon|AlmostEqual|max-?_?warnings|retr(?:y|ies)|reruns|flak|max_?-?(?:errors|failures|diff\w*|duration|ms|age|size|line|complexity)|budget|allowed|\.within\b|WithTimeout|Eventually|time\.After|sleep|_NEAR\b|slow|\blimit\b|time\.(?:Milli|Micro|Nano)?second\b`)
	widerDown = late.Regexp(`(?i)fail_?-?under|coverage|\bmin(?:imum)?\b|\bmin[_-]|_min\b|\b(?:branches|functions|lines|statements)["']?\s*:|toBeCloseTo|\bplaces\b|precision|\bdigits\b|threshold|warn_?-?under|\bdecimal\b`)
	exactly   = late.Regexp(`[\w)\]\s][!=]==?[\w(\s-]`)
	loosely   = late.Regexp(`approx|isclose|[^-=<>][<>][^<>]`)
	amount    = late.Regexp(`(\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*\*?\s*(time\.(?:Nanosecond|Microsecond|Millisecond|Second|Minute|Hour)\b|ms\b|s\b|m\b|h\b|%)?`)

	// relaxed are forms that only ever widen.
	relaxed = []pattern{
		pat(onText, false, "", `\bjest\.retryTimes\s*\(|\bthis\.retries\s*\(|["']?\bretry["']?\s*:\s*[1-9]|\b(?:test)?[rR]etries["']?\s*[:=]\s*[1-9]|--retries[= ]?[1-9]|--reruns[= ]?[1-9]|\brerun(?:s)?\s*=\s*[1-9]`, "etr", "rerun"),
		pat(onCode, false, "", `@(?:pytest\.mark\.)?(?:flaky|retry|rerun)\b|@(?:RetryingTest|Flaky|RepeatedIfExceptionsTest)\b`, "@"),
		pat(onCode, false, "", `\bjest\.setTimeout\s*\(\s*\d+|\bthis\.timeout\s*\(\s*\d+`, "imeout"),
		pat(onText, false, "", `--(?:max-warnings|fail-under|cov-fail-under|coverageThreshold)[= ]\S+|\bgo test\b.*\s-timeout[= ]?\S+|--test-?timeout[= ]\S+|--timeout[= ]\S+`, "--", "-timeout"),
		pat(onText, false, "", `--(?:no-fail-fast|passWithNoTests|forceExit|updateSnapshot|snapshot-update|ci=false|no-strict|exit-zero)\b|\bjest\b.*\s-u\b`, "--", "jest"),
	}
	// limiting are options whose removal lifts a limit.
	limiting = []pattern{
		pat(onText, false, "", `--max-warnings[= ]\S+|\bfail_under\b|--(?:cov-)?fail-under\b|\bcoverageThreshold\b|-Werror\b|--strict\b|(?:^|\s)-race\b|"strict"\s*:\s*true|--strict-\w+|--error-on-\w+|-fsanitize=\S+|--runInBand\b|\bDeprecationWarning\b|--filterwarnings|-W\s*error\b|-D\s*warnings\b`,
			"--", "fail_under", "coverageThreshold", "-W", "-race", "strict", "-fsanitize", "warnings", "Warning"),
	}
)

// judged says whether limits of the file are those of a check: not what a program itself waits for.
func (e *edit) judged() bool {
	switch e.class {
	case 3:
		return false
	case 0:
		return !lang.IsCode(e.language) && e.language != "" && e.language != "gomod" || lang.Tooling(e.path)
	}
	return true
}

func (r *report) limits(e *edit) {
	if !e.judged() {
		return
	}
	compared := map[int]bool{} // a line that took the place of one with a limit as well
	for _, p := range e.pairs() {
		compared[p.j] = true
		if e.threshold(p) == "wider" {
			r.add(e, ThresholdLoosened, p.j, false, "was: %s", strings.TrimSpace(e.before.lines[p.i]))
		}
	}
	if e.exists() && !e.isNew() {
		fresh := r.newCases(e)
		r.fresh(e, relaxed, false, func(j int, _ *pattern, match string) {
			if !compared[j] && !fresh(j) && strings.TrimSpace(e.after.plain(j)) != "" {
				r.add(e, ThresholdLoosened, j, false, "%s", match)
			}
		})
	}
	r.lifted(e)
}

// lifted looks for limits that are gone.
func (r *report) lifted(e *edit) {
	if !e.exists() {
		return
	}
	for k := range limiting {
		p := &limiting[k]
		now := map[string]int{}
		for _, j := range e.added {
			for _, m := range p.find(e.after, j) {
				now[limitName(m)]++
			}
		}
		for _, i := range e.removed {
			for _, m := range p.find(e.before, i) {
				if name := limitName(m); now[name] > 0 {
					now[name]--
				} else if strings.TrimSpace(e.before.plain(i)) != "" {
					r.add(e, ThresholdLoosened, e.at(i), false, "gone: %s", m)
				}
			}
		}
	}
}

// limitName is a limit without its value.
func limitName(m string) string {
	return strings.TrimSpace(m[:strings.IndexAny(m+"=", "= :")])
}

// threshold says of a pair whether it moved a limit: "wider", "tighter", or "" where it is none.
func (e *edit) threshold(p pair) string {
	was, is := e.before.plain(p.i), e.after.plain(p.j)
	if code := e.after.code(p.j); lang.IsCode(e.language) && e.language != "shell" && exactly().MatchString(code) && !loosely().MatchString(code) {
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

// around asks the lines above, in a file of settings: "coverageThreshold": { "global": { "lines": 90 …
func (e *edit) around(j int) (up, down bool) {
	if lang.IsCode(e.language) && e.class != 5 {
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

// amounts are the numbers of a line, times in seconds.
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
