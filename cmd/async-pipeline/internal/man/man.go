// Package man writes the manual pages of the verbs from their help, in the macros of man(7). (cobra/doc would write
// them by way of Markdown, with two more parsers in the program, and would not keep the examples and columns of the
// help as they are.)
package man

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/verb"
	"github.com/async-pipeline/async-pipeline/internal/advice"
)

// Write writes the pages of root and all its verbs to a folder, which is made if need be, and returns how many
// there are. version and date are shown in each page; an empty date is left out.
func Write(root *cobra.Command, dir, version, date string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, fault(err, dir)
	}
	file := filepath.Join(dir, name(root)+".1")
	if err := os.WriteFile(file, Page(root, version, date), 0o644); err != nil {
		return 0, fault(err, file)
	}
	n := 1
	for _, c := range root.Commands() {
		if verb.Listed(c) {
			more, err := Write(c, dir, version, date)
			if n += more; err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func fault(err error, path string) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s is not a folder: name one with --dir", path)
	}
	return advice.Writing(err, path)
}

// Date returns the date of the pages, the same for the same program: SOURCE_DATE_EPOCH, else that of the commit it
// was built from, or "" where that is not known.
func Date(epoch string) (string, error) {
	const format = "2006-01-02"
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || seconds < 0 {
			return "", fmt.Errorf("SOURCE_DATE_EPOCH=%s is not a number of seconds since 1970", epoch)
		}
		return time.Unix(seconds, 0).UTC().Format(format), nil
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", nil
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
				return at.UTC().Format(format), nil
			}
		}
	}
	return "", nil
}

// name returns the name of a page: async-pipeline-fix-apply.
func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// Page returns the manual page of a verb.
func Page(c *cobra.Command, version, date string) []byte {
	p := &manual{}
	p.macro(".TH", strings.ToUpper(name(c)), "1", date, c.Root().Name()+" "+version, "")
	p.macro(".SH", "NAME")
	p.text(name(c) + " - " + lower(c.Short))
	p.macro(".SH", "SYNOPSIS")
	p.synopsis(c)
	p.macro(".SH", "DESCRIPTION")
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	p.prose(about)
	p.verbs(c)
	p.flags("OPTIONS", c.LocalFlags())
	p.flags("OPTIONS OF EVERY VERB", c.InheritedFlags())
	if c.Example != "" {
		p.macro(".SH", "EXAMPLES")
		p.verbatim(c.Example)
	}
	if !c.HasParent() {
		p.macro(".SH", "EXIT STATUS")
		for _, code := range exitCodes {
			p.item(code[0], code[1])
		}
		p.macro(".SH", "FILES")
		for _, file := range files {
			p.item(file[0], file[1])
		}
	}
	p.seeAlso(c)
	return p.b.Bytes()
}

var exitCodes = [][2]string{
	{"0", "Done, or passed."},
	{"1", "A task failed, a fix was refused or in conflict, or something that was looked for was found."},
	{"2", "It could not be carried out."},
	{"130, 143", "Ended by SIGINT or SIGTERM."},
	{"141", "Nobody reads the output any more."},
}

var files = [][2]string{
	{"PIPELINE.hcl", "The pipeline, in the working directory or the nearest folder above; its folder is the root."},
	{".async/", "Beside it: the records of runs, and the proposed fixes."},
}
