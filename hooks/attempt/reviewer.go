package attempt

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// A second opinion is one question to an agent about a patch that passed its checks. It works in a copy of its own
// with the patch applied; what it changes there is thrown away.

// Review asks q.Agent about a patch. report is what the verification found, for the agent to read. What came of it is
// in the record, also that it could not be asked; the concerns have no flags yet.
func Review(ctx context.Context, q Request, changes []patch.Change, report string) *fix.Opinion {
	o := &fix.Opinion{Agent: q.Agent.Name(), Result: "skipped", Concerns: []fix.Concern{}}
	if err := q.Agent.Ready(); err != nil {
		o.Reason = new(q.Redact.String(err.Error()))
		return o
	}
	q.Progress.Step("agent %s gives a second opinion", o.Agent)
	answer, review, err := q.opinion(ctx, changes, report, o)
	if o.Reason != nil {
		return o
	}
	o.Result = "failed"
	if err != nil {
		o.Reason = new(q.Redact.String(err.Error()))
		return o
	}
	q.Budget.Add(answer)
	for _, text := range q.Budget.Unenforced(o.Agent, answer) {
		q.Progress.Note(text)
	}
	o.Model, o.Tokens = fix.OrNull(answer.Model), fix.Tokens(answer.Tokens)
	o.CostUSD, o.CostAtLeast = answer.CostUSD, answer.CostAtLeast
	concerns, problem := agent.ParseOpinion(answer.Text, review)
	switch {
	case ctx.Err() != nil || answer.Exit.Cancelled || answer.Exit.TimedOut || answer.Exit.IdledOut:
		o.Kind, o.Reason = fix.OrNull(string(answer.Kind)), new(q.Redact.String(cmp.Or(whyNone(answer, o.DurationMS), "ended before it answered")))
	case problem != nil && answer.Kind != "":
		o.Kind, o.Reason = new(string(answer.Kind)), new(q.Redact.String(answer.Evidence))
	case problem != nil:
		o.Result, o.Reason = "invalid", new(q.Redact.String(problem.Error()))
	default:
		o.Result = "answered"
		for _, c := range concerns {
			o.Concerns = append(o.Concerns, q.concern(c, changes))
		}
	}
	return o
}

// concern returns a concern for the record. A place outside of the patch is left out: nothing there was shown.
func (q *Request) concern(c agent.Concern, changes []patch.Change) fix.Concern {
	r := fix.Concern{Kind: c.Kind, Caps: c.Caps(), Words: q.Redact.String(c.Words)}
	if slices.ContainsFunc(changes, func(p patch.Change) bool { return p.Path == c.Path }) {
		r.Path = &c.Path
		if c.Line > 0 {
			r.Line = &c.Line
		}
	}
	return r
}

// opinion takes the turn. review identifies the question.
func (q *Request) opinion(
	ctx context.Context, changes []patch.Change, report string, o *fix.Opinion,
) (answer agent.Turn, review string, err error) {
	text, err := patch.Encode(changes)
	if err != nil {
		return answer, "", err
	}
	c, err := q.Homes.Copy(ctx, q.Base, "reviewer", q.Agent.Here())
	if err != nil {
		return answer, "", err
	}
	defer q.tidy(c)
	if err := q.Homes.Copying(func() error { return c.Put(changes) }); err != nil {
		return answer, "", err
	}
	box, err := q.Homes.AgentBox(q.Base, c, q.Caches, q.filters(ctx))
	if err != nil {
		return answer, "", err
	}
	pack, err := q.Pack(ctx)
	if err != nil {
		q.Progress.Note("context pack: " + err.Error())
	}
	r := q.basic(box, c.Dir, io.Discard)
	note := r.Note
	r.Note = func(l agent.Line) {
		data := map[string]any{"reviewer": true}
		for k, v := range l.Data {
			data[k] = v
		}
		note(agent.Line{Type: l.Type, Data: data})
	}
	r.ReadOnly, r.Schema, r.Pack = true, agent.OpinionSchema(), pack
	r.Env = append(r.Env, turnVariable+"=reviewer")
	review = agent.NewMark()
	r.Prompt = redact.Keys(q.Redact.String(agent.Opinion(agent.OpinionParts{
		Task: q.Failure.Task.Name, Command: failedtask.CommandLine(q.Failure.Task), Review: review,
		Report: report, Patch: string(text),
	})))
	work, cancel, tokens, cost, why := q.Budget.Review(ctx)
	if why != "" {
		o.Reason = new("budget: " + why)
		return answer, review, nil
	}
	defer cancel()
	r.Tokens, r.CostUSD = tokens, cost
	started := time.Now()
	answer, err = q.Agent.Turn(work, r)
	o.DurationMS = time.Since(started).Milliseconds()
	return answer, review, err
}

// ReportOf returns flags and checks as lines for a reviewing agent.
func ReportOf(flags []fix.Flag, v fix.Verification) string {
	var b strings.Builder
	line := func(words ...string) { b.WriteString(strings.Join(words, " ") + "\n") }
	for _, part := range []struct {
		name   string
		checks []fix.Check
	}{{"with the patch as proposed:", v.Proposed}, {"with the original check files:", v.OriginalChecks}} {
		for _, c := range part.checks {
			how := "failed"
			switch {
			case c.Passed:
				how = "passed"
			case c.CorePassed:
				how = "failed, but by no test that the fix is judged by"
			}
			line(part.name, "task", c.Task, how)
		}
	}
	if len(flags) == 0 {
		line("no flags")
	}
	for _, f := range flags {
		at := ""
		if f.Path != nil {
			at = *f.Path
			if f.Line != nil {
				at += ":" + strconv.Itoa(*f.Line)
			}
		}
		line("flag", f.Rule, at, f.Detail)
	}
	return b.String()
}
