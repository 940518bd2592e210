package main

import (
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
	"github.com/async-pipeline/async-pipeline/pipeline/report"
)

// traceFile is the file that --trace names, from where the verb works; it is refused before anything runs when nothing can
// be written there.
func (h *hall) traceFile(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if !filepath.IsAbs(name) {
		dir, err := h.start()
		if err != nil {
			return "", err
		}
		name = filepath.Join(dir, name)
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return "", refuse("--trace %s: there is no folder %s: make it first", name, filepath.Dir(name))
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return "", refuse("--trace %s is a folder: name a file", name)
	}
	return name, nil
}

// writeTrace writes the trace of a sealed run. Its trouble is said and changes no verdict.
func (p *performance) writeTrace(s *record.Sealed) {
	if p.trace == "" {
		return
	}
	b, err := report.Trace(s.Run, p.graph.DependsOn)
	if err == nil {
		err = advice.Writing(renameio.WriteFile(p.trace, p.h.secrets.Bytes(b), 0o644), p.trace)
	}
	if err != nil {
		p.h.said().Warning("the trace could not be written: " + err.Error())
	}
}
