// The command line: the verbs, what they have in common, and what is said to a word that is none of them.
package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/completion"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/project"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/verb"
	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/view"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

func command(prog *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "async-pipeline",
		Short: "Run a pipeline; answer a failed task with a proposed fix",
		Long: `Runs the tasks of PIPELINE.hcl, dependencies first, and stops at the first
failure. A failed task that has an on_fail "agent" is answered with a proposed
fix: the agent works in a copy, and the result is a patch with evidence. Nothing
is written to your tree unless you type: async-pipeline fix apply`,
		Example: `  async-pipeline validate
  async-pipeline run
  async-pipeline fix show
  async-pipeline fix apply`,
		Version:           version(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("async-pipeline {{.Version}}\n")
	root.PersistentFlags().StringVarP(&prog.Into, "directory", "C", project.Here,
		"work in `DIR` instead of the working directory")
	root.PersistentFlags().BoolP("help", "h", false, "show this help")
	root.Flags().Bool("version", false, "print the version")
	group(prog, root)
	addVerbs(prog, root)
	sayDefaultsOnce(root)
	root.SetFlagErrorFunc(prog.flagError)
	setHelp(prog, root)
	// Never nil: cobra would take os.Args instead.
	root.SetArgs(append([]string{}, prog.args...))
	root.SetIn(prog.Stdin)
	root.SetOut(prog.Out)
	root.SetErr(prog.Err)
	if completion.Asked(prog.args) {
		completion.Register(root, &prog.Project)
	}
	return root
}

// groups returns the verbs as --help lists them.
func groups() []verbGroup {
	return []verbGroup{
		{"Run", []verbMaker{{"run", runCommand}, {"validate", validateCommand}}},
		{"Look", []verbMaker{
			{"list", listCommand},
			{"graph", graphCommand},
			{"explain", explainCommand},
			{"runs", runsCommand},
			{"logs", logsCommand},
			{"stats", statsCommand},
		}},
		{"Repair", []verbMaker{
			{"heal", healCommand},
			{"fix", fixCommand},
			{"policy", policyCommand},
			{"agents", agentsCommand},
			{"context", contextCommand},
		}},
		{"Set up", []verbMaker{
			{"init", initCommand},
			{"fmt", fmtCommand},
			{"schema", schemaCommand},
			{"doctor", doctorCommand},
			{"gc", gcCommand},
			{"cache", cacheCommand},
			{"completion", completionCommand},
			{"man", manCommand},
			{"version", versionCommand},
		}},
	}
}

type verbGroup struct {
	title string
	verbs []verbMaker
}

// A verbMaker makes the command of a verb.
type verbMaker struct {
	name string
	make func(*program) *cobra.Command
}

// addVerbs adds the verbs to root. Where the command line begins with one that needs to know of no other but help, it
// is the only other one: to make all takes longer than many of them work.
func addVerbs(prog *program, root *cobra.Command) {
	all := groups()
	only := onlyVerb(prog.args, all)
	for _, g := range all {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, v := range g.verbs {
			if only == "" || v.name == only {
				c := v.make(prog)
				c.GroupID = g.title
				root.AddCommand(c)
			}
		}
	}
	help := helpCommand(prog)
	help.GroupID = all[len(all)-1].title
	root.SetHelpCommand(help)
	root.AddCommand(help)
}

// onlyVerb returns the verb that a command line begins with, if its command needs to know of no other verb, else "".
func onlyVerb(args []string, all []verbGroup) string {
	if slices.Equal(args, []string{"--version"}) {
		return "version" // a flag of root, which needs none
	}
	for _, g := range all {
		for _, v := range g.verbs {
			if len(args) > 0 && v.name == args[0] && v.name != "completion" && v.name != "man" {
				return v.name
			}
		}
	}
	return ""
}

// sayDefaultsOnce hides the default of a flag whose help has it already.
func sayDefaultsOnce(c *cobra.Command) {
	once := func(f *pflag.Flag) {
		if strings.Contains(f.Usage, "default") || f.DefValue == project.Here {
			f.DefValue = ""
			if f.Value.Type() == "int" {
				f.DefValue = "0" // pflag shows no such default
			}
		}
	}
	c.Flags().VisitAll(once)
	c.PersistentFlags().VisitAll(once)
	for _, sub := range c.Commands() {
		sayDefaultsOnce(sub)
	}
}

// group makes a command a container of others: alone it prints its help; an unknown word is an error.
func group(prog *program, c *cobra.Command) {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return prog.unknownVerb(c, args...)
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
}

// isTask reports whether a word names a task or job of PIPELINE.hcl.
func (prog *program) isTask(word string) bool {
	file, err := prog.File()
	if err != nil {
		return false
	}
	c, _, err := prog.Read(file)
	if err != nil {
		return false
	}
	return c.Job(word) != nil || len(called(c, word)) > 0
}

// unknownVerb returns the error for words of which the first is not a verb of c, with what was probably meant.
func (prog *program) unknownVerb(c *cobra.Command, words ...string) error {
	word := words[0]
	if !c.HasParent() && prog.isTask(word) {
		run := prog.Typed(append([]string{"run"}, words...)...)
		return exit.Misused("%q is a task or job, not a verb; to run it:\n%s", word, run)
	}
	var known []string
	for _, s := range c.Commands() {
		if verb.Listed(s) {
			known = append(known, s.Name())
		}
	}
	remedy := fmt.Sprintf("\n%s --help shows them all", c.CommandPath())
	if near := pipeline.Nearest(word, known); near != "" {
		remedy = fmt.Sprintf(": did you mean %q?", near)
	}
	if !c.HasParent() {
		return exit.Misused("there is no verb %q%s", word, remedy)
	}
	return exit.Misused("%s has no verb %q%s", verb.Name(c), word, remedy)
}

// flagError returns an error for a wrong flag, in our words, with the flag that was probably meant.
func (prog *program) flagError(c *cobra.Command, err error) error {
	help := "\n" + c.CommandPath() + " --help shows the flags"
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return exit.Misused("%s%s", flagValue(err), help)
	}
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return prog.unknownVerb(c, args...)
	}
	name := unknown.GetSpecifiedName()
	has := "there is"
	if c.HasParent() {
		has = verb.Name(c) + " has"
	}
	if len(name) == 1 || unknown.GetSpecifiedShortnames() != "" {
		return exit.Misused("%s no flag -%s%s", has, name, help)
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if near := pipeline.Nearest(name, known); near != "" {
		help = fmt.Sprintf(": did you mean --%s?", near)
	}
	return exit.Misused("%s no flag --%s%s", has, name, help)
}

