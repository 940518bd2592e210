package draft

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// provenance adds to a fix what the draft knows. It is called when nothing but <name>.json is still to be written.
func (d *Draft) provenance(f *fix.Fix) error {
	if f.Provenance == nil {
		f.Provenance = &fix.Provenance{}
	}
	p := f.Provenance
	var err error
	if p.Files, err = d.evidence(); err != nil {
		return err
	}
	if i := slices.IndexFunc(p.Files, func(e fix.Evidence) bool { return e.Path == d.rel(".transcript.jsonl") }); i >= 0 {
		p.Transcript = &p.Files[i]
	}
	e, err := fix.EvidenceOf(d.runDir, fix.PackPath(d.Task))
	if err == nil {
		p.Pack = &e
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.Prompts = slices.Clone(d.prompts)
	fix.Fill(&p.Files)
	fix.Fill(&p.Prompts)
	if p.Policy != nil {
		fix.Fill(&p.Policy.Protect)
		fix.Fill(&p.Policy.Verify)
	}
	if p.Agent != nil {
		fix.Fill(&p.Agent.Command)
	}
	lines, head := d.journal.End()
	p.Journal = &journal.End{Lines: lines, Head: head}
	return nil
}

// evidence lists the files of this fix, but for those of work in progress and for what people decide later.
func (d *Draft) evidence() ([]fix.Evidence, error) {
	var all []fix.Evidence
	add := func(rel string) error {
		e, err := fix.EvidenceOf(d.runDir, rel)
		if err == nil {
			all = append(all, e)
		}
		return err
	}
	for _, suffix := range []string{".patch", ".transcript.jsonl"} {
		if err := add(d.rel(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	err := filepath.WalkDir(d.path(""), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if name := e.Name(); filepath.Dir(path) == d.path("") && (name == "draft.json" || strings.HasPrefix(name, ".") ||
			strings.HasSuffix(name, ".copy.json")) {
			return nil
		}
		rel, err := filepath.Rel(d.runDir, path)
		if err != nil {
			return err
		}
		return add(filepath.ToSlash(rel))
	})
	slices.SortFunc(all, func(a, b fix.Evidence) int { return strings.Compare(a.Path, b.Path) })
	return all, err
}
