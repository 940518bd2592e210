package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/exit"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/unixat"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// stdin is how a person names it among files.
const stdin = "-"

// mostFormatted is how much of a file is read, in bytes: one more than a PIPELINE.hcl may have.
const mostFormatted = 1<<20 + 1

func fmtCommand(prog *program) *cobra.Command {
	f := &formatting{prog: prog}
	c := &cobra.Command{
		Use:   "fmt [FILE...]",
		Short: "Put PIPELINE.hcl into canonical form",
		Long: `Formats PIPELINE.hcl, or the files named, in place, and prints the names of
those it changed. Only spaces and the end of the file are changed. A link inside
the project is followed. With - it reads stdin and writes stdout. When one of
the files has faults, none is written. A process that a hook started may only
look: --check, --diff, -.

Exit code: 0 done, 1 --check found a file that is not formatted, 2 could not be
carried out.`,
		Example: `  async-pipeline fmt
  async-pipeline fmt --diff
  async-pipeline fmt - < PIPELINE.hcl`,
		RunE: func(_ *cobra.Command, args []string) error { return f.run(args) },
	}
	c.Flags().BoolVar(&f.check, "check", false,
		"write nothing; print the names of files that are not formatted, and exit with 1")
	c.Flags().BoolVar(&f.diff, "diff", false, "write nothing; print what would be changed, as a unified diff")
	return c
}

// A formatting is one call of fmt.
type formatting struct {
	prog        *program
	check, diff bool
}

// A source is one file that is formatted, before and after.
type source struct {
	path          string // absolute; - for stdin
	info          fs.FileInfo
	before, after []byte
}

func (s *source) changed() bool { return !bytes.Equal(s.before, s.after) }

// name returns what a source is called in messages and diffs.
func (s *source) name() string {
	if s.path == stdin {
		return "stdin"
	}
	return s.path
}

func (f *formatting) run(args []string) error {
	writes := !f.check && !f.diff && !slices.Contains(args, stdin)
	if writes {
		if err := notInHook(f.prog, "only a person has files formatted; --check and --diff write nothing"); err != nil {
			return err
		}
	}
	paths, err := f.paths(args)
	if err != nil {
		return err
	}
	var all []*source
	var faults pipeline.Errors
	for _, path := range paths {
		s, err := f.read(path)
		if err != nil {
			return err
		}
		s.after, err = hclfile.Format(s.name(), s.before)
		if some := pipeline.Errors(nil); errors.As(err, &some) {
			faults = append(faults, some...)
		} else if err != nil {
			return err
		}
		all = append(all, s)
	}
	if len(faults) > 0 {
		f.prog.Messages().Diagnostics(faults)
		return exit.Refuse("nothing was formatted")
	}
	return f.tell(all)
}

