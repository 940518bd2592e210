package model

import (
	"math"
	"testing"
)

func TestCost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model string
		u     Usage
		want  float64 // negative: unknown
	}{
		{"claude-haiku-4-5", Usage{Input: n(1000), Output: n(100)}, .0015},
		{"claude-haiku-4-5-20251001", Usage{Input: n(1000), Output: n(100)}, .0015},
		{"claude-haiku-4-5", Usage{Input: n(1000), Output: n(100), Cached: n(900), Written: n(50)}, (50*1 + 900*.10 + 50*1.25 + 100*5) / 1e6},
		{"gpt-5.5-2026-04-23", Usage{Input: n(1000), Output: n(100), Cached: n(400)}, (600*5 + 400*.50 + 100*30) / 1e6},
		{"gpt-5.5", Usage{Input: n(272_000), Output: n(0)}, 1.36},
		{"gpt-5.5", Usage{Input: n(300_000), Output: n(1000)}, (300_000*10 + 1000*45) / 1e6},
		{"gpt-5.5", Usage{Input: n(1000), Output: n(0), Written: n(1000)}, .005}, // writing costs what input costs
		{"models/gemini-2.5-pro", Usage{Input: n(1000), Output: n(100)}, (1000*1.25 + 100*10) / 1e6},
		{"gpt-5", Usage{Input: n(0), Output: n(0)}, 0},

		{"gpt-5.5-pro", Usage{Input: n(1), Output: n(1)}, -1},
		{"gpt-5.9", Usage{Input: n(1), Output: n(1)}, -1},
		{"claude-opus-5-6", Usage{Input: n(1), Output: n(1)}, -1},
		{"mine", Usage{Input: n(1), Output: n(1)}, -1},
		{"", Usage{Input: n(1), Output: n(1)}, -1},
		{"gpt-5", Usage{}, -1},
		{"gpt-5", Usage{Input: n(1)}, -1},
		{"gpt-5", Usage{Output: n(1)}, -1},
		{"gpt-5", Usage{Input: n(1), Output: n(1), Cached: n(2)}, -1},
		{"gpt-5", Usage{Input: n(1), Output: n(-1)}, -1},
	} {
		usd, known := Cost(c.model, c.u)
		if known != (c.want >= 0) || known && math.Abs(usd-c.want) > 1e-12 || !known && usd != 0 {
			t.Errorf("%s: %v, %v; want %v", c.model, usd, known, c.want)
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]int64{
		"claude-sonnet-4-5-20250929": 200_000, "claude-opus-5-5": 1_000_000, "gemini-2.5-flash-001": 1_048_576, "gpt-5-mini-2025-08-07": 400_000,
		"gpt-5-mini-2025-08-07-x": 0, "mine": 0, "": 0,
	} {
		if got := Window(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
	for name, l := range listings {
		p := l.price
		if l.window < 100_000 || p.input <= 0 || p.output <= p.input || p.cached <= 0 || p.cached >= p.input || p.written != 0 && p.written <= p.input {
			t.Errorf("%s: %+v", name, l)
		}
		if (l.above > 0) != (l.long.input > p.input && l.long.output > p.output) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
