package hooks

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/hooks/verify"
	"github.com/async-pipeline/async-pipeline/internal/tree"
)

// record writes the record of a fix from what was learned, and stores the proposal. It is the one place that knows
// the form of the record; the draft adds what only it knows.
func (j *job) record(r result) *fix.Fix {
	limit := fix.Amounts{Attempts: &j.hook.Budget.Attempts, WallClockMS: new(j.hook.Budget.WallClock.Milliseconds())}
	if j.hook.Budget.Tokens > 0 {
		limit.Tokens = &j.hook.Budget.Tokens
	}
	if j.hook.Budget.CostUSD > 0 {
		limit.CostUSD = &j.hook.Budget.CostUSD
	}
	if r.used.Attempts == nil { // the wall clock did not start
		r.used = fix.Amounts{Attempts: new(0), WallClockMS: new(int64(0))}
	}
	if r.state == "" {
		r.state, r.reason = fix.Failed, "no attempt changed anything"
	}
	f := &fix.Fix{
		CreatedAt: j.created, Fingerprint: &j.print, Provenance: j.provenance(r),
		State: r.state, Reason: fix.OrNull(j.Redact.String(r.reason)), ResumeAt: r.resumeAt,
		Tree: r.tree, Copies: r.copies, Omitted: r.omitted, Reproduction: r.reproduction, Attempts: r.rows,
		Opinion: r.opinion, Control: fix.OrNull(r.control), AgentSaid: r.said, Budget: &fix.Budget{Limit: limit, Used: r.used},
	}
	if r.kind != "" {
		advice := r.kind.Advice(len(j.hook.Fallback) > 0)
		if r.unasked {
			advice += ", or raise wall_clock so that there is time for the next agent"
		}
		f.Kind, f.Advice = new(string(r.kind)), fix.OrNull(strings.TrimPrefix(advice, ", or "))
	}
	if r.best != nil {
		if why := j.propose(f, r.best); why != "" {
			f.State, f.Reason = fix.Failed, fix.OrNull(j.Redact.String(why))
		} else if r.best.Verdict != verify.Unverified {
			f.Advice = nil // how the agent ended no longer matters
		}
	}
	if f.Advice == nil {
		f.Advice = f.NextStep()
	}
	f.Omitted = onceEach(f.Omitted)
	f.Note = j.log.Notes()
	return f
}

// onceEach returns a list without what it has more than once: a base and several attempts leave out the same files. A
// folder that a base leaves out has no slash at its end, and one in which an agent made something has.
func onceEach(list []tree.Omitted) (once []tree.Omitted) {
	seen := map[tree.Omitted]bool{}
	for _, o := range list {
		plain := tree.Omitted{Path: strings.TrimSuffix(o.Path, "/"), Why: o.Why}
		if !seen[plain] {
			seen[plain] = true
			once = append(once, o)
		}
	}
	return once
}

// propose stores the proposal and adds it to the record. It tells why that cannot be done.
func (j *job) propose(f *fix.Fix, c *candidate) (why string) {
	if err := j.draft.StoreTouched(c.changes); err != nil {
		return "store: " + err.Error()
	}
	switch err := j.draft.Propose(f, c.changes); {
	case errors.Is(err, draft.ErrSecret):
		return "secret: " + err.Error()
	case err != nil:
		return "store: " + err.Error()
	}
	f.State, f.Reason = fix.Proposed, nil
	f.Verdict, f.Verification, f.Flags = &c.Verdict, &c.Checks, c.Flags
	f.Omitted = append(f.Omitted, c.omitted...)
	f.Control, f.AgentSaid = fix.OrNull(c.control), c.said
	return ""
}

// provenance returns what only the engine knows about where a fix came from.
func (j *job) provenance(r result) *fix.Provenance {
	asked := fix.OrNull(string(j.Tier))
	h, b := j.hook, j.hook.Budget
	return &fix.Provenance{
		Policy: &fix.Policy{
			Agent: h.Use, Command: failedtask.CommandLine(j.failure.Task),
			Prompt: fix.OrNull(h.Prompt), Output: fix.OrNull(h.Output),
			Attempts: b.Attempts, WallClockMS: b.WallClock.Milliseconds(),
			Protect: slices.Clone(h.Protect), Verify: slices.Clone(h.Verify),
			PassSecrets: h.PassSecrets, CI: h.CI, TierAsked: asked,
			Fallback: slices.Clone(h.Fallback), Reviewer: h.Reviewer, Tokens: b.Tokens, CostUSD: b.CostUSD, Allow: slices.Clone(h.Allow),
		},
		Sandbox: &fix.Confined{Tier: fix.OrNull(string(r.tier)), Asked: asked},
		Agent:   j.program(r.agent),
	}
}

// program returns what an agent is: its command, and the file that this starts; nil: nobody knows.
func (e *Engine) program(name string) *fix.Program {
	for _, a := range e.Config.Agents {
		switch {
		case a.Name != name:
		case a.Model != nil:
			return &fix.Program{Name: name, Provider: a.Model.Provider, Model: a.Model.Model, BaseURL: a.Model.BaseURL}
		case a.CLI != nil: // the arguments that we add are known from its version, which its attempts have
			p := &fix.Program{Name: name, Command: append([]string{a.CLI.Name}, a.CLI.Args...), Model: a.CLI.Model, BaseURL: a.CLI.BaseURL}
			return e.found(p, a.CLI.Name)
		case len(a.Command) > 0:
			p := &fix.Program{Name: name}
			for _, w := range a.Command {
				p.Command = append(p.Command, w.Show())
			}
			return e.found(p, a.Command[0].Value)
		}
	}
	return nil
}

// found adds the file that is started to a program, if there is one.
func (e *Engine) found(p *fix.Program, name string) *fix.Program {
	if path := e.lookProgram(name); path != "" {
		p.Path, p.Digest = &path, programDigest(path)
	}
	return p
}

// lookProgram returns the file that a command names: a path relative to the root, or a program on PATH. Empty: none.
func (e *Engine) lookProgram(name string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(e.Config.Root, name)
		}
		return name
	}
	for _, dir := range filepath.SplitList(homes.Env(e.Environ, "PATH")) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// programLimit is the largest program, in bytes, of which a digest is made.
const programLimit = 512 << 20

func programDigest(path string) *string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() || info.Size() > programLimit {
		return nil
	}
	return fix.DigestOf(filepath.Dir(real), filepath.Base(real))
}
