package model

import (
	"encoding/json"
	"math"
)

// mostTokens is more than any request can use. A larger count is taken for this: it ends a budget, and must not switch it off.
const mostTokens = 1 << 40

// A tally is a count of tokens as a provider writes it. What is no count of anything (negative, a text, a fraction) ends no turn: it is
// unknown, and whoever holds a budget must not subtract it.
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

// known is a tally as a count; nil: it was not told, or is none.
func (t *tally) known() *int64 {
	if t == nil || *t < 0 {
		return nil
	}
	return new(int64(*t))
}
