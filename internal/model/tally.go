package model

import (
	"encoding/json"
	"math"
)

// mostTokens is more than any request can use. A larger count is taken as this: it must end a budget, and not switch
// it off.
const mostTokens = 1 << 40

// A tally is a count of tokens as a provider writes it. What is not a count (negative, a text, a fraction) does not
// fail a turn: it is unknown, and must not be subtracted from a budget.
type tally int64

const noTally tally = -1

func (t *tally) UnmarshalJSON(text []byte) error {
	var n float64
	*t = noTally
	if json.Unmarshal(text, &n) == nil && n >= 0 && n == math.Trunc(n) {
		*t = tally(min(n, mostTokens))
	}
	return nil
}

// known returns a tally as a count; nil if it is missing or not a count.
func (t *tally) known() *int64 {
	if t == nil || *t < 0 {
		return nil
	}
	return new(int64(*t))
}
