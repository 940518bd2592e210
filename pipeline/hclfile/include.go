package hclfile

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

const (
	maxIncludes = 200      // files that are included, in all
	maxIncluded = 16 << 20 // bytes of all of them
	maxNested   = 10       // includes in each other
)

// A reading is what the files of one call of Load share.
type reading struct {
	o       Options
	dir     string // of the root file
	secrets *secrets
	reports []*report // of all files, the root file's first
	sources []*source // files that are included, in the order in which they were read
	size    int       // bytes of them
	totals
}

// totals are counted over all files, so that no number of files multiplies a limit.
type totals struct {
	spent     int  // bytes of the values so far, about
	broke     bool // too many of them have been reported
	instances int  // of all tasks so far
	edges     int  // references between tasks so far
	read      readTotals
}

// shown returns a path of the root file's folder, or below it, in Options.Root.
func (r *reading) shown(path string) string {
	if rel, err := filepath.Rel(r.dir, path); err == nil && r.o.Root != "" {
		return filepath.Join(r.o.Root, rel)
	}
	return path
}

func newReading(o Options) *reading { return &reading{o: o, secrets: newSecrets()} }

// A source is one file of a reading.
type source struct {
	path string            // for people
	abs  string            // its absolute path
	name string            // as the root file calls it: api, api:db; empty for the root file itself
	vars map[string]string // of --var: its own, and those of files that it includes with their names in front
	dir  os.FileInfo       // its folder

	// Of a file that is included.
	by      *source            // the file that includes it
	rel     string             // its path relative to the folder of that file
	given   map[string]*passed // values of the include block
	touched uses               // what went into them; files are relative to the folder of this file: ../../x
}

// A passed value is one that an include block gives to a variable.
type passed struct {
	value      cty.Value
	secret     bool
	nameAt, at hcl.Range
	in         *reader // of the file with the include block: the value's faults are there
}

// variable returns the name of a variable of this file as --var has it.
func (s *source) variable(name string) string {
	if s.name == "" {
		return name
	}
	return s.name + ":" + name
}

// decode reads a file and what it includes. It returns nil where the syntax of the file has faults.
func (all *reading) decode(s *source, src []byte) *decoder {
	r := newReport(s.path, src)
	all.reports = append(all.reports, r)
	body, ok := (&parser{r}).parse(src)
	if !ok {
		return nil
	}
	d := newDecoder(r, s, all)
	d.file((&matcher{r}).block(body, &language))
	return d
}

// An includer reads include blocks.
type includer struct {
	*references
	all *reading
	of  *source // the file that they stand in
}

// include reads the file that a block names. It returns nil where that has no tasks that could be taken.
func (r *includer) include(b *block, entries map[string]hcl.Range) *decoder {
	named := false
	name, ok := r.str(b, "name")
	if a := r.need(b, "name", `Write name = "api": its task test is then api:test.`, "include %q has no name", b.name); ok {
		named = r.newName(name, a.Expr.Range(), entries)
	}
	if named {
		r.included[name] = &declared{name: name, file: true, unread: true}
	}
	s := &source{by: r.of, rel: b.name, name: r.of.variable(name), vars: ownVars(r.of.vars, name)}
	outer := r.touched
	r.touched = newUses()
	s.given, s.touched = r.given(b.attrs["variables"]), newUses()
	up := strings.Repeat("../", strings.Count(s.rel, "/"))
	for file := range r.touched.files {
		s.touched.files[up+file] = true
	}
	for pattern := range r.touched.sets {
		s.touched.sets[up+pattern] = true
	}
	for file := range r.touched.asked {
		s.touched.asked[up+file] = true
	}
	r.touched = outer
	src, ok := r.read(s, b.nameAt)
	if !ok {
		return nil
	}
	d := r.all.decode(s, src)
	if d == nil || !named {
		return nil
	}
	r.adopt(name, d.references)
	embed(d.c, name, path.Dir(s.rel))
	return d
}

// ownVars returns those values of --var that are for an included file: go for api:go.
func ownVars(vars map[string]string, name string) map[string]string {
	own := make(map[string]string)
	for v, value := range vars {
		if rest, ok := strings.CutPrefix(v, name+":"); ok {
			own[rest] = value
		}
	}
	return own
}

