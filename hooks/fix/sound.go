// What makes a record of a fix one that can be believed: it says nothing that contradicts itself, its run is the one it
// names, and it was made here.

package fix

import (
	"errors"
	"fmt"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"path/filepath"
	"slices"
)

var (
	states   = []string{Skipped, NotReproduced, Flaky, NoFix, Failed, Cancelled, Interrupted, Proposed}
	verdicts = []string{"verified", "suspect", "unverified"}
)

// consistent says how a fix contradicts itself. Seal writes nothing that Find would refuse.
func Consistent(f *Fix) error {
	switch {
	case !slices.Contains(states, f.State):
		return fmt.Errorf("%q is no state of a fix", f.State)
	case f.State == Proposed && f.Patch == nil:
		return errors.New("proposed, but without a patch")
	case f.State != Proposed && f.Patch != nil:
		return fmt.Errorf("state %s does not go with a patch", f.State)
	case f.State == Proposed && f.Verdict == nil:
		return errors.New("proposed, but without a verdict")
	case f.State != Proposed && f.Verdict != nil:
		return fmt.Errorf("state %s does not go with verdict %s", f.State, *f.Verdict)
	case f.Patch == nil:
		return nil
	case len(f.Patch.Files) == 0:
		return errors.New("the patch names no file")
	case !slices.Contains(verdicts, *f.Verdict):
		return fmt.Errorf("%q is no verdict", *f.Verdict)
	case *f.Verdict == "unverified":
		return nil
	}
	v := f.Verification
	if v == nil {
		v = &Verification{}
	}
	if err := allPassed("the patch as proposed", v.Proposed); err != nil {
		return fmt.Errorf("verdict %s, but %w", *f.Verdict, err)
	}
	if *f.Verdict == "suspect" {
		return nil
	}
	if err := allPassed("the original checks", v.OriginalChecks); err != nil {
		return fmt.Errorf("verdict verified, but %w", err)
	}
	for _, g := range f.Flags {
		if g.Caps {
			return fmt.Errorf("verdict verified, but flag %s %s keeps it from that", g.ID, g.Rule)
		}
	}
	return nil
}

// allPassed says which check did not pass; that there is none is an error too.
func allPassed(with string, checks []Check) error {
	if len(checks) == 0 {
		return fmt.Errorf("nothing was checked with %s", with)
	}
	for _, c := range checks {
		if !c.Passed || c.ExitCode != nil && *c.ExitCode != 0 {
			return fmt.Errorf("with %s the check %q did not pass", with, c.Task)
		}
	}
	return nil
}

// runDigest is the digest of run.json, which every fix of the run names.
func RunDigest(runDir string) (string, error) {
	text, err := recordfile.Read(filepath.Join(runDir, "run.json"), recordfile.MaxJSON)
	if err != nil {
		return "", fmt.Errorf("%w: its run has no verdict that can be read: %w", ErrDamaged, err)
	}
	return recordfile.Digest(text), nil
}

// ofItsRun says whether the fix was made for the run beside it.
func (p *Proposal) CheckRun() error {
	sum, err := RunDigest(p.Dir)
	if err != nil {
		return err
	}
	if sum != p.RunDigest {
		return fmt.Errorf("%w: %s was made for a run.json with digest %s, the one in %s has %s: one of them was changed; run again",
			ErrDamaged, filepath.Join(p.Dir, "fixes", p.Name+".json"), p.RunDigest, p.Dir, sum)
	}
	return nil
}
