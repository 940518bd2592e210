package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

func validateCommand(prog *program) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate",
		Short: "Check PIPELINE.hcl; nothing is run",
		Long: `Reads PIPELINE.hcl and reports every fault at once, each with its place, its
line and what to write instead. Nothing is run. Exit code: 0 no fault, 2 faults.`,
		Example: `  async-pipeline validate
  async-pipeline validate --json`,
		Args: atMost(0),
		RunE: func(*cobra.Command, []string) error { return validateFile(prog, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the faults as a JSON list")
	prog.varFlag(c)
	return c
}

// validateFile prints all errors and warnings.
func validateFile(prog *program, asJSON bool) error {
	c, faults, err := examine(prog)
	if err != nil && !asJSON {
		return err
	}
	if asJSON {
		if err != nil {
			faults = pipeline.Errors{{Summary: err.Error()}}
		}
		if err := prog.PrintJSON(diagnostics(faults)); err != nil {
			return err
		}
		if faults.Serious() > 0 {
			return exit.With(exit.Refused)
		}
		return nil
	}
	prog.Messages().Diagnostics(faults)
	if n := faults.Serious(); n > 0 {
		return exit.Refuse("%s", english.Count(n, "fault")+inFiles(prog, faults))
	}
	files := prog.Results().Path(c.File)
	if n := len(c.Included); n > 0 {
		files += " and " + english.Count(n, "included file")
	}
	prog.Results().Line("%s: %s, %s, %s, ok", files, english.Count(len(c.Tasks), "task"),
		english.Count(len(c.Jobs), "job"), english.Count(len(c.Agents), "agent"))
	return nil
}

// examine reads the file and returns all its errors and warnings. The error is for anything else.
func examine(prog *program) (*pipeline.Config, pipeline.Errors, error) {
	file, err := prog.settledFile()
	if err != nil {
		return nil, nil, err
	}
	c, err := prog.read(file)
	if faults := pipeline.Errors(nil); errors.As(err, &faults) {
		return nil, faults, nil
	}
	if err != nil {
		return nil, nil, err
	}
	all := append(append(pipeline.Errors{}, c.Warnings...), prog.AgentWarnings(c)...)
	names := make([]string, len(c.Tasks))
	for i, t := range c.Tasks {
		names[i] = t.Name
	}
	_, err = pipeline.Select(c, names, false)
	if faults := pipeline.Errors(nil); errors.As(err, &faults) {
		return c, append(all, faults...), nil
	}
	return c, all, err
}

// inFiles names the files that the errors are in, as the end of a clause.
func inFiles(prog *program, faults pipeline.Errors) string {
	var files []string
	for _, f := range faults {
		if name := prog.Messages().Path(f.Pos.File); f.Pos.File != "" && !f.Warning && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		return ""
	}
	return " in " + strings.Join(files, ", ")
}

// A diagnostic is one fault in validate --json; what is not known is null.
type diagnostic struct {
	Severity   string  `json:"severity"` // error | warning
	Summary    string  `json:"summary"`
	Detail     *string `json:"detail"`
	File       *string `json:"file"`
	Line       *int    `json:"line"`
	Column     *int    `json:"column"`
	Suggestion *string `json:"suggestion"`
}

func diagnostics(faults pipeline.Errors) []diagnostic {
	list := []diagnostic{}
	for _, f := range faults {
		d := diagnostic{
			Severity: "error", Summary: f.Summary, Detail: orNull(f.Detail), File: orNull(f.Pos.File),
			Suggestion: orNull(f.Suggestion), Line: orNull(f.Pos.Line), Column: orNull(f.Pos.Column),
		}
		if f.Warning {
			d.Severity = "warning"
		}
		list = append(list, d)
	}
	return list
}

// orNull returns nil for the zero value, which means not known.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
