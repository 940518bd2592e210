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

// slowLimits are for protocols that show nothing while a small machine reads a prompt, or a model reasons. Later a
// call may come as a whole, once all of it is written: 8 KiB are some 2,400 tokens, and at ten a second they take
// four minutes.
var slowLimits = Limits{Connect: 2 * time.Minute, Think: defaultWord, Silent: 4 * time.Minute, Word: defaultWord}

func (l Limits) orDefault(provider string) Limits {
	w, _ := wireOf(provider)
	return Limits{
		Connect: cmp.Or(max(l.Connect, 0), w.limits.Connect),
		Think:   cmp.Or(max(l.Think, 0), w.limits.Think),
		Silent:  cmp.Or(max(l.Silent, 0), w.limits.Silent),
		Word:    cmp.Or(max(l.Word, 0), w.limits.Word),
		Line:    cmp.Or(max(l.Line, 0), defaultLine),
		Total:   cmp.Or(max(l.Total, 0), defaultTotal),
	}
}

// Patience returns the longest time between two events of a turn whose request is sent at once: after that its own
// limits have ended it. An idle limit outside must not be shorter.
func (m *Model) Patience() time.Duration {
	l := m.Limits.orDefault(m.Provider)
	return 2*l.Connect + l.Word // to connect, and to answer
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
