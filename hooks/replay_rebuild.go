package hooks

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// A replay also makes the patch of an agent of our own again, from the calls in its transcript: whether the two belong together.

// Rebuild makes the calls of attempt r.Attempt again in the copy of r, which holds the base; the hall lends it. It gives nil where the
// attempt is not one of an agent of our own.
type Rebuild func(ctx context.Context, r agent.Request, transcript io.Reader) (*Calls, error)

// Calls are what came of it. Paths are below the top of the copy.
type Calls struct {
	Calls    int               // that were made again
	Commands int               // that were not, and may have changed any file
	Sure     map[string]bool   // files that no command can have changed after the calls did
	Open     map[string]string // files that cannot be known, and why
	Wrong    []string          // what cannot have been as the transcript says, in words
}

// A Rebuilt compares the difference that the calls of an attempt make with the patch.
type Rebuilt struct {
	Result         string          `json:"result"`         // same|commands|unknown|different|none
	Why            *string         `json:"why"`            // of none: nothing was compared
	Attempt        int             `json:"attempt"`        // whose calls they are
	Calls          int             `json:"calls"`          // that were made again: write, edit, delete
	Commands       int             `json:"commands"`       // that were not: run, check, and calls whose end nobody knows
	FromCommands   []string        `json:"from_commands"`  // files that are not as the calls leave them; commands can have changed them
	Unknown        []RebuiltDetail `json:"unknown"`        // files of which the transcript does not hold every call
	Contradictions []RebuiltDetail `json:"contradictions"` // why patch and transcript do not belong together
}

// A RebuiltDetail says something of one file; where Path is null, of the transcript.
type RebuiltDetail struct {
	Path   *string `json:"path"`
	Detail string  `json:"detail"`
}

// Results of a rebuilding.
const (
	rebuiltSame      = "same"
	rebuiltCommands  = "commands"
	rebuiltUnknown   = "unknown"
	rebuiltDifferent = "different"
	rebuiltNone      = "none"
)

// rebuild makes the calls of the attempt that p proposes again, and compares what they leave with changes, which are those of the
// patch. nil: it is not a patch of an agent of our own.
func (v *replay) rebuild(ctx context.Context, base *scratch.Base, work string, changes []patch.Change, again Rebuild) (_ *Rebuilt, err error) {
	p := v.proposal
	a := proposing(p.Attempts)
	if again == nil || a == nil {
		return nil, nil
	}
	rel := "fixes/" + p.Name + ".transcript.jsonl"
	if why := otherTranscript(p, rel); why != "" {
		if !ofModel(p, a) {
			return nil, nil
		}
		return empty(a).contradicted("", why).settled(), nil
	}
	if fix.DigestOf(p.Dir, rel) == nil {
		return nil, nil // made by a version that kept none
	}
	c, err := base.Copy(ctx, filepath.Join(work, "rebuilt"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	calls, err := readCalls(ctx, p, rel, again, agent.Request{
		Attempt: a.Number, Copy: filepath.Join(c.Dir, filepath.FromSlash(base.Sub)), Top: c.Dir, Dir: v.Config.Root, Secrets: v.Redact,
	})
	if err != nil || calls == nil {
		return nil, err
	}
	made, _, err := c.Changes(ctx)
	if err != nil {
		return nil, err
	}
	r := empty(a)
	r.compare(calls, made, changes)
	if policy := policyOf(p); policy != nil && known(policy.Output) == "diff" {
		r.ofAnswer(calls)
	}
	return r, nil
}

// ofAnswer takes back what was said of the files of a patch that is not the calls': where a hook asks for a diff in the answer, what
// the calls changed is no part of it.
func (r *Rebuilt) ofAnswer(calls *Calls) {
	if r.Result == rebuiltSame || len(calls.Wrong) > 0 {
		return
	}
	*r = Rebuilt{
		Result: rebuiltNone, Why: new("its hook asked for a diff in the answer: that is the patch, not what the calls changed"),
		Attempt: r.Attempt, Calls: r.Calls, Commands: r.Commands,
		FromCommands: []string{}, Unknown: []RebuiltDetail{}, Contradictions: []RebuiltDetail{},
	}
}

// readCalls makes the calls in the transcript of p again.
func readCalls(ctx context.Context, p *fix.Proposal, rel string, again Rebuild, r agent.Request) (_ *Calls, err error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	f, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return again(ctx, r, f)
}

// proposing is the attempt whose difference was proposed: the last of those with the best verdict. Of older records, which have no
// verdict for each, it is the last that left one.
func proposing(attempts []fix.Attempt) (best *fix.Attempt) {
	for i := range attempts {
		a := &attempts[i]
		if (a.Rescue != nil || a.Verdict != nil) && (best == nil || verify.Better(known(a.Verdict), known(best.Verdict))) {
			best = a
		}
	}
	return best
}

// otherTranscript says why the file is not the transcript that the fix was sealed with; empty: it is, or none is named.
func otherTranscript(p *fix.Proposal, rel string) string {
	if p.Provenance == nil || p.Provenance.Transcript == nil {
		return ""
	}
	switch sum := fix.DigestOf(p.Dir, rel); {
	case sum == nil:
		return "the transcript is gone or cannot be read: see fix audit"
	case *sum != p.Provenance.Transcript.Digest:
		return "the transcript is not the one that was sealed: see fix audit"
	}
	return ""
}

// ofModel says whether an attempt was an agent's of our own, as far as the provenance tells.
func ofModel(p *fix.Proposal, a *fix.Attempt) bool {
	by := p.Provenance.Agent
	return by != nil && by.Provider != "" && by.Name == a.Agent
}

func empty(a *fix.Attempt) *Rebuilt {
	return &Rebuilt{Attempt: a.Number, FromCommands: []string{}, Unknown: []RebuiltDetail{}, Contradictions: []RebuiltDetail{}}
}

func (r *Rebuilt) contradicted(path, detail string) *Rebuilt {
	r.Contradictions = append(r.Contradictions, RebuiltDetail{orNull(path), detail})
	return r
}

// compare sorts the files that the calls and the patch do not leave alike.
func (r *Rebuilt) compare(calls *Calls, made, proposed []patch.Change) {
	r.Calls, r.Commands = calls.Calls, calls.Commands
	for _, why := range calls.Wrong {
		r.contradicted("", why)
	}
	of := func(changes []patch.Change) map[string][]patch.Change {
		by := map[string][]patch.Change{}
		for _, c := range changes {
			by[c.Path] = append(by[c.Path], c)
		}
		return by
	}
	here, there := of(made), of(proposed)
	all := maps.Clone(here)
	maps.Copy(all, there)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		switch why := calls.Open[path]; {
		case patch.Same(here[path], there[path]):
		case why != "":
			r.Unknown = append(r.Unknown, RebuiltDetail{new(path), why})
		case calls.Commands > 0 && !calls.Sure[path]:
			r.FromCommands = append(r.FromCommands, path)
		case here[path] == nil:
			r.contradicted(path, "the patch changes it, and no call did")
		case there[path] == nil:
			r.contradicted(path, "a call changed it, and the patch does not")
		default:
			r.contradicted(path, "the calls leave it otherwise than the patch does")
		}
	}
	r.settled()
}

// settled gives the result.
func (r *Rebuilt) settled() *Rebuilt {
	switch {
	case len(r.Contradictions) > 0:
		r.Result = rebuiltDifferent
	case len(r.Unknown) > 0:
		r.Result = rebuiltUnknown
	case len(r.FromCommands) > 0:
		r.Result = rebuiltCommands
	default:
		r.Result = rebuiltSame
	}
	return r
}
