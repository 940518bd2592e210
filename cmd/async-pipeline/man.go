package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/internal/advice"
)

func (h *program) manCommand() *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "man [VERB...]",
		Short: "Print the manual page of a verb, or write all of them",
		Long: `Prints a manual page as man and groff take it: of the program, or of a verb. To
read it: async-pipeline man run | man -l -

--dir writes all pages to a folder. The date in them is SOURCE_DATE_EPOCH where
that is set, else that of the commit the program was built from.`,
		Example: `  async-pipeline man run
  async-pipeline man fix apply
  async-pipeline man --dir ~/.local/share/man/man1`,
		RunE: func(c *cobra.Command, verb []string) error {
			switch {
			case !c.Flags().Changed("dir"):
				return h.manPage(c.Root(), verb)
			case len(verb) > 0:
				return exit.Misused("--dir writes the pages of all verbs: leave %s out", strings.Join(verb, " "))
			case dir == "":
				return exit.Misused("--dir has an empty folder: is a variable not set?")
			}
			return h.manPages(c.Root(), dir)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "write the pages of all verbs to `DIR`")
	return c
}

// manPage prints the page of one verb.
func (h *program) manPage(root *cobra.Command, verb []string) error {
	c, rest, err := root.Find(verb)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return unknownVerb(c, rest[0])
	}
	date, err := h.manDate()
	if err != nil {
		return err
	}
	_, err = h.Out.Write(page(c, date))
	return err
}

// manPages writes all pages to a folder, which is made where it is not there.
func (h *program) manPages(root *cobra.Command, to string) error {
	date, err := h.manDate()
	if err != nil {
		return err
	}
	if !filepath.IsAbs(to) {
		from, err := h.Start()
		if err != nil {
			return err
		}
		to = filepath.Join(from, to)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return manFault(err, to)
	}
	n := 0
	var write func(c *cobra.Command) error
	write = func(c *cobra.Command) error {
		file := filepath.Join(to, pageName(c)+".1")
		if err := os.WriteFile(file, page(c, date), 0o644); err != nil {
			return manFault(err, file)
		}
		n++
		for _, sub := range c.Commands() {
			if isVerb(sub) {
				if err := write(sub); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := write(root); err != nil {
		return err
	}
	h.Results().Line("%s: %s", h.Results().Path(to), count(n, "manual page"))
	return nil
}

func manFault(err error, path string) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return exit.Refuse("%s is not a folder: name one with --dir", path)
	}
	return exit.Refuse("%v", advice.Writing(err, path))
}

// manDate is the date that the pages carry, the same for the same program: an empty one where nobody knows it.
func (h *program) manDate() (string, error) {
	const format = "2006-01-02"
	if text := h.Env("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 {
			return "", exit.Refuse("SOURCE_DATE_EPOCH=%s is not a number of seconds since 1970", text)
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

// pageName is async-pipeline-fix-apply.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is the manual page of a verb, in the macros of man(7).
func page(c *cobra.Command, date string) []byte {
	p := &manual{}
	word, _, _ := strings.Cut(version(), " ")
	p.macro(".TH", strings.ToUpper(pageName(c)), "1", date, c.Root().Name()+" "+word, "")
	p.macro(".SH", "NAME")
	p.text(pageName(c) + " - " + lower(c.Short))
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
		for _, file := range manFiles {
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

var manFiles = [][2]string{
	{"PIPELINE.hcl", "The pipeline, in the working directory or the nearest folder above; its folder is the root."},
	{".async/", "Beside it: the records of runs, and the proposed fixes."},
}

// A manual is a page that is being written.
type manual struct{ b bytes.Buffer }
