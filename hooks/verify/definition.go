package verify

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// What PIPELINE.hcl says of a task may be made of files of the tree: file(), filesha256() and fileset(). A patch that
// changes such files changes what the task will run once it is applied, so that is what is verified.

// errDefinition is that a task cannot be read from PIPELINE.hcl with a patch.
var errDefinition = errors.New("the patch breaks PIPELINE.hcl")

// defined returns tasks as PIPELINE.hcl defines them once the patch is applied, with new instances of those that verify
// names. Where the patch cannot have changed them they are returned as they are.
func (q *Request) defined(tasks []*pipeline.Task) ([]*pipeline.Task, error) {
	c := q.Failure.Config
	if len(q.asked(c.Filesets, c.Asked)) == 0 || q.Failure.Define == nil {
		return tasks, nil
	}
	dir, err := q.Homes.ThrowAway("tmp")
	if err != nil {
		return nil, err
	}
	if err := q.putDefinition(dir); err != nil {
		return nil, err
	}
	now, err := q.Failure.Define(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errDefinition, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	tasks = slices.Clone(tasks)
	for i, t := range tasks {
		d := now.WithArgs([]string{t.Name}, t.Run.Args).Task(t.Name)
		if d == nil {
			return nil, fmt.Errorf("%w: it has no task %s any more", errDefinition, t.Shown())
		}
		as := *t
		as.Run, as.Env, as.PassEnv, as.Dir, as.Dotenv, as.Tools = d.Run, d.Env, d.PassEnv, d.Dir, d.Dotenv, d.Tools
		as.Asked = d.Asked
		tasks[i] = &as
	}
	for _, t := range now.Tasks {
		named := func(name string) bool { a := c.Task(name); return a != nil && a.Base == t.Base }
		if c.Task(t.Name) == nil && slices.ContainsFunc(q.Also, named) {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// asked returns the paths, relative to the root, of what the patch changes and file functions were asked for. What a patch
// makes of PIPELINE.hcl itself is no measure of it.
func (q *Request) asked(filesets, names []string) (all []string) {
	asked := files.AskedFor(filesets, names)
	for _, change := range q.Changes {
		if rel, ok := q.inRoot(change.Path); ok && files.Matches(asked, rel) && !slices.Contains(q.definitionFiles(), rel) {
			all = append(all, rel)
		}
	}
	return all
}

// redefined returns those of tasks, without the failed one, that the patch defines otherwise: a check of verify must pass as
// it was, too.
func (q *Request) redefined(tasks, defined []*pipeline.Task) (changed []*pipeline.Task) {
	for i, t := range tasks {
		if !same(t, defined[i]) && t.Name != q.Failure.Task.Name && slices.Contains(q.Also, t.Name) {
			changed = append(changed, t)
		}
	}
	return changed
}

// same reports whether two definitions of a task run the same command in the same way.
func same(t, d *pipeline.Task) bool {
	return reflect.DeepEqual([]any{t.Run, t.Env, t.PassEnv, t.Dir, t.Dotenv, t.Tools}, []any{d.Run, d.Env, d.PassEnv, d.Dir, d.Dotenv, d.Tools})
}

// flagTexts adds a flag for each file that the patch changes and that PIPELINE.hcl makes a command of. From then on the
// check is another one, also where it passes as it was.
func (q *Request) flagTexts(flags []fix.Flag, tasks, defined []*pipeline.Task) []fix.Flag {
	var names []string
	for i, t := range tasks {
		if !same(t, defined[i]) {
			names = slices.Concat(names, t.Asked, defined[i].Asked)
		}
	}
	for _, rel := range q.asked(nil, names) {
		at := path.Join(q.Base.Sub, rel)
		flags = append(flags, fix.Flag{
			ID: fmt.Sprintf("f%d", len(flags)+1), Rule: "check_file", Path: &at,
			Detail: "PIPELINE.hcl makes what a check runs of it; the second check has that as it was",
		})
	}
	return flags
}

// undefined is the verdict where the tasks are not known because of err.
func (q *verification) undefined(r Result, err error) Result {
	o := &outcome{}
	if o.end(q, err); errors.Is(err, errDefinition) {
		o.reason.Code = checkFailed
		r.Feedback = q.Failure.Clean(err.Error())
	}
	r.Checks.Reason = new(o.reason.String())
	return r
}

// inRoot returns the path of a file of the base, relative to the root of the pipeline; false: it is not in there.
func (q *Request) inRoot(p string) (string, bool) {
	if q.Base.Sub == "." {
		return p, true
	}
	return strings.CutPrefix(p, q.Base.Sub+"/")
}

// putDefinition writes into a folder what PIPELINE.hcl is made of once the patch is applied. Of files that only fileset()
// finds, and that the patch leaves as they are, it writes the names.
func (q *Request) putDefinition(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only a folder
	c := q.Failure.Config
	sets := files.AskedFor(c.Filesets, nil)
	read := slices.Concat(q.definitionFiles(), c.Asked, q.asked(c.Filesets, nil))
	changed := map[string]*patch.File{} // nil: it is gone
	for _, change := range q.Changes {
		if rel, ok := q.inRoot(change.Path); ok && !slices.Contains(q.definitionFiles(), rel) {
			changed[rel] = change.After
		}
	}
	found := map[string]bool{}
	for _, t := range c.Tasks {
		for _, name := range t.Reads {
			found[name] = files.Matches(sets, name)
		}
	}
	for name := range changed {
		found[name] = false // as it is after the patch
	}
	put := map[string]bool{}
	for ; len(read) > 0; read = read[1:] {
		name := read[0]
		f, ok := changed[name]
		if !ok {
			if f, err = q.fileOf(name); err != nil {
				return err
			}
		}
		if f == nil || put[name] {
			continue
		}
		put[name] = true
		if to := path.Join(path.Dir(name), string(f.Data)); f.Mode&fs.ModeSymlink != 0 && filepath.IsLocal(to) {
			read = append(read, to)
		}
		if err := putFile(root, name, f); err != nil {
			return err
		}
	}
	for name, is := range found {
		if !is || put[name] {
			continue
		}
		if err := putFile(root, name, &patch.File{}); err != nil {
			return err
		}
	}
	return nil
}

// definitionFiles returns PIPELINE.hcl and what it includes, relative to the root.
func (q *Request) definitionFiles() []string {
	return append([]string{filepath.Base(q.Failure.Config.File)}, q.Failure.Config.Included...)
}

// fileOf returns a file of the base, or of the tree where the base leaves it out, as one that git ignores; nil: there is
// none.
func (q *Request) fileOf(name string) (*patch.File, error) {
	at := name
	if q.Base.Sub != "." {
		at = path.Join(q.Base.Sub, name)
	}
	if f, err := q.Base.Read(at); err != nil || f != nil {
		return f, err
	}
	root, err := os.OpenRoot(q.Failure.Config.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil //nolint:nilerr,nilnil // PIPELINE.hcl says what is wrong with it
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // as above
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(f)
	return &patch.File{Mode: info.Mode(), Data: data}, err
}

// putFile writes a file or a link, with the folders above it.
func putFile(root *os.Root, name string, f *patch.File) error {
	at := filepath.FromSlash(name)
	if err := root.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if f.Mode&fs.ModeSymlink != 0 {
		return root.Symlink(string(f.Data), at)
	}
	return root.WriteFile(at, f.Data, 0o600)
}
