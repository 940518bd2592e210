package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// provenance is what only the engine knows of where a fix came from; the draft fills in the rest.
func (h *healing) provenance() *fix.Provenance {
	asked := orNull(string(h.e.Tier))
	b := h.hook.Budget
	name := h.hook.Use
	if h.agent != nil { // the last that was asked
		name = h.agent.Name()
	}
	return &fix.Provenance{
		Policy: &fix.Policy{
			Agent: h.hook.Use, Command: failedtask.CommandLine(h.task), Prompt: orNull(h.hook.Prompt), Output: orNull(h.hook.Output),
			Attempts: b.Attempts, WallClockMS: b.WallClock.Milliseconds(),
			Protect: slices.Clone(h.hook.Protect), Verify: slices.Clone(h.hook.Verify),
			PassSecrets: h.hook.PassSecrets, CI: h.hook.CI, TierAsked: asked,
			Fallback: slices.Clone(h.hook.Fallback), Tokens: b.Tokens, CostUSD: b.CostUSD, Allow: slices.Clone(h.hook.Allow),
		},
		Sandbox: &fix.Confined{Tier: orNull(string(h.tier)), Asked: asked},
		Agent:   h.e.program(name),
	}
}

// program says what an agent is: its command, and the file that this starts.
func (e *Engine) program(name string) *fix.Program {
	i := slices.IndexFunc(e.Config.Agents, func(a *pipeline.Agent) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	if m := e.Config.Agents[i].Model; m != nil {
		return &fix.Program{Name: name, Provider: m.Provider, Model: m.Model, BaseURL: m.BaseURL}
	}
	if len(e.Config.Agents[i].Command) == 0 {
		return nil
	}
	p := &fix.Program{Name: name}
	for _, w := range e.Config.Agents[i].Command {
		p.Command = append(p.Command, w.Show())
	}
	if path := e.lookProgram(e.Config.Agents[i].Command[0].Value); path != "" {
		p.Path, p.Digest = &path, programDigest(path)
	}
	return p
}

// lookProgram finds the file that a command names: a path is relative to the root, a name is looked up in PATH. Empty: none.
func (e *Engine) lookProgram(name string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(e.Config.Root, name)
		}
		return name
	}
	for _, dir := range filepath.SplitList(e.env("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// programLimit is the largest program, in bytes, of which a digest is made.
const programLimit = 512 << 20

func programDigest(path string) *string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // opened for reading
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > programLimit {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil
	}
	return new("sha256:" + hex.EncodeToString(sum.Sum(nil)))
}
