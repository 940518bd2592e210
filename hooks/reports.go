package hooks

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/testreport"
)

// JUnit files among the outputs that a task declares: many a runner says there, and nowhere else, which tests failed. Those of
// the recorded failure count only while they stand in the tree as it left them; where they do not, neither do a copy's.

const (
	maxReports     = 1_000    // files; where there are more, none counts
	maxReport      = 8 << 20  // bytes of one; a larger one makes all of them count for nothing
	maxReportBytes = 64 << 20 // bytes of all

	// reportSlack is by how much a file's time may lie outside of the time of the check that wrote it: file systems have a clock
	// of their own, which is some milliseconds behind.
	reportSlack = 50 * time.Millisecond
)

var errTooMuch = errors.New("more reports than are read")

// wantReports adds to the failure that is wanted what the JUnit files in the tree say of it.
func (h *healing) wantReports() {
	if h.ended.StartedAt == nil || h.ended.DurationMS == nil {
		return
	}
	started := h.ended.StartedAt.Time
	r := testreport.ReadReports(readReports(h.e.Config.Root, h.task.Outputs, started, started.Add(time.Duration(*h.ended.DurationMS)*time.Millisecond)))
	if r.Files == 0 {
		return
	}
	h.clean(&r)
	h.reported = &r
	h.want.Tests = append(h.want.Tests, r.Failing...)
}

// reportsIn are those that a check wrote in the copy at dir, since it started.
func (h *healing) reportsIn(dir string, started time.Time) testreport.Reports {
	r := testreport.ReadReports(readReports(filepath.Join(dir, filepath.FromSlash(h.base.Sub)), h.task.Outputs, started, time.Now()))
	h.clean(&r)
	return r
}

// clean takes secrets out of names.
func (h *healing) clean(r *testreport.Reports) {
	for i, name := range r.Failing {
		r.Failing[i] = h.e.Redact.String(name)
	}
}

// readReports reads the regular files below root that outputs name, that end in .xml, look like JUnit and were written between
// two times. It follows no link out of root, and gives none where not all can be read.
func readReports(root string, outputs []string, from, to time.Time) [][]byte {
	in, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer func() { _ = in.Close() }() // it was only read
	var texts [][]byte
	total := 0
	seen := map[string]bool{}
	take := func(p string) error {
		if seen[p] || !strings.EqualFold(path.Ext(p), ".xml") || !among(outputs, p) {
			return nil
		}
		seen[p] = true
		info, err := in.Lstat(p)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.ModTime().Before(from.Add(-reportSlack)) || info.ModTime().After(to.Add(reportSlack)) {
			return nil
		}
		if info.Size() > maxReport || total+int(info.Size()) > maxReportBytes || len(texts) >= maxReports {
			return errTooMuch
		}
		text, err := readBounded(in, p)
		if err != nil {
			return err
		}
		if head := string(text[:min(len(text), 4096)]); strings.Contains(head, "<testsuite") || strings.Contains(head, "<testcase") {
			total += len(text)
			texts = append(texts, text)
		}
		return nil
	}
	for _, glob := range outputs {
		if strings.HasPrefix(glob, "!") {
			continue
		}
		for _, pattern := range []string{path.Clean(glob), path.Join(glob, "**")} { // a name of a folder takes all below
			err := doublestar.GlobWalk(in.FS(), pattern, func(p string, d fs.DirEntry) error {
				if !d.Type().IsRegular() {
					return nil
				}
				return take(p)
			}, doublestar.WithNoFollow())
			if err != nil {
				return nil
			}
		}
	}
	return texts
}

// among says whether p, or a folder that it lies in, is among globs: in order, the last that matches wins, "!" takes away.
func among(globs []string, p string) bool {
	in := false
	for _, g := range globs {
		g, not := strings.CutPrefix(g, "!")
		for at := p; at != ""; at = parent(at) {
			if doublestar.MatchUnvalidated(path.Clean(g), at) {
				in = !not
				break
			}
		}
	}
	return in
}

// readBounded reads a file that may grow meanwhile.
func readBounded(in *os.Root, p string) ([]byte, error) {
	f, err := in.Open(p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxReport+1))
	if err == nil && len(text) > maxReport {
		err = errTooMuch
	}
	return text, err
}
