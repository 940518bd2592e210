package verify

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
)

// What PIPELINE.hcl says of a task may be made of files of the tree: file(), filesha256() and fileset(). A patch that
// changes such files changes what the task will run once it is applied, so that is what is verified.

// errDefinition means that PIPELINE.hcl has a fault once the patch is applied.
var errDefinition = errors.New("the patch breaks PIPELINE.hcl")

// defined returns what tasks returns, as PIPELINE.hcl defines it once the patch is applied. Where the patch cannot have
// changed that it is tasks itself.
func (q *Request) defined(tasks []*pipeline.Task) ([]*pipeline.Task, error) {
	c := q.Failure.Config
	if len(q.asked(c.Filesets, c.Asked)) == 0 || q.Failure.Define == nil {
		return tasks, nil
	}
	dir, err := q.Homes.ThrowAway("tmp")
	if err != nil {
		return nil, err
	}
	d, err := q.openDefinition(dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	for _, name := range q.definitionFiles() {
		d.file(name)
	}
	now, err := q.Failure.Define(dir, d.fetch)
	switch {
	case d.err != nil:
		return nil, d.err
	case err != nil:
		return nil, fmt.Errorf("%w: %s", errDefinition, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	as, failure := *q, *q.Failure
	for _, t := range c.Tasks {
		if len(t.Run.Args) > 0 {
			now = now.WithArgs([]string{t.Name}, t.Run.Args)
		}
	}
	as.Failure, failure.Config, failure.Task = &failure, now, now.Task(q.Failure.Task.Name)
	if failure.Task == nil {
		return nil, fmt.Errorf("%w: it has no task %s any more", errDefinition, q.Failure.Task.Shown())
	}
	as.Also = slices.Clone(q.Also)
	for _, t := range now.Tasks { // new instances of what verify names
		named := func(name string) bool { a := c.Task(name); return a != nil && a.Base == t.Base }
		if c.Task(t.Name) == nil && slices.ContainsFunc(q.Also, named) {
			as.Also = append(as.Also, t.Name)
		}
	}
	for _, name := range q.Also {
		if now.Task(name) == nil {
			return nil, fmt.Errorf("%w: it has no task %s any more", errDefinition, c.Task(name).Shown())
		}
	}
	return as.tasks(true), nil
}

// asked returns the paths, relative to the root, of what the patch changes and file functions were asked for.
// PIPELINE.hcl itself is not among them: the patch is not judged by its own.
func (q *Request) asked(filesets, names []string) (all []string) {
	asked := files.AskedFor(filesets, names)
	for _, change := range q.Changes {
		if rel, ok := q.inRoot(change.Path); ok && files.Matches(asked, rel) && !slices.Contains(q.definitionFiles(), rel) {
			all = append(all, rel)
		}
	}
	return all
}

// redefined returns those of tasks that verify names and that the patch defines otherwise: such a check must pass as
// it was, too.
func (q *Request) redefined(tasks, defined []*pipeline.Task) (changed []*pipeline.Task) {
	for _, t := range tasks {
		if t.Name != q.Failure.Task.Name && slices.Contains(q.Also, t.Name) && !same(t, called(defined, t.Name)) {
			changed = append(changed, t)
		}
	}
	return changed
}

func called(tasks []*pipeline.Task, name string) *pipeline.Task {
	if i := slices.IndexFunc(tasks, func(t *pipeline.Task) bool { return t.Name == name }); i >= 0 {
		return tasks[i]
	}
	return &pipeline.Task{}
}

// same reports whether two definitions of a task run the same command in the same way.
func same(t, d *pipeline.Task) bool {
	return reflect.DeepEqual([]any{t.Run, t.Env, t.PassEnv, t.Dir, t.Dotenv, t.Tools}, []any{d.Run, d.Env, d.PassEnv, d.Dir, d.Dotenv, d.Tools})
}

// otherCommand returns the command of a task of a part, if the patch makes it another one than it was.
func (q *Request) otherCommand(p part, t *pipeline.Task) string {
	was := q.Failure.Config.Task(t.Name)
	if p.name != asProposed || was != nil && failedtask.CommandLine(was) == failedtask.CommandLine(t) {
		return ""
	}
	return q.Failure.Clean(failedtask.CommandLine(t))
}

// flagTexts adds a flag for each file that the patch changes and that PIPELINE.hcl makes a command of. From then on the
// check is another one, also where it passes as it was.
func (q *Request) flagTexts(flags []fix.Flag, tasks, defined []*pipeline.Task) []fix.Flag {
	var names []string
	for _, t := range tasks {
		if d := called(defined, t.Name); !same(t, d) {
			names = slices.Concat(names, t.Asked, d.Asked)
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

// definitionFiles returns PIPELINE.hcl and what it includes, relative to the root.
func (q *Request) definitionFiles() []string {
	return append([]string{filepath.Base(q.Failure.Config.File)}, q.Failure.Config.Included...)
}
