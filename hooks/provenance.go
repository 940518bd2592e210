package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// program returns what an agent is: its command, and the file that this starts; nil: nobody knows.
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

// lookProgram returns the file that a command names: a path relative to the root, or a program on PATH. Empty: none.
func (e *Engine) lookProgram(name string) string {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(e.Config.Root, name)
		}
		return name
	}
	for _, dir := range filepath.SplitList(e.env("PATH")) {
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
