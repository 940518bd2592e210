package testreport

import "github.com/async-pipeline/async-pipeline/internal/lazily"

// rspecRunner reads the list "Failed examples": "spec/a_spec.rb Calc adds". The format: RSpec 3's base text formatter.
type rspecRunner struct{ *failing }

var rspecFail = lazily.Regexp(`^rspec '?(?:\./)?([^\s':\[]+)(?::\d+|\[[\d:]+\])'? # (.+)$`)

func (t *rspecRunner) line(line string) bool {
	m := rspecFail().FindStringSubmatch(line)
	if m != nil {
		t.add(m[1] + " " + m[2])
	}
	return m != nil
}

var rspecCount = lazily.Regexp(`^(\d+) examples?, \d+ failures?(?:, (\d+) pending)?`)

func countRSpec(line string) int {
	if m := rspecCount().FindStringSubmatch(line); m != nil {
		return value(m[1]) - value(m[2])
	}
	return 0
}
