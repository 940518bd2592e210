package model

// How long a provider may be silent, and how much it may send.

import "time"

const (
	defaultWord  = 10 * time.Minute
	defaultLine  = 32 << 20
	defaultTotal = 256 << 20
)

// slowLimits are for protocols that show nothing while a small machine reads a prompt, or a model reasons. Later a
// call may come as a whole, once all of it is written: 8 KiB are some 2,400 tokens, and at ten a second they take
// four minutes.
var slowLimits = Limits{Connect: 2 * time.Minute, Think: defaultWord, Silent: 4 * time.Minute, Word: defaultWord}

func (l Limits) orDefault(provider string) Limits {
	w, _ := wireOf(provider)
	usual := w.limits
	for _, d := range []struct {
		of    *time.Duration
		usual time.Duration
	}{{&l.Connect, usual.Connect}, {&l.Think, usual.Think}, {&l.Silent, usual.Silent}, {&l.Word, usual.Word}} {
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

// Patience returns the longest time between two events of a turn: after that its own limits have ended it. An idle
// limit outside must not be shorter.
func (m *Model) Patience() time.Duration {
	l := m.Limits.orDefault(m.Provider)
	return l.Connect + l.Word
}

// left returns how long the provider may be silent from now on. content reports whether there was content, since how
// long ago.
func (l Limits) left(content bool, since time.Duration) time.Duration {
	most := l.Think
	if content {
		most = l.Silent
	}
	return max(0, min(most, l.Word-since))
}
