package cli

import (
	"context"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
)

// Versions returns the version that the installed CLI prints of itself, empty if it prints none, and the one whose
// behavior the tests have. exec starts a program, home is an empty folder for it, path its PATH.
func (k *Known) Versions(
	ctx context.Context, exec func(context.Context, agent.Command) (agent.Exit, error), home, path string,
) (here, tested string) {
	p := find(k.CLI)
	if p == nil {
		return "", ""
	}
	r := agent.Request{Dir: home, Exec: exec}
	return k.versionOf(ctx, p, r, []string{"PATH=" + path, "HOME=" + home}), p.seen
}
