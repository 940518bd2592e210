package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/files"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/reads"
	"github.com/async-pipeline/async-pipeline/pipeline/cache/store"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A difference is one thing that decides the result of a task and is not as it was.
type difference struct {
	path    string // of an input; that of a folder with several files ends with /; empty: it is no input
	what    string // how the input differs, or what else differs, and how
	program string // the path of a program of the project that is another one; empty: it is none
	maker   string // the dependency whose output the input is; empty: none
}

// How an input differs.
const (
	isNew       = "is new"
	isGone      = "is gone"
	isNoInput   = "is no longer an input"
	isChanged   = "changed"
	isOtherMode = "changed its mode"
)

// String returns the line that a person reads.
func (d difference) String() string {
	text := d.what
	if d.path != "" {
		text = d.path + " " + d.what
	}
	if d.maker != "" {
		text += ", an output of " + d.maker
	}
	return text
}

// lines returns the text of each difference.
func lines(all []difference) []string {
	var said []string
	for _, d := range all {
		said = append(said, d.String())
	}
	return said
}

// differences returns why a task misses: found is the error with which its result was looked for. made reports
// whether all that differs is what tasks make that it depends on.
func (c *Cache) differences(t *pipeline.Task, now *baseline, inputs []reapi.File, found error) (why []string, made bool) {
	switch {
	case errors.Is(found, errExpired):
		return []string{fmt.Sprintf("older than the ttl of %v", t.Cache.TTL)}, false
	case errors.Is(found, store.ErrDamaged):
		return []string{"entry damaged"}, false
	case !errors.Is(found, store.ErrAbsent):
		return []string{found.Error()}, false
	}
	last := c.baselines.of(c.baselines.name(t))
	if last == nil {
		if len(t.Run.Args) > 0 {
			return []string{"first run with these arguments"}, false
		}
		return []string{"first run"}, false
	}
	if last.Key == now.Key {
		return []string{"entry missing"}, false
	}
	all := c.compare(t, &last.MadeOf, &now.MadeOf, inputs)
	if len(all) == 0 {
		return []string{"the inputs changed"}, false
	}
	return lines(all), !slices.ContainsFunc(all, func(d difference) bool { return d.maker == "" })
}

// compare returns what differs between what a task was made of and what it is made of now, with the inputs that it has
// now. It returns nothing when nothing differs.
func (c *Cache) compare(t *pipeline.Task, last, now *record.MadeOf, inputs []reapi.File) (why []difference) {
	if last.KeyID != now.KeyID {
		return []difference{{what: "the key of the cache changed"}}
	}
	if last.Command != now.Command {
		if t.Agent != nil {
			why = append(why, difference{what: "stdout_to"})
		} else {
			why = append(why, difference{what: "command"})
		}
	}
	for _, name := range changedNames(last.Platform, now.Platform) {
		program, ok := strings.CutPrefix(name, "program ")
		if ok && last.Command != now.Command && (last.Platform[name] == "" || now.Platform[name] == "") {
			continue // the command says that already
		}
		d := difference{what: platformText(name, last.Platform[name], now.Platform[name])}
		if ok && strings.Contains(program, "/") {
			d.program = path.Join(t.Dir, program)
		}
		why = append(why, d)
	}
	names := slices.Concat(changedNames(last.Env, now.Env), changedNames(last.Shown, now.Shown)) // the key has values that are shown, of others hashes
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		why = append(why, difference{what: envText(name, last, now)})
	}
	if last.Inputs != now.Inputs {
		folders := map[string]reapi.Digest{}
		reapi.Directories(inputs, func(dir string, d reapi.Digest, _ []byte) { folders[dir] = d })
		paths := c.changedPaths(reapi.Digest{Hash: last.Inputs, Size: last.InputBytes}, "", inputs, folders)
		why = slices.DeleteFunc(why, func(d difference) bool { // the input says that already
			return d.program != "" && slices.Contains(paths, difference{path: d.program, what: isChanged})
		})
		for i := range paths {
			if paths[i].what == isGone && isThere(filepath.Join(c.Config.Root, filepath.FromSlash(paths[i].path))) {
				paths[i].what = isNoInput // the patterns changed, or what git ignores
			}
			paths[i].maker = c.maker(t, strings.TrimSuffix(paths[i].path, "/"))
		}
		why = append(why, paths...)
		if len(paths) >= mostPaths {
			why = append(why, difference{what: "further paths, which are not listed"})
		}
	}
	return why
}

// isThere reports whether a path has something else than an empty folder.
func isThere(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return err == nil
	}
	names, err := os.ReadDir(path)
	return err == nil && len(names) > 0
}

// platformText tells how a value of the platform differs.
func platformText(name, was, is string) string {
	if strings.HasPrefix(name, "program ") {
		return name + ": another program"
	}
	if tool, ok := strings.CutPrefix(name, "tool "); ok {
		return "program " + tool + ": another version"
	}
	if service, ok := strings.CutPrefix(name, "service "); ok {
		return "service " + pipeline.ShownName(service) + " changed"
	}
	if strings.HasPrefix(name, "agent ") && (reapi.IsHash(was) || reapi.IsHash(is) || was == "" || is == "") {
		return name + " changed"
	}
	switch name {
	case "reads":
		return "it read other files"
	case "strict":
		return "strict"
	}
	return fmt.Sprintf("%s was %s, is %s", name, was, is)
}