// strayVars adds a fault for each --var for an included file that is not there.
func (r *includer) strayVars() {
	for _, v := range slices.Sorted(maps.Keys(r.of.vars)) {
		name, rest, ok := strings.Cut(v, ":")
		if !ok || r.included[name] != nil {
			continue
		}
		e := pipeline.Error{
			Pos:     pipeline.Pos{File: r.path},
			Summary: fmt.Sprintf("--var gives %q, but there is no include %q", r.of.variable(v), name),
			Detail:  "A name with a colon is that of a variable of an included file: --var NAME:VARIABLE=VALUE.",
		}
		if near := pipeline.Nearest(name, r.below("")); near != "" {
			e.Suggestion = r.of.variable(near + ":" + rest)
			e.Detail = fmt.Sprintf("Did you mean %s?", e.Suggestion)
		}
		r.put(e)
	}
}

// given reads the values that an include block gives to variables.
func (r *includer) given(a *hcl.Attribute) map[string]*passed {
	all := make(map[string]*passed)
	if a == nil {
		return all
	}
	add := func(v cty.Value, p *passed, name string) {
		switch {
		case all[name] != nil:
			r.addf(p.nameAt, "Take one of them out.", "variables has %s twice", name)
			return
		case v.IsNull():
			r.open(v, p.at, name)
			return
		}
		p.in = r.reader
		for _, secret := range marksIn(v) {
			p.secret = true
			if !strings.HasPrefix(secret, "var.") {
				r.addf(p.at, fmt.Sprintf("Write secret(%q) in the included file, where the value is needed: it reads the same environment.", secret),
					"the value of %s is made from secret(%q)", name, secret)
				return
			}
		}
		p.value, _ = v.UnmarkDeep()
		all[name] = p
	}
	if pairs, diags := hcl.ExprMap(a.Expr); !diags.HasErrors() {
		for _, pair := range pairs {
			key, value := r.eval(pair.Key, place{}), r.eval(pair.Value, place{})
			if !key.ok {
				continue
			}
			if name, ok := r.openText(key.Value, pair.Key.Range(), "a name in variables"); ok && value.ok {
				add(value.Value, &passed{nameAt: pair.Key.Range(), at: pair.Value.Range()}, name)
			}
		}
		return all
	}
	const do = "Write variables = { NAME = value }."
	v, ok := r.value(a)
	at := a.Expr.Range()
	switch t := v.Type(); {
	case !ok:
	case !t.IsObjectType() && !t.IsMapType():
		r.addf(at, fmt.Sprintf("It is %s. %s", kind(v), do), "variables must be a map")
	default:
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			add(e, &passed{nameAt: at, at: at}, k.AsString())
		}
	}
	return all
}

// marksIn returns the names of the secrets that a value, or a part of it, was made from.
func marksIn(v cty.Value) []string {
	_, marks := v.UnmarkDeep()
	return markNames(marks)
}

// read reads the bytes of an included file, after checking where it is.
func (r *includer) read(s *source, at hcl.Range) (src []byte, ok bool) {
	if summary, detail := wrongPath(s.rel); summary != "" {
		r.add(at, summary, detail)
		return nil, false
	}
	s.path = filepath.Join(filepath.Dir(r.of.path), filepath.FromSlash(s.rel))
	s.abs = filepath.Join(filepath.Dir(r.of.abs), filepath.FromSlash(s.rel))
	depth := 0
	for above := s.by; above != nil; above = above.by {
		depth++
	}
	switch {
	case depth > maxNested:
		r.add(at, fmt.Sprintf("includes are nested more than %d deep", maxNested), "Include the file from a folder further up.")
		return nil, false
	case len(r.all.sources) >= maxIncludes:
		r.add(at, fmt.Sprintf("more than %d files are included", maxIncludes), "Run some of them by themselves.")
		return nil, false
	}
	if summary, detail := r.located(s); summary != "" {
		r.add(at, summary, detail)
		return nil, false
	}
	src, err := readFile(s.abs, false)
	if err != nil {
		why := reasonOf(err)
		if rest, ok := strings.CutPrefix(why, s.abs+" "); ok {
			why = "it " + rest
		}
		r.add(at, s.rel+" cannot be read", sentence(why))
		return nil, false
	}
	r.all.sources = append(r.all.sources, s)
	if r.all.size += len(src); r.all.size > maxIncluded {
		r.add(at, "the included files are larger than 16 MiB together", "Run some of them by themselves.")
		return nil, false
	}
	return src, true
}

