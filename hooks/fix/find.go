package fix

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/english"
)

// Find returns the fix that a person means by RUN and TASK. run is an id or the beginning of one; "" and "latest"
// are the newest run with a proposal. task may be empty if the run has only one fix or one proposal; TASK@N is the
// N-th fix of a task, whether or not it counts. Errors to test for: ErrNone, ErrAmbiguous, ErrDamaged.
func (s *Store) Find(run, task string) (*Proposal, error) {
	runs, unread := s.Runs()
	var err error
	if run == "" || run == "latest" {
		run, err = s.latest(runs)
	} else {
		run, err = s.oneRun(runs, run)
	}
	if err != nil {
		return nil, errors.Join(append([]error{err}, unread...)...)
	}
	fixes, others, faults := s.InRun(run)
	p, err := s.oneFix(fixes, others, run, task)
	if err != nil {
		return nil, errors.Join(append([]error{err}, faults...)...)
	}
	if p.Fault != nil { // a broken chain must not pass for "nobody decided"
		return nil, p.Fault
	}
	if p.Patch != nil {
		if p.Diff, err = p.ReadPatch(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// latest returns the newest run with a proposal, or else the newest with any fix.
func (s *Store) latest(runs []string) (string, error) {
	var errs []error
	other := ""
	for _, run := range slices.Backward(runs) {
		fixes, _, faults := s.InRun(run)
		errs = append(errs, faults...)
		if slices.ContainsFunc(fixes, func(p *Proposal) bool { return p.State == Proposed }) {
			return run, nil
		}
		if other == "" && len(fixes) > 0 {
			other = run
		}
	}
	if other != "" {
		return other, nil
	}
	none := fmt.Errorf("%w: no run here has a proposed fix; %s shows what became of each failure",
		ErrNone, s.Command("fix", "list"))
	return "", errors.Join(append([]error{none}, errs...)...)
}

func (s *Store) oneRun(runs []string, prefix string) (string, error) {
	if slices.Contains(runs, prefix) {
		return prefix, nil
	}
	var found []string
	for _, run := range runs {
		if strings.HasPrefix(run, prefix) {
			found = append(found, run)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: no run here begins with %q; %s shows them", ErrNone, prefix, s.Command("fix", "list"))
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w: %d runs begin with %q: %s; type more of the id", ErrAmbiguous, len(found), prefix,
		english.List(found, 5))
}

// oneFix picks the fix that is meant; others are those that do not count.
func (s *Store) oneFix(fixes, others []*Proposal, run, task string) (*Proposal, error) {
	var tasks []string
	var proposed []*Proposal
	for _, p := range fixes {
		if task != "" && p.Task == task {
			return p, nil
		}
		tasks = append(tasks, p.Task)
		if p.State == Proposed {
			proposed = append(proposed, p)
		}
	}
	if base, n := address(task); n > 0 {
		var have []string
		for _, p := range slices.Concat(fixes, others) {
			if p.Task != base {
				continue
			}
			if number(p.Name) == n {
				p.ByNumber = true
				return p, nil
			}
			have = append(have, CalledBy(base, p.Name))
		}
		if len(have) > 0 {
			slices.Sort(have)
			return nil, fmt.Errorf("%w: run %s has none that is called %s; of this task it has: %s",
				ErrNone, run, task,
				english.List(have, 10))
		}
	}
	switch {
	case len(fixes) == 0:
		return nil, fmt.Errorf("%w: run %s has no fixes; %s makes one for a failed run",
			ErrNone, run, s.Command("heal", run))
	case task != "":
		return nil, fmt.Errorf("%w: run %s has none for task %s; it has: %s", ErrNone, run, task,
			strings.Join(tasks, ", "))
	case len(fixes) == 1:
		return fixes[0], nil
	case len(proposed) == 1:
		return proposed[0], nil
	}
	return nil, fmt.Errorf("%w: run %s has several: %s; name the task", ErrAmbiguous, run, strings.Join(tasks, ", "))
}

// Earlier returns the proposals that count (see InRun) with one fingerprint, newest first, and how many proposals of
// any fingerprint are open. The errors name what cannot be read.
func (s *Store) Earlier(fingerprint string) (alike []*Proposal, opened int, errs []error) {
	runs, errs := s.Runs()
	for _, run := range slices.Backward(runs) {
		fixes, _, faults := s.InRun(run)
		errs = append(errs, faults...)
		for _, p := range fixes {
			if p.Disposition == Open {
				opened++
			}
			if p.State == Proposed && p.Fingerprint != nil && *p.Fingerprint == fingerprint {
				alike = append(alike, p)
			}
		}
	}
	return alike, opened, errs
}