// envText tells how a variable differs: with its values, where PIPELINE.hcl shows both.
func envText(name string, last, now *record.MadeOf) string {
	_, before := last.Env[name]
	_, after := now.Env[name]
	was, shownBefore := last.Shown[name]
	is, shownAfter := now.Shown[name]
	switch {
	case !before:
		return "env " + name + " is new"
	case !after:
		return "env " + name + " is gone"
	case shownBefore && shownAfter:
		return fmt.Sprintf("env %s was %s, is %s", name, was, is)
	case last.Env[name] != now.Env[name]:
	case shownBefore:
		return "env " + name + " is no longer in plain text"
	default:
		return "env " + name + " is in plain text now"
	}
	return "env " + name + " changed"
}

// Against returns what differs between what a task was made of in a recorded run and what it is made of now: a line
// each, as a miss has them, and none when nothing differs. The error says why the task cannot be compared.
func (c *Cache) Against(ctx context.Context, t *pipeline.Task, was *record.MadeOf) ([]string, error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	var set *reads.Set
	if sets := c.setsOf(t, was); len(sets) > 0 {
		set = sets[0]
	}
	now, inputs, err := c.now(ctx, t, set, nil)
	if err != nil {
		return nil, err
	}
	return lines(c.compare(t, was, &now.MadeOf, inputs)), nil
}

// maker returns the name of the dependency whose output a path is, or "".
func (c *Cache) maker(t *pipeline.Task, p string) string {
	for _, d := range c.views.needs.of(t) {
		if files.Matches(files.ParseAll(d.Outputs), p) {
			return d.Name
		}
	}
	return ""
}

// changedNames returns the names whose values differ, in order.
func changedNames(was, is map[string]string) (all []string) {
	names := maps.Clone(was)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, is)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		a, before := was[n]
		b, after := is[n]
		if a != b || before != after {
			all = append(all, n)
		}
	}
	return all
}

// mostPaths bounds how many changed paths are looked for.
const mostPaths = 10_000

// changedPaths compares a Directory of the store, which is at prefix, with the files that are there now. folders are the
// digests of all folders now, by their paths.
func (c *Cache) changedPaths(was reapi.Digest, prefix string, now []reapi.File, folders map[string]reapi.Digest) []difference {
	b, err := c.store.Get(was)
	var old []reapi.Node
	if err == nil {
		old, err = reapi.DecodeDirectory(b)
	}
	if err != nil {
		return []difference{{path: prefix + "**", what: isChanged}}
	}
	var all []difference
	heads := headsOf(now, len(prefix))
	for len(all) < mostPaths && (len(old) > 0 || len(heads) > 0) {
		switch {
		case len(heads) == 0 || len(old) > 0 && old[0].Path < heads[0].name:
			all = append(all, difference{path: prefix + c.nodeText(old[0]), what: isGone})
			old = old[1:]
			continue
		case len(old) == 0 || heads[0].name < old[0].Path:
			all = append(all, difference{path: heads[0].textAt(prefix), what: isNew})
			heads = heads[1:]
			continue
		}
		o, h := old[0], heads[0]
		old, heads = old[1:], heads[1:]
		switch {
		case h.folder != (o.Below.Hash != ""):
			all = append(all, difference{path: prefix + h.name, what: isChanged})
		case h.folder:
			if folders[prefix+h.name] != o.Below {
				all = append(all, c.changedPaths(o.Below, prefix+h.name+"/", h.files, folders)...)
			}
		case h.files[0].Digest != o.Digest || h.files[0].Link != o.Link:
			all = append(all, difference{path: prefix + h.name, what: isChanged})
		case h.files[0].Executable != o.Executable:
			all = append(all, difference{path: prefix + h.name, what: isOtherMode})
		}
	}
	return all
}

// A head is one name in a folder, with all files that are it or below it.
type head struct {
	name   string
	folder bool
	files  []reapi.File
}

// textAt returns the path behind a prefix; of a folder with several files that of the folder.
func (h head) textAt(prefix string) string {
	switch {
	case len(h.files) == 1 && !h.files[0].Folder:
		return h.files[0].Path
	case h.folder:
		return prefix + h.name + "/"
	}
	return prefix + h.name
}

// nodeText is textAt for what was there.
func (c *Cache) nodeText(n reapi.Node) string {
	if n.Below.Hash == "" {
		return n.Path
	}
	b, err := c.store.Get(n.Below)
	if err == nil {
		below, err := reapi.DecodeDirectory(b)
		if err == nil && len(below) == 1 {
			return n.Path + "/" + c.nodeText(below[0])
		}
	}
	return n.Path + "/"
}

// headsOf returns the names behind the first skip bytes of paths, sorted.
func headsOf(list []reapi.File, skip int) (all []head) {
	for len(list) > 0 {
		if len(list[0].Path) <= skip { // the empty folder itself
			list = list[1:]
			continue
		}
		name, _, deeper := strings.Cut(list[0].Path[skip:], "/")
		end := 1
		for deeper && end < len(list) && strings.HasPrefix(list[end].Path[skip:], name+"/") {
			end++
		}
		all = append(all, head{name, deeper || list[0].Folder, list[:end]})
		list = list[end:]
	}
	slices.SortFunc(all, func(a, b head) int { return strings.Compare(a.name, b.name) })
	return all
}

// firstDifference names one path in which two lists differ.
func firstDifference(a, b []reapi.File) string {
	for len(a) > 0 && len(b) > 0 && a[0].Path == b[0].Path && a[0].Same(b[0]) {
		a, b = a[1:], b[1:]
	}
	switch {
	case len(a) == 0 && len(b) == 0:
		return ""
	case len(a) == 0 || len(b) > 0 && b[0].Path < a[0].Path:
		return b[0].Path
	}
	return a[0].Path
}
