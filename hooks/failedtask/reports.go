package failedtask

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/async-pipeline/async-pipeline/internal/testreport"
)

// Many test runners name the tests that failed in JUnit files only, which a task then declares among its outputs.
// Those of the recorded failure count while they are in the tree as the task left them. Where they are not, a copy's
// do not count.

const (
	maxReports     = 1_000    // files; of more than that none is read
	maxReport      = 8 << 20  // bytes of one; where one is larger none is read
	maxReportBytes = 64 << 20 // bytes of all

	// reportSlack is by how much a file's time may differ from the time of the check that wrote it: a file system has
	// its own clock, which is some milliseconds behind.
	reportSlack = 50 * time.Millisecond
)

var errTooMuch = errors.New("more reports than are read")

// readReports adds to the signature what the JUnit files in the tree say of the failure.
func (f *Failure) readReports() {
	if f.Ended.StartedAt == nil || f.Ended.DurationMS == nil {
		return
	}
	started := f.Ended.StartedAt.Time
	r := f.reportsBelow(f.Config.Root, started, started.Add(time.Duration(*f.Ended.DurationMS)*time.Millisecond))
	if r.Files == 0 {
		return
	}
	f.Reports = &r
	f.Signature.Tests = append(f.Signature.Tests, r.Failing...)
}

// ReportsIn returns what the JUnit files say that a check has written below root since it started.
func (f *Failure) ReportsIn(root string, started time.Time) testreport.Reports {
	return f.reportsBelow(root, started, time.Now())
}

// Results returns the tests that a check in a copy names, in its output and in the reports that it wrote there. Where
// those of the run are not known, the copy's do not count.
func (f *Failure) Results(output []byte, reports testreport.Reports) testreport.Results {
	r := f.Printed(output)
	if f.Reports != nil {
		r = r.And(testreport.Results{Failed: reports.Failing, Passed: reports.Passed})
	}
	return r
}

// Printed returns the tests that the output of a check in a copy names, as Results.
func (f *Failure) Printed(output []byte) (r testreport.Results) {
	if f.Ended.Log == nil || f.Ended.Log.LeftOutBytes > 0 {
		return r
	}
	r = testreport.Read(output)
	for _, names := range [][]string{r.Failed, r.Passed} {
		for i := range names {
			names[i] = f.Clean(names[i])
		}
	}
	return r
}

func (f *Failure) reportsBelow(root string, from, to time.Time) testreport.Reports {
	r := testreport.ReadReports(readReports(root, f.Task.Outputs, from, to))
	for _, names := range [][]string{r.Failing, r.Passed} {
		for i := range names {
			names[i] = f.Clean(names[i])
		}
	}
	return r
}

// readReports returns the regular files below root that outputs name, that end in .xml, look like JUnit and were
// written between two times. It follows no link, and returns none where not all can be read.
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
		if seen[p] || !strings.EqualFold(path.Ext(p), ".xml") || !Among(outputs, p) {
			return nil
		}
		seen[p] = true
		info, err := in.Lstat(p)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.ModTime().Before(from.Add(-reportSlack)) ||
			info.ModTime().After(to.Add(reportSlack)) {
			return nil
		}
		if info.Size() > maxReport || total+int(info.Size()) > maxReportBytes || len(texts) >= maxReports {
			return errTooMuch
		}
		text, err := readBounded(in, p)
		if err != nil {
			return err
		}
		if head := string(text[:min(len(text), 4096)]); strings.Contains(head, "<testsuite") ||
			strings.Contains(head, "<testcase") {
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

// Among reports whether p, or a folder above it, matches globs. The last glob that matches decides; "!" excludes.
func Among(globs []string, p string) bool {
	in := false
	for _, g := range globs {
		g, not := strings.CutPrefix(g, "!")
		for at := p; at != "." && at != "/"; at = path.Dir(at) {
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
