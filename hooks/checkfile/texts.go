package checkfile

// The texts of the base, for what a review compares a patch with.

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
)

const (
	maxTestTexts = 200   // test files that are searched
	maxTexts     = 2_000 // files of production that are searched
)

// Text returns the text of a file of the base, "" where it cannot be read or is too large.
func (c *Checks) Text(p string) string {
	if c.read == nil || !c.Has(p) {
		return ""
	}
	src, err := c.read(p)
	if err != nil || len(src) > maxReadSize {
		return ""
	}
	return string(src)
}

// Failing returns the names of the tests that failed. It is not to be changed.
func (c *Checks) Failing() []string { return c.failing }

// FailingTests returns the sources of tests that name one that failed; where none does, all of them.
func (c *Checks) FailingTests() (paths []string) {
	var all []string
	for _, p := range slices.Sorted(maps.Keys(c.tree.Files())) {
		if len(all) == maxTestTexts {
			break
		}
		if class := c.Class(p); lang.ByPath(p) == "" || foreign(p) || class != 2 && class != 4 {
			continue
		}
		all = append(all, p)
		text := c.Text(p)
		if slices.ContainsFunc(c.failing, func(name string) bool { return mentions(text, path.Base(p), name) }) {
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		return all
	}
	return paths
}

// DataOf returns the files that a test names and reads.
func (c *Checks) DataOf(test string) (paths []string) {
	text := c.Text(test)
	for _, p := range slices.Sorted(maps.Keys(c.tree.Files())) {
		base := path.Base(p)
		if lang.ByPath(p) != "" || len(base) <= 3 || !strings.Contains(text, base) {
			continue
		}
		if class := c.Class(p); class == 2 || class == 3 {
			paths = append(paths, p)
		}
	}
	return paths
}

// mentions reports whether the last part of the name of a test is in a text, or the name of its file in that of the
// test.
func mentions(text, base, name string) bool {
	last := strings.TrimSpace(name[strings.LastIndexAny(name, "/:.>#")+1:])
	if strings.Contains(name, base) || last == strings.TrimSuffix(base, path.Ext(base)) {
		return true
	}
	return len(last) > 3 && strings.Contains(text, last)
}

// Production returns the sources of the base that belong to no check.
func (c *Checks) Production() (paths []string) {
	for _, p := range slices.Sorted(maps.Keys(c.tree.Files())) {
		if len(paths) == maxTexts {
			break
		}
		if lang.IsCode(lang.Of(p, "")) && !foreign(p) && c.Class(p) == 0 {
			paths = append(paths, p)
		}
	}
	return paths
}

// Code returns the check's commands, and the scripts, sources and settings that they name or load, without comments.
func (c *Checks) Code() (texts []string) {
	texts = slices.Clone(c.refs.texts)
	for i, text := range texts {
		texts[i] = shellTexts().ReplaceAllString(text, "")
	}
	for _, p := range slices.Sorted(maps.Keys(c.tree.Files())) {
		if len(texts) >= maxTestTexts {
			break
		}
		if class := c.Class(p); class != 4 && class != 5 || foreign(p) {
			continue
		}
		src := []byte(c.Text(p))
		for i, kind := range lang.Mark(lang.Of(p, string(src)), string(src)) {
			if kind == lang.InComment {
				src[i] = ' '
			}
		}
		texts = append(texts, string(src))
	}
	return texts
}

// Data returns the files of the base that tests read, or that lie among them, and that are no sources.
func (c *Checks) Data() (paths []string) {
	for _, p := range slices.Sorted(maps.Keys(c.tree.Files())) {
		if len(paths) == maxTexts {
			break
		}
		if class := c.Class(p); lang.ByPath(p) == "" && !foreign(p) && class >= 2 && class <= 4 {
			paths = append(paths, p)
		}
	}
	return paths
}