// paths returns the named files, or PIPELINE.hcl where none is named.
func (f *formatting) paths(args []string) ([]string, error) {
	if len(args) == 0 {
		file, err := f.prog.settledFile()
		if err != nil {
			return nil, err
		}
		file, err = f.followed(file, filepath.Dir(file))
		return []string{file}, err
	}
	if slices.Contains(args, stdin) {
		if len(args) > 1 {
			return nil, exit.Misused("- stands for stdin, and alone: format the files in a call of their own")
		}
		return args, nil
	}
	dir, err := f.prog.Start()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, arg := range args {
		if arg == "" {
			return nil, exit.Misused("a file has an empty name: is a variable not set?")
		}
		path := filepath.Clean(arg)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		root := filepath.Dir(path)
		if file, err := hclfile.Find(root); err == nil {
			root = filepath.Dir(file)
			if err := f.prog.recoverApply(root); err != nil {
				return nil, err
			}
		}
		if path, err = f.followed(path, root); err != nil {
			return nil, err
		}
		if !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all, nil
}

// followed returns the target of a link, or path itself. A link out of the project is refused: it is not ours to
// write.
func (f *formatting) followed(path, root string) (string, error) {
	info, err := os.Lstat(path)
	if isLink := err == nil && info.Mode()&fs.ModeSymlink != 0; !isLink {
		return path, nil // read says what is wrong with it
	}
	shown := f.prog.Messages().Path(path)
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", exit.Refuse("%s is a symbolic link to a file that is not there", shown)
	}
	if err != nil {
		return "", exit.Refuse("%s is a symbolic link that cannot be followed: %v", shown, err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	if in, err := filepath.Rel(root, target); err != nil || !filepath.IsLocal(in) {
		return "", exit.Refuse("%s is a symbolic link that leads out of the project, to %s: name that file to have it formatted", shown, f.prog.Messages().Path(target))
	}
	return target, nil
}

// read reads a file. It refuses what could not be replaced by a regular file.
func (f *formatting) read(path string) (*source, error) {
	if path == stdin {
		b, err := io.ReadAll(io.LimitReader(f.prog.Stdin, mostFormatted))
		if err != nil {
			return nil, exit.Refuse("stdin cannot be read: %v", err)
		}
		return &source{path: path, before: b}, nil
	}
	shown := f.prog.Messages().Path(path)
	info, err := os.Lstat(path)
	switch {
	case unixat.IsNotExist(err):
		return nil, exit.Refuse("there is no file %s", shown)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, exit.Refuse("%s is a folder: name the files in it", shown)
	case !info.Mode().IsRegular():
		return nil, exit.Refuse("%s is not a regular file", shown)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, exit.Refuse("%s may not be read: change its permissions", shown)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(io.LimitReader(file, mostFormatted))
	return &source{path: path, info: info, before: b}, err
}

// tell prints, compares or writes, as the flags ask.
func (f *formatting) tell(all []*source) error {
	different := 0
	for _, s := range all {
		switch {
		case s.path == stdin && !f.check && !f.diff:
			if _, err := f.prog.Out.Write(s.after); err != nil {
				return err
			}
		case !s.changed():
		case f.diff:
			different++
			if err := f.difference(s); err != nil {
				return err
			}
		case f.check:
			different++
			f.prog.Results().Line("%s", f.prog.Results().Path(s.name()))
		default:
			if err := f.write(s); err != nil {
				return err
			}
			f.prog.Results().Line("%s", f.prog.Results().Path(s.path))
		}
	}
	if f.check && different > 0 {
		return exit.With(exit.Failed)
	}
	return nil
}

// difference prints a diff that git apply takes; on a terminal one without control characters.
func (f *formatting) difference(s *source) error {
	name, mode := s.name(), fs.FileMode(0o644)
	if s.path != stdin {
		name, mode = filepath.Base(s.path), s.info.Mode()
		if dir, err := f.prog.Start(); err == nil {
			if rel, err := filepath.Rel(dir, s.path); err == nil && filepath.IsLocal(rel) {
				name = rel
			}
		}
	}
	diff, err := patch.Encode([]patch.Change{{
		Path: filepath.ToSlash(name), Before: &patch.File{Mode: mode, Data: s.before},
		After: &patch.File{Mode: mode, Data: s.after},
	}})
	if err != nil {
		return fmt.Errorf("the difference in %s cannot be shown: %w", s.path, err)
	}
	if f.prog.OnTerminal() {
		f.prog.Results().Diff(diff)
		return nil
	}
	_, err = f.prog.Out.Write(diff)
	return err
}

// write replaces a file atomically and keeps its permissions and owner.
func (f *formatting) write(s *source) error {
	shown := f.prog.Messages().Path(s.path)
	if s.info.Mode().Perm()&0o200 == 0 {
		return exit.Refuse("%s is write-protected: change its permissions (chmod u+w)", shown)
	}
	if now, err := os.ReadFile(s.path); err != nil || !bytes.Equal(now, s.before) {
		return exit.Refuse("%s was changed while it was being formatted: try again", shown)
	}
	dir := filepath.Dir(s.path)
	file, err := renameio.NewPendingFile(s.path, renameio.WithTempDir(dir),
		renameio.WithStaticPermissions(s.info.Mode().Perm()))
	if err != nil {
		return exit.Refuse("%v", advice.Writing(err, s.path))
	}
	defer file.Cleanup() //nolint:errcheck // nothing is left to do when it cannot be removed
	if owner, ok := s.info.Sys().(*syscall.Stat_t); ok {
		// only root may give a file away; anybody else's is his own again
		_ = file.Chown(int(owner.Uid), int(owner.Gid))
	}
	if _, err = file.Write(s.after); err == nil {
		err = file.CloseAtomicallyReplace()
	}
	if err != nil {
		return exit.Refuse("%v", advice.Writing(err, s.path))
	}
	return nil
}
