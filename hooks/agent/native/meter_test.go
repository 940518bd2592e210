package native

import (
	"errors"
	"math"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/failure"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// The input of an answer that was cut is charged: the cap of cost ends such requests.
func TestCutAnswersCost(t *testing.T) {
	t.Parallel()
	m := meter{model: "claude-sonnet-4-5", priceOf: model.Cost, maxUSD: 0.5, told: map[string]bool{}}
	cut := model.Answer{Usage: model.Usage{Input: new(int64(100_000))}}
	for range 2 {
		m.requests++
		m.add(cut, &model.Error{Kind: failure.StreamFailure}, func(string) {})
	}
	want, _ := model.Cost(m.model, model.Usage{Input: new(int64(200_000)), Output: new(int64)})
	if want == 0 || m.cost() != nil || m.costAtLeast() == nil || math.Abs(*m.costAtLeast()-want) > 1e-9 {
		t.Errorf("cost %v, at least %v; want %v", m.cost(), m.costAtLeast(), want)
	}
	if m.over() == "" {
		t.Error("the cap is not reached")
	}
	m.add(model.Answer{}, errors.New("refused"), func(string) {})
	if *m.costAtLeast() != want {
		t.Error("a request that was refused costs")
	}
}

// An answer may be as long as what is left of the caps pays for.
func TestAnswerIsAffordable(t *testing.T) {
	t.Parallel()
	price := func(_ string, u model.Usage) (float64, bool) {
		return float64(*u.Input+*u.Output*10) / 1e6, true
	}
	for _, tt := range []struct {
		name     string
		m        meter
		size     int64
		want     int
		unpriced bool
	}{
		{name: "no cap", size: 1000, want: answerTokens},
		{name: "much is left", m: meter{maxUSD: 1}, size: 1000, want: answerTokens},
		{name: "little is left", m: meter{maxUSD: 0.05, usd: 0.03}, size: 1000, want: 1900},
		{name: "tokens are less", m: meter{maxUSD: 0.05, usd: 0.03, maxTok: 2500}, size: 1000, want: 1500},
		{name: "nothing is left", m: meter{maxUSD: 0.05, usd: 0.0499}, size: 1000, want: leastAnswer},
		{name: "no price", m: meter{maxUSD: 0.05, usd: 0.03}, size: 1000, want: answerTokens, unpriced: true},
	} {
		tt.m.model, tt.m.priceOf = "some", price
		if tt.unpriced {
			tt.m.priceOf = nil
		}
		if got := tt.m.answer(tt.size); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
