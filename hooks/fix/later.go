// What is newer than a proposal: a healing of the same task that came to nothing.

package fix

import (
	"strings"
)

// A Later is a healing that was done after the one that counts and made no proposal.
type Later struct {
	Name      string  `json:"name"` // of its files in fixes/
	State     string  `json:"state"`
	Reason    *string `json:"reason"`
	Kind      *string `json:"kind"`
	CreatedAt string  `json:"created_at"`
}

// after takes another healing of the same task and run as what came later, if it did. One that was held back because there is a
// proposal says nothing new.
func (p *Proposal) after(o *Proposal) {
	held := o.State == Skipped && o.Reason != nil && strings.HasPrefix(*o.Reason, "open_proposal")
	if p.State == Proposed && o.State != Proposed && !held {
		p.later(&Later{Name: o.Name, State: o.State, Reason: o.Reason, Kind: o.Kind, CreatedAt: o.CreatedAt})
	}
}

// later keeps the newest.
func (p *Proposal) later(l *Later) {
	if n := number(l.Name); n > number(p.Name) && (p.Later == nil || n > number(p.Later.Name)) {
		p.Later = l
	}
}
