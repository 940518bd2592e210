package cache

// What the key of a task is made of.

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/reads"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// services returns the keys of the services that a task needs, by name: what they are made of decides what it sees. An
// error means that this is not known of one of them. known has keys that were found already, and gets the others; nil: there
// are none. Without it a chain of services would be looked at again for each of them.
func (c *Cache) services(ctx context.Context, t *pipeline.Task, known map[string]string) (map[string]string, error) {
	if !c.serves {
		return nil, nil
	}
	if known == nil {
		known = map[string]string{}
	}
	keys := map[string]string{}
	for _, s := range c.Config.Services(t) {
		if known[s.Name] == "" {
			key, err := c.serviceKey(ctx, s, known)
			if err != nil {
				return nil, err
			}
			known[s.Name] = key
		}
		keys[s.Name] = known[s.Name]
	}
	return keys, nil
}

// ServiceKey returns the key of what a service is made of now: its command, environment, programs, inputs, and the
// services that it needs. An error means that this is not known, as where it has no inputs.
func (c *Cache) ServiceKey(ctx context.Context, s *pipeline.Task) (string, error) {
	return c.serviceKey(ctx, s, nil)
}

func (c *Cache) serviceKey(ctx context.Context, s *pipeline.Task, known map[string]string) (string, error) {
	if len(s.Inputs) == 0 {
		return "", fmt.Errorf("the service %s, which it needs, has no inputs", pipeline.ShownName(s.Name))
	}
	if err := c.open(); err != nil {
		return "", err
	}
	made, inputs, err := c.now(ctx, s, nil, known)
	if err == nil && len(inputs) == 0 {
		err = fmt.Errorf("the service %s, which it needs: %w", pipeline.ShownName(s.Name), errNoInput)
	}
	return made.Key, err
}

// now returns of what a task is made now, and its inputs: set, or those that it declares. known is as in services.
func (c *Cache) now(ctx context.Context, t *pipeline.Task, set *reads.Set, known map[string]string) (made baseline, inputs []reapi.File, err error) {
	d, err := c.Describe(t)
	if err != nil {
		return made, nil, err
	}
	_, inputs, _, err = c.inputs(ctx, t, set)
	if err != nil {
		return made, nil, err
	}
	made, err = c.describe(ctx, t, d, reapi.Directories(inputs, nil), set, known)
	return made, inputs, err
}