// wrongPath returns what is wrong with the path of an include as it is written, and what to do.
func wrongPath(rel string) (summary, detail string) {
	const do = "Write it relative to the folder of this file, such as services/api/" + Name + "."
	folder, name := path.Split(rel)
	switch {
	case strings.TrimSpace(rel) == "":
		return "include names no file", do
	case strings.ContainsFunc(rel, unicode.IsControl):
		return "the path of an include has control characters", do
	case strings.Contains(rel, `\`):
		return "the path of an include has a backslash", "Write slashes between folders."
	case path.IsAbs(rel):
		return "the path of an include is absolute", do
	case !filepath.IsLocal(rel):
		return "an include leaves the folder of this file", "A file includes files in folders below its own."
	case path.Clean(rel) != rel:
		return "the path of an include is not written plainly", fmt.Sprintf("Write %q.", path.Clean(rel))
	case slices.ContainsFunc(strings.Split(rel, "/"), isOurs):
		return "the path of an include leads into .git or .async", do
	case name != Name && name != NameJSON:
		return fmt.Sprintf("an included file is called %s, and not %s", Name, name), fmt.Sprintf("Write %q, or move it there.", path.Join(folder, strings.TrimSuffix(name, path.Ext(name)), Name))
	case strings.ContainsAny(rel, "*?[]{}") || strings.HasPrefix(rel, "!"):
		return "the path of an include has characters of a pattern", "Name one file, in a folder whose name has none of * ? [ ] { } and no ! in front."
	}
	return "", ""
}

// located finds the folder of a file, and returns what is wrong with it. No link is followed: git and the copies of the
// tree do not follow links to folders either.
func (r *includer) located(s *source) (summary, detail string) {
	at := filepath.Dir(r.of.abs)
	names := strings.Split(s.rel, "/")
	for i, name := range names {
		info, err := os.Lstat(filepath.Join(at, name))
		part := strings.Join(names[:i+1], "/")
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "there is no file " + s.rel, otherFile(s)
		case err != nil:
			return s.rel + " cannot be read", sentence(reasonOf(err))
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Sprintf("the path of an include leads through a link: %s", part), "Name the file where it is."
		case i < len(names)-1 && !info.IsDir():
			return fmt.Sprintf("%s is not a folder", part), "Correct the path."
		}
		at = filepath.Join(at, name)
	}
	dir, err := os.Stat(filepath.Dir(s.abs))
	if err != nil {
		return s.rel + " cannot be read", sentence(reasonOf(err))
	}
	s.dir = dir
	chain, again := s.shown(), false
	for above := s.by; above != nil; above = above.by {
		chain = above.shown() + " → " + chain
		info, err := os.Stat(filepath.Dir(above.abs))
		again = again || err == nil && os.SameFile(info, dir)
	}
	if again {
		return "files include each other: " + chain, "A file includes files in folders below its own."
	}
	for _, other := range r.all.sources {
		if os.SameFile(other.dir, dir) {
			return fmt.Sprintf("%s is included twice: as %s and as %s", s.shown(), other.name, s.name), "Its tasks would run twice, on the same files. Take one of them out."
		}
	}
	return "", ""
}

// shown returns the path of a file relative to the root file's folder.
func (s *source) shown() string {
	if s.by == nil {
		return filepath.Base(s.abs)
	}
	return path.Join(path.Dir(s.by.shown()), s.rel)
}

// otherFile returns what to do where a file is not there.
func otherFile(s *source) string {
	other := s.rel + ".json"
	if strings.HasSuffix(s.rel, ".json") {
		other = strings.TrimSuffix(s.rel, ".json")
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(s.by.abs), filepath.FromSlash(other))); err == nil {
		return fmt.Sprintf("Did you mean %s?", other)
	}
	return "The path is relative to the folder of this file."
}

// reasonOf returns the reason of an error of the file system, without the path.
func reasonOf(err error) string {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
