package model

// What models cost and how much they take, where that is published. A model that is not in the table is unpriced,
// never free.
//
// Sources, as of 2026-10-24: for Claude "Pricing" and the model overviews of the Claude Developer Platform; for GPT
// the model pages of OpenAI's API documentation and "Pricing"; for Gemini "Gemini Developer API pricing", standard
// tier, text. The figures of the latter two were read in the tables of models.dev and llm-prices, which cite those
// pages. Introductory prices are left out: their models are unpriced.

import (
	"cmp"
	"strings"
)

// A price is USD per million tokens.
type price struct {
	input   float64 // neither read from a cache nor written to one
	cached  float64
	written float64 // 0: writing costs what input costs
	output  float64
}

// A listing is what is published of one model.
type listing struct {
	window int64 // tokens, input and output together
	price  price
	above  int64 // tokens of input beyond which all of the request costs long; 0: there is no such
	long   price
}

const (
	million  = 1_000_000
	geminiIn = 1_048_576
)

// listings are by the name of the model without its date.
var listings = map[string]listing{
	"claude-fable-5-1":  {window: million, price: price{10, .25, 12.50, 50}},
	"claude-fable-5":    {window: million, price: price{10, 1, 12.50, 50}},
	"claude-opus-5-5":   {window: million, price: price{4, .20, 5, 20}},
	"claude-opus-5":     {window: million, price: price{5, .50, 6.25, 25}},
	"claude-opus-4-8":   {window: million, price: price{5, .50, 6.25, 25}},
	"claude-opus-4-7":   {window: million, price: price{5, .50, 6.25, 25}},
	"claude-opus-4-6":   {window: million, price: price{5, .50, 6.25, 25}},
	"claude-opus-4-5":   {window: 200_000, price: price{5, .50, 6.25, 25}},
	"claude-sonnet-5-5": {window: million, price: price{2, .10, 2.50, 10}},
	"claude-sonnet-5":   {window: million, price: price{2, .20, 2.50, 10}},
	"claude-sonnet-4-6": {window: million, price: price{3, .30, 3.75, 15}},
	"claude-sonnet-4-5": {window: 200_000, price: price{3, .30, 3.75, 15}},
	"claude-haiku-5-5": {
		window: million, price: price{.10, .01, .125, .50},
		above: 100_000, long: price{.50, .05, .625, 2.50},
	},
	"claude-haiku-4-5": {window: 200_000, price: price{1, .10, 1.25, 5}},

	"gpt-5.6": {
		window: 1_050_000, price: price{2, .20, 2.50, 10},
		above: 272_000, long: price{4, .40, 5, 15},
	},
	"gpt-5.6-sol": {
		window: 1_050_000, price: price{2, .20, 2.50, 10},
		above: 272_000, long: price{4, .40, 5, 15},
	},
	"gpt-5.5": {
		window: 1_050_000, price: price{input: 5, cached: .50, output: 30},
		above: 272_000, long: price{input: 10, cached: 1, output: 45},
	},
	"gpt-5.4": {
		window: 1_050_000, price: price{input: 2.50, cached: .25, output: 15},
		above: 272_000, long: price{input: 5, cached: .50, output: 22.50},
	},
	"gpt-5.3-codex": {window: 400_000, price: price{input: 1.75, cached: .175, output: 14}},
	"gpt-5.2":       {window: 400_000, price: price{input: 1.75, cached: .175, output: 14}},
	"gpt-5.1":       {window: 400_000, price: price{input: 1.25, cached: .125, output: 10}},
	"gpt-5.1-codex": {window: 400_000, price: price{input: 1.25, cached: .125, output: 10}},
	"gpt-5":         {window: 400_000, price: price{input: 1.25, cached: .125, output: 10}},
	"gpt-5-mini":    {window: 400_000, price: price{input: .25, cached: .025, output: 2}},
	"gpt-5-nano":    {window: 400_000, price: price{input: .05, cached: .005, output: .40}},

	"gemini-3.5-flash": {window: geminiIn, price: price{input: 1.50, cached: .15, output: 9}},
	"gemini-3.1-pro-preview": {
		window: geminiIn, price: price{input: 2, cached: .20, output: 12},
		above: 200_000, long: price{input: 4, cached: .40, output: 18},
	},
	"gemini-2.5-pro": {
		window: geminiIn, price: price{input: 1.25, cached: .125, output: 10},
		above: 200_000, long: price{input: 2.50, cached: .25, output: 15},
	},
	"gemini-2.5-flash":      {window: geminiIn, price: price{input: .30, cached: .03, output: 2.50}},
	"gemini-2.5-flash-lite": {window: geminiIn, price: price{input: .10, cached: .01, output: .40}},
}

// Cost returns what a turn cost in USD. It is false if the model is not listed, or the provider did not count the
// tokens. A provider that reports no cache is assumed to have used none.
func Cost(model string, u Usage) (float64, bool) {
	l, ok := list(model)
	if !ok || u.Input == nil || u.Output == nil {
		return 0, false
	}
	p := l.price
	if l.above > 0 && *u.Input > l.above {
		p = l.long
	}
	p.written = cmp.Or(p.written, p.input)
	cached, written := deref(u.Cached), deref(u.Written)
	fresh := *u.Input - cached - written
	if fresh < 0 || cached < 0 || written < 0 || *u.Output < 0 {
		return 0, false // counts that contradict each other
	}
	return (float64(fresh)*p.input + float64(cached)*p.cached + float64(written)*p.written +
		float64(*u.Output)*p.output) / million, true
}

// Window returns how many tokens a model accepts, input and output together; 0 if unknown.
func Window(model string) int64 {
	l, _ := list(model)
	return l.window
}

// list finds a model by its name, which may end with a date or "latest" or "001". A longer name with another end is
// another model, of another price.
func list(name string) (listing, bool) {
	name = strings.TrimPrefix(name, "models/")
	if l, ok := listings[name]; ok {
		return l, true
	}
	for i := len(name) - 1; i > 0; i-- {
		if name[i] != '-' || !dated(name[i+1:]) {
			continue
		}
		if l, ok := listings[name[:i]]; ok {
			return l, true
		}
	}
	return listing{}, false
}

// dated reports whether the end of a name is 20250929, 2025-09-29, 001 or latest.
func dated(end string) bool {
	if end == "latest" || end == "001" {
		return true
	}
	digits := 0
	for i := range len(end) {
		switch {
		case digit(end[i]):
			digits++
		case end[i] != '-':
			return false
		}
	}
	return digits == 8 && strings.HasPrefix(end, "20")
}