// describe makes the action of a task: the baseline that it will be once it has passed, with its key. root has its
// inputs, which are set or those that it declares. known is as in services. c.mu is not locked.
func (c *Cache) describe(ctx context.Context, t *pipeline.Task, d Task, root reapi.Digest, set *reads.Set, known map[string]string) (baseline, error) {
	l := baseline{
		Version: baselineVersion, Run: c.Run,
		MadeOf: record.MadeOf{
			KeyID: hashed(c.key, "key"), Inputs: root.Hash, InputBytes: root.Size,
			Env: map[string]string{}, Shown: map[string]string{}, Platform: map[string]string{},
		},
	}
	cmd := reapi.Command{Dir: t.Dir, Outputs: t.Outputs}
	if cmd.Dir == "." {
		cmd.Dir = ""
	}
	for _, a := range d.Argv {
		if d.Secret(a) { // a digest of a short secret would give it away, a keyed one does not
			a = hashed(c.key, a)
		}
		cmd.Argv = append(cmd.Argv, a)
	}
	l.Command = reapi.DigestOf(cmd.Encode()).Hash
	for _, v := range d.Env {
		h := hashed(c.key, v.Value)
		l.Env[v.Name] = h
		if v.Plain {
			l.Shown[v.Name] = v.Value
			h = v.Value
		}
		cmd.Env = append(cmd.Env, reapi.Pair{Name: v.Name, Value: h})
	}
	slices.SortFunc(cmd.Env, func(a, b reapi.Pair) int { return strings.Compare(a.Name, b.Name) })
	l.Platform["os"], l.Platform["arch"], l.Platform["sandbox"] = runtime.GOOS, runtime.GOARCH, d.Sandbox
	// Two tasks with one command may find another world, as before and after a migration, and instances may repeat a test.
	l.Platform["task"] = t.Name
	for _, a := range d.Agent {
		if l.Platform[a.Name] = a.Value; !a.Plain {
			l.Platform[a.Name] = hashed(c.key, a.Value)
		}
	}
	own := files.ParseAll(t.Outputs)
	for _, p := range d.Programs {
		if c.ownProgram(own, p) {
			continue
		}
		digest, err := c.programs.digest(ctx, p.Path)
		if err != nil {
			return l, fmt.Errorf("program %s: %w", p.Name, err)
		}
		l.Platform["program "+p.Name] = digest
	}
	for _, tool := range t.Tools {
		said, err := c.tool(ctx, t, tool, l.Env)
		if err != nil {
			return l, err
		}
		delete(l.Platform, "program "+tool.Name)
		l.Platform["tool "+tool.Name] = said
	}
	services, err := c.services(ctx, t, known)
	if err != nil {
		return l, err
	}
	for name, key := range services {
		l.Platform["service "+name] = key
	}
	if t.Strict { // what nobody looked at is no result of a strict task
		l.Platform["strict"] = "true"
	}
	if set != nil {
		l.Platform["reads"] = set.Digest()
	}
	var platform []reapi.Pair
	for _, name := range slices.Sorted(maps.Keys(l.Platform)) {
		platform = append(platform, reapi.Pair{Name: name, Value: l.Platform[name]})
	}
	l.Key = reapi.DigestOf(reapi.EncodeAction(reapi.DigestOf(cmd.Encode()), root, platform)).Hash
	return l, nil
}

// ownProgram reports whether a task with the outputs own makes a program itself.
func (c *Cache) ownProgram(own []files.Pattern, p Program) bool {
	rel, err := filepath.Rel(c.Config.Root, p.Path)
	return err == nil && files.Matches(own, filepath.ToSlash(rel))
}

// inputs returns the input root of a task: its inputs, which are set or those that it declares, what its file functions
// read, and the outputs of all that it depends on. before are its own outputs as they are now.
func (c *Cache) inputs(ctx context.Context, t *pipeline.Task, set *reads.Set) (v *files.View, in, before []reapi.File, err error) {
	v, err = c.views.of(ctx, t)
	if err != nil {
		return nil, nil, nil, err
	}
	before, _ = v.Outputs(t.Outputs)
	in, err = c.inputsIn(v, t, set)
	return v, in, before, err
}

// inputsIn is inputs in a view.
func (c *Cache) inputsIn(v *files.View, t *pipeline.Task, set *reads.Set) (in []reapi.File, err error) {
	patterns := t.Inputs
	if len(t.Reads) > 0 {
		patterns = append(slices.Clone(patterns), files.EscapeAll(t.Reads)...)
	}
	in, err = c.views.inputs(v, patterns, t.Outputs)
	if err == nil && set != nil {
		var read []reapi.File
		read, err = reads.Files(v, c.Config.Root, *set, files.ParseAll(t.Outputs))
		in = files.Tidy(slices.Concat(in, read))
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var more []reapi.File
	for _, d := range c.views.needs.of(t) {
		if len(d.Outputs) == 0 {
			continue
		}
		made, foreseen := c.foreseen[d.Name]
		if foreseen {
			old := files.ParseAll(d.Outputs)
			in = slices.DeleteFunc(slices.Clone(in), func(f reapi.File) bool { return files.Matches(old, f.Path) })
		} else {
			made, _ = v.Outputs(d.Outputs)
		}
		more = append(more, made...)
	}
	if len(more) == 0 {
		return in, nil
	}
	own := files.ParseAll(t.Outputs)
	more = slices.DeleteFunc(more, func(f reapi.File) bool { return files.Matches(own, f.Path) })
	return files.Tidy(slices.Concat(in, more)), nil
}
