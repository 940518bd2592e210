package model

// How long a provider may be silent, and how much it may send.

import (
	"cmp"
	"time"
)

const (
	defaultWord  = 10 * time.Minute
	defaultLine  = 32 << 20
	defaultTotal = 256 << 20
)

// silences are the defaults, by protocol.
var silences = map[string]Limits{
	// It says at once that a message begins, shows what is thought, and sends pings while the model thinks or a long argument is written.
	Anthropic: {Connect: 30 * time.Second, Think: 2 * time.Minute, Silent: 2 * time.Minute, Word: 5 * time.Minute},
	// It shows nothing of what a model reasons, also between two items.
	OpenAI: {Connect: 2 * time.Minute, Think: defaultWord, Silent: defaultWord},
	// Before the first word a prompt is read, by a small machine perhaps, or a model reasons and shows none of it. Later a call may
	// come as a whole, when all of it is written: 8 KiB are some 2,400 tokens, and at ten a second they take four minutes.
	OpenAIChat: {Connect: 2 * time.Minute, Think: defaultWord, Silent: 4 * time.Minute},
	Gemini:     {Connect: 2 * time.Minute, Think: defaultWord, Silent: 4 * time.Minute},
}

func (l Limits) orDefault(provider string) Limits {
	usual := silences[provider]
	for _, d := range []struct {
		of    *time.Duration
		usual time.Duration
	}{{&l.Connect, usual.Connect}, {&l.Think, usual.Think}, {&l.Silent, usual.Silent}, {&l.Word, cmp.Or(usual.Word, defaultWord)}} {
		if *d.of <= 0 {
			*d.of = d.usual
		}
	}
	if l.Line <= 0 {
		l.Line = defaultLine
	}
	if l.Total <= 0 {
		l.Total = defaultTotal
	}
	return l
}

// Patience is how long a turn of m may go on between two events that it tells: its own limits have ended it then. Who watches it
// from outside must wait at least so long.
func (m *Model) Patience() time.Duration {
	l := m.Limits.orDefault(m.Provider)
	return l.Connect + l.Word
}

// left is what the provider may be silent from now on, when it was heard now and there was content, if there was any, since: whether
// there was, and how long ago.
func (l Limits) left(content bool, since time.Duration) time.Duration {
	most := l.Think
	if content {
		most = l.Silent
	}
	return max(0, min(most, l.Word-since))
}
