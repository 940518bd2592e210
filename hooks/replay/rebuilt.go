package replay

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/agent/native"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// The patch of an agent of our own is also made again, from the calls in its transcript: that shows whether the two
// belong together.

// Rebuild makes the calls of attempt r.Attempt again in the copy of r, which holds the base. The error is
// native.ErrOthers where the attempt is not one of an agent of our own.
type Rebuild func(ctx context.Context, r agent.Request, transcript io.Reader) (native.Rebuilt, error)

// A Rebuilt compares the difference that the calls of an attempt make with the patch.
type Rebuilt struct {
	Result         string   `json:"result"`         // same|commands|unknown|different|none
	Why            *string  `json:"why"`            // of none: nothing was compared
	Attempt        int      `json:"attempt"`        // whose calls they are
	Calls          int      `json:"calls"`          // that were made again: write, edit, delete
	Commands       int      `json:"commands"`       // that were not: run, check, and calls whose end nobody knows
	FromCommands   []string `json:"from_commands"`  // files that are not as the calls leave them; commands can have changed them
	Unknown        []Detail `json:"unknown"`        // files of which the transcript does not hold every call
	Contradictions []Detail `json:"contradictions"` // why patch and transcript do not belong together
}

// A Detail is about one file, or, where Path is null, about the transcript.
type Detail struct {
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

// rebuild makes the calls of the proposed attempt again, and compares what they leave with the changes of the patch.
// It returns nil where the patch is not of an agent of our own.
func (v *replay) rebuild(
	ctx context.Context, base *scratch.Base, work string, changes []patch.Change,
) (_ *Rebuilt, err error) {
	p := v.Fix
	a := proposing(p.Attempts)
	if v.Rebuild == nil || a == nil {
		return nil, nil
	}
	rel := "fixes/" + p.Name + ".transcript.jsonl"
	if why := otherTranscript(p, rel); why != "" {
		if by := p.Provenance.Agent; by == nil || by.Provider == "" || by.Name != a.Agent {
			return nil, nil // nothing tells that it was an agent of our own
		}
		return empty(a).contradicted(nil, why).settled(), nil
	}
	if fix.DigestOf(p.Dir, rel) == nil {
		return nil, nil // made by a version that kept none
	}
	c, err := base.Copy(ctx, filepath.Join(work, "rebuilt"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	calls, err := v.calls(ctx, rel, agent.Request{
		Attempt: a.Number, Copy: filepath.Join(c.Dir, filepath.FromSlash(base.Sub)), Top: c.Dir, Dir: v.Config.Root,
		Secrets: v.Redact,
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

// ofAnswer drops the comparison where the hook asked for a diff in the answer: what the calls changed is not part of
// the patch then.
func (r *Rebuilt) ofAnswer(calls *native.Rebuilt) {
	if r.Result == rebuiltSame || len(calls.Wrong) > 0 {
		return
	}
	r.Result = rebuiltNone
	r.Why = new("its hook asked for a diff in the answer: that is the patch, not what the calls changed")
	r.FromCommands, r.Unknown, r.Contradictions = []string{}, []Detail{}, []Detail{}
}

// calls makes the calls in the transcript again; nil: they are not of an agent of our own.
func (v *replay) calls(ctx context.Context, rel string, r agent.Request) (_ *native.Rebuilt, err error) {
	f, err := os.OpenInRoot(v.Fix.Dir, rel)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	made, err := v.Rebuild(ctx, r, f)
	if errors.Is(err, native.ErrOthers) {
		return nil, nil
	}
	return &made, err
}

// proposing returns the attempt whose difference was proposed: the last of those with the best verdict. In older
// records, which have no verdict for each, it is the last that left a difference.
func proposing(attempts []fix.Attempt) (best *fix.Attempt) {
	for i := range attempts {
		a := &attempts[i]
		if (a.Rescue != nil || a.Verdict != nil) &&
			(best == nil || verify.Better(known(a.Verdict), known(best.Verdict))) {
			best = a
		}
	}
	return best
}

// otherTranscript returns why the file is not the transcript that the fix was sealed with; empty: it is, or the
// record names none.
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

func empty(a *fix.Attempt) *Rebuilt {
	return &Rebuilt{Attempt: a.Number, FromCommands: []string{}, Unknown: []Detail{}, Contradictions: []Detail{}}
}

func (r *Rebuilt) contradicted(path *string, detail string) *Rebuilt {
	r.Contradictions = append(r.Contradictions, Detail{path, detail})
	return r
}

// compare sorts the files that the calls leave otherwise than the patch.
func (r *Rebuilt) compare(calls *native.Rebuilt, made, proposed []patch.Change) {
	r.Calls, r.Commands = calls.Calls, calls.Commands
	for _, why := range calls.Wrong {
		r.contradicted(nil, why)
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
			r.Unknown = append(r.Unknown, Detail{new(path), why})
		case calls.Commands > 0 && !calls.Sure[path]:
			r.FromCommands = append(r.FromCommands, path)
		case here[path] == nil:
			r.contradicted(&path, "the patch changes it, and no call did")
		case there[path] == nil:
			r.contradicted(&path, "a call changed it, and the patch does not")
		default:
			r.contradicted(&path, "the calls leave it otherwise than the patch does")
		}
	}
	r.settled()
}

// settled sets the result from what was found, and returns r.
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