// flagValue returns what is wrong with the value of a flag, in our words where we know the error.
func flagValue(err error) string {
	if none := (*pflag.ValueRequiredError)(nil); errors.As(err, &none) {
		if short := none.GetSpecifiedShortnames(); short != "" {
			return "-" + none.GetSpecifiedName() + " needs a value"
		}
		return "--" + none.GetFlag().Name + " needs a value"
	}
	wrong := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	var is string
	switch wrong.GetFlag().Value.Type() {
	case "int":
		is = "a whole number"
	case "bool":
		is = "true or false"
	default:
		return err.Error()
	}
	return fmt.Sprintf("--%s %q is not %s", wrong.GetFlag().Name, wrong.GetValue(), is)
}

// atMost and exactly count arguments in our words.
func atMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return exit.Misused("%s takes no argument %q\n%s", verb.Name(c), args[n], usageOf(c))
		}
		return nil
	}
}

func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return exit.Misused("%s needs more arguments\n%s", verb.Name(c), usageOf(c))
		}
		return atMost(n)(c, args)
	}
}

// usageOf returns how a verb is written.
func usageOf(c *cobra.Command) string { return "write " + strings.TrimSuffix(c.UseLine(), " [flags]") }

func versionCommand(prog *program) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  async-pipeline version`,
		Args:    atMost(0),
		RunE: func(*cobra.Command, []string) error {
			prog.Results().Line("async-pipeline %s", version())
			return nil
		},
	}
}

// version returns what the Go toolchain recorded in the program.
func version() string {
	v, commit, dirty := "devel", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if m := info.Main.Version; m != "" && m != "(devel)" {
			v = m
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = ", modified"
			}
		}
	}
	if len(commit) >= 12 && !strings.Contains(v, commit[:12]) {
		v += " (" + commit[:12] + dirty + ")"
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionWord returns the version without the platform.
func versionWord() string {
	word, _, _ := strings.Cut(version(), " ")
	return word
}

func helpCommand(prog *program) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB...]",
		Short: "Show the help of a verb",
		Long:  `Shows the help of a verb, as VERB --help does.`,
		Example: `  async-pipeline help run
  async-pipeline help fix apply`,
		RunE: func(c *cobra.Command, words []string) error {
			about, rest, err := c.Root().Find(words)
			switch {
			case err != nil:
				return prog.unknownVerb(c.Root(), words...)
			case len(rest) > 0 && about.HasSubCommands():
				return prog.unknownVerb(about, rest...)
			case len(rest) > 0:
				return exit.Misused("%s has no verb %q\nwrite async-pipeline help %s", verb.Name(about), rest[0],
					verb.Name(about))
			}
			return about.Help()
		},
	}
}

// setHelp makes --help use our words and at most 80 columns. A word that is not a verb is an error (noTopic), as it
// is without --help.
func setHelp(prog *program, root *cobra.Command) {
	plain, show := root.UsageTemplate(), root.HelpFunc()
	root.SetUsageTemplate(usageTemplate(plain, view.Width))
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
			prog.noTopic = prog.unknownVerb(c, words...)
			return
		}
		if columns := prog.Results().Columns; columns > 0 && columns < view.Width {
			root.SetUsageTemplate(usageTemplate(plain, max(columns, 40)))
			c.Long = rewrapped(c.Long, max(columns, 20))
			for _, verb := range c.Commands() {
				at := 3 + verb.NamePadding()
				verb.Short = strings.Join(view.Wrap(verb.Short, max(columns-at, 20)), "\n"+strings.Repeat(" ", at))
			}
		}
		show(c, args)
	})
}

// rewrapped wraps the paragraphs of a text anew; indented lines stay as they are.
func rewrapped(text string, columns int) string {
	var lines, words []string
	for line := range strings.SplitSeq(text+"\n", "\n") {
		if line != "" && line[0] != ' ' {
			words = append(words, line)
			continue
		}
		if len(words) > 0 {
			lines = append(lines, view.Wrap(strings.Join(words, " "), columns)...)
			words = nil
		}
		lines = append(lines, line)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// usageTemplate adapts cobra's template for the part below the text of a verb.
func usageTemplate(template string, columns int) string {
	return strings.NewReplacer(
		".LocalFlags.FlagUsages", fmt.Sprintf(".LocalFlags.FlagUsagesWrapped %d", columns),
		".InheritedFlags.FlagUsages", fmt.Sprintf(".InheritedFlags.FlagUsagesWrapped %d", columns),
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`,
		"{{.CommandPath}} VERB --help tells more of a verb.",
		"[command]", "VERB",
		"Available Commands:", "Verbs:",
	).Replace(template)
}
