// What a draft knows of its provenance.

package fix

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/journal"
)

// hide takes secrets out of the free text of a provenance, and then fills in the digest of the policy.
func hide(p *Provenance, clean func([]byte) []byte) error {
	if p == nil {
		return nil
	}
	words := func(s *string) {
		if s != nil {
			*s = string(clean([]byte(*s)))
		}
	}
	if a := p.Agent; a != nil {
		for i := range a.Command {
			words(&a.Command[i])
		}
		words(a.Path)
	}
	if p.Policy == nil {
		return nil
	}
	words(&p.Policy.Command)
	words(p.Policy.Prompt)
	for i := range p.Policy.Protect {
		words(&p.Policy.Protect[i])
	}
	var err error
	p.Policy.Digest, err = p.Policy.sum()
	return err
}

// provenance adds to a fix what the draft knows. It is called when nothing of the healing is written any more but <name>.json.
func (d *Draft) provenance(f *Fix) error {
	if f.Provenance == nil {
		f.Provenance = &Provenance{}
	}
	p := f.Provenance
	var err error
	if p.Files, err = d.evidence(); err != nil {
		return err
	}
	if i := slices.IndexFunc(p.Files, func(e Evidence) bool { return e.Path == d.rel(".transcript.jsonl") }); i >= 0 {
		p.Transcript = &p.Files[i]
	}
	e, err := evidenceOf(d.runDir, packPath(d.Task))
	if err == nil {
		p.Pack = &e
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.Prompts = slices.Clone(d.prompts)
	fill(&p.Files)
	fill(&p.Prompts)
	if p.Policy != nil {
		fill(&p.Policy.Protect)
		fill(&p.Policy.Verify)
	}
	if p.Agent != nil {
		fill(&p.Agent.Command)
	}
	lines, head := d.journal.End()
	p.Journal = &journal.End{Lines: lines, Head: head}
	return nil
}

// evidence lists the files of this healing. What says that somebody is at work is none, nor what people decide later.
func (d *Draft) evidence() ([]Evidence, error) {
	var all []Evidence
	add := func(rel string) error {
		e, err := evidenceOf(d.runDir, rel)
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
		if name := e.Name(); filepath.Dir(path) == d.path("") && (name == "draft.json" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".copy.json")) {
			return nil
		}
		rel, err := filepath.Rel(d.runDir, path)
		if err != nil {
			return err
		}
		return add(filepath.ToSlash(rel))
	})
	slices.SortFunc(all, func(a, b Evidence) int { return strings.Compare(a.Path, b.Path) })
	return all, err
}
