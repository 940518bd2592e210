package fix

import (
	"slices"
	"strings"
)

// A Reason is why a fix, or the verdict on its patch, is what it is. A record holds it as one string: what String
// returns. The zero Reason is none.
type Reason struct {
	Code  string // small letters and underscores; empty: there are only words
	Words string // for a person; may be empty
}

// OpenProposal is the code of a fix that was skipped because an earlier proposal for the same failure is still open.
const OpenProposal = "open_proposal"

// ParseReason returns the Reason of a text of a record.
func ParseReason(text string) Reason {
	code, words, _ := strings.Cut(text, ": ")
	if strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return Reason{Words: text}
	}
	return Reason{code, words}
}

// None reports whether r is no reason.
func (r Reason) None() bool { return r == Reason{} }

// String returns the text of a record.
func (r Reason) String() string {
	switch {
	case r.Code == "":
		return r.Words
	case r.Words == "":
		return r.Code
	}
	return r.Code + ": " + r.Words
}

// NextStep returns what a person can do about a fix that was interrupted, or about a change that was left by an agent
// that says there is nothing to fix; nil where State tells of neither.
func (f *Fix) NextStep() *string {
	rescued := slices.ContainsFunc(f.Attempts, func(a Attempt) bool { return a.Rescue != nil })
	switch {
	case f.State == NoFix && rescued:
		return new("the agent left a change all the same, which was not verified: look at the rescue patch, or run heal again")
	case f.State != Cancelled && f.State != Interrupted:
		return nil
	case rescued:
		return new("run heal again, or look at the rescue patch, which was not verified")
	}
	return new("run heal again")
}
