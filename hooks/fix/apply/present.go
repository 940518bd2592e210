// What the tree holds now, against what the fix found and what it makes.

package apply

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// present finds what is still to be written: files that are already as they are to be are done, every other one must be as
// the fix found it (but for hunks that it has already), or is merged where that was asked for.
func (w *work) present(ctx context.Context) error {
	var u unfit
	var blocked []string
	folders := map[string]bool{} // paths to be added where a folder stands
	for i := range w.aims {
		a := &w.aims[i]
		h, err := w.look(a)
		if err != nil {
			return err
		}
		if from, to := a.ends(); from == nil && h.dir && to != nil {
			folders[a.path] = true
		}
		n, err := w.next(ctx, a, h)
		if err != nil {
			return err
		}
		switch {
		case n.why != "":
			u.add(a.path, n)
		case !n.there:
			w.move(a, h, n)
		case n.since:
			w.since = append(w.since, a.path)
		}
	}
	for _, m := range w.moves {
		at, err := w.place.blocked(m.path)
		if err != nil {
			return refused("%w", err)
		}
		if at != "" && !w.deletes(at) {
			blocked = append(blocked, fmt.Sprintf("%s (%s is no folder)", m.path, at))
		}
		if folders[m.path] {
			if other, err := w.stays(m.path); err != nil {
				return refused("%w", err)
			} else if other != "" {
				u.add(m.path, next{why: "a folder that holds " + other})
			}
		}
	}
	if len(blocked) > 0 {
		return refused("a link or file is on the way to: %s; move it away, or heal again", english.List(blocked, 10))
	}
	if len(u.paths) == 0 {
		return nil
	}
	return w.conflict(ctx, &u)
}

// look reads a path; whole only where what it holds is none of its two ends.
func (w *work) look(a *aim) (held, error) {
	h, err := w.place.look(a.path, most(a.before, a.after))
	if err == nil && h.long {
		h, err = w.place.look(a.path, maxMerge)
	}
	if err != nil {
		return h, refused("%w", err)
	}
	return h, nil
}

// A next is what becomes of a path: it is there already, to is written, or it cannot be, and why.
type next struct {
	there   bool
	since   bool // there, and edited elsewhere since it was applied
	to      *patch.File
	merged  bool
	why     string
	clashes []patch.Clash // where git would leave markers
}

// next judges one path.
func (w *work) next(ctx context.Context, a *aim, h held) (next, error) {
	if a.edited != nil {
		return w.nextEdited(ctx, a, h)
	}
	from, to := a.ends()
	switch {
	case h.holds(to) && !h.holds(from):
		return next{there: true}, nil
	case to == nil && h.dir && w.addsBelow(a.path):
		return next{there: true}, nil // a folder has taken its place, as the patch wants it
	case from == nil && h.dir:
		return w.spliced(a, held{}, slices.Repeat([]bool{a.back}, len(a.parts)))
	case !a.back && w.wroteIt(a, h):
		return next{there: true}, nil
	}
	if has, ok := w.holdsParts(a, h); ok {
		return w.spliced(a, h, has)
	}
	if a.back {
		if n, ok, err := w.chained(a, h); ok || err != nil {
			return n, err
		}
	}
	done := !a.back && w.covers(*a)
	if !w.threeWay && !done {
		return next{why: difference(h, from)}, nil
	}
	n, err := w.merge(ctx, a, h, nil)
	n.since = done && n.there
	if !w.threeWay && !n.since { // what was applied is not in it any more, or nobody can say
		return next{why: difference(h, from)}, nil
	}
	return n, err
}

// spliced is next for a path that holds these parts of the patch.
func (w *work) spliced(a *aim, h held, has []bool) (next, error) {
	want := with(has, a.parts, a.back)
	if slices.Equal(has, want) {
		return next{there: true}, nil
	}
	to, err := a.group.Splice(h.file, has, want)
	if err != nil {
		return next{}, refused("%s: %w", w.proposal.PatchPath(), err)
	}
	end, known := a.after, !slices.Contains(want, false)
	if !slices.Contains(want, true) {
		end, known = a.before, true
	}
	if known && !(held{file: to}).holds(end) {
		return next{}, refused("%w: the patch does not make of %q what the record says", fix.ErrDamaged, a.path)
	}
	return next{to: to}, nil
}

// move adds what is written, and what has to be known of it later.
func (w *work) move(a *aim, h held, n next) {
	m := move{path: a.path, before: fix.ContentOf(h.file), after: fix.ContentOf(n.to), was: h.file, to: n.to, perm: h.perm}
	w.moves = append(w.moves, m)
	if n.merged {
		w.Merged = append(w.Merged, a.path)
	}
	if !a.back && (!equal(m.before, a.before) || !equal(m.after, a.after)) {
		w.Wrote = append(w.Wrote, fix.Wrote{Path: a.path, PathBytes: fix.RawPath(a.path), Before: m.before, After: m.after})
	}
}

func equal(a, b *fix.Content) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// addsBelow says whether the patch, or its way back, adds something below a path.
func (w *work) addsBelow(dir string) bool {
	for name, r := range w.patched {
		to := r.After
		if w.what == toRevert {
			to = r.Before
		}
		if to != nil && strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// quoted is one word for a shell.
func quoted(word string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@"
	if strings.Trim(word, bare) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// recorded says whether all that is chosen is recorded as applied.
func (w *work) recorded() bool {
	return w.what == toApply && !slices.ContainsFunc(w.aims, func(a aim) bool { return !w.covers(a) })
}

// covers says whether the chosen parts of a path are recorded as applied.
func (w *work) covers(a aim) bool {
	s := w.stood[fix.AsStored(a.path)]
	if s.All {
		return true
	}
	for i, set := range a.parts {
		if set && (i >= len(s.Hunks) || !s.Hunks[i]) {
			return false
		}
	}
	return true
}

func most(a, b *fix.Content) int64 {
	var n int64
	for _, c := range []*fix.Content{a, b} {
		if c != nil {
			n = max(n, c.Bytes)
		}
	}
	return n
}

// difference says in a few words how a path differs from what it was to hold.
func difference(h held, before *fix.Content) string {
	switch {
	case h.dir:
		return "a folder now"
	case h.file == nil && !h.other:
		return "gone"
	case before == nil:
		return "is there already"
	case h.file != nil && !h.long && recordfile.Digest(h.file.Data) == before.Digest:
		return "its mode changed"
	}
	return "changed"
}

// deletes says whether the path itself goes away.
func (w *work) deletes(name string) bool {
	return slices.ContainsFunc(w.moves, func(m move) bool { return m.path == name && m.after == nil })
}

// stays gives something below a folder that is still there when the deletions are done; empty when the folder goes.
func (w *work) stays(dir string) (string, error) {
	f, err := w.place.folder(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // opened for reading
	names, err := f.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	for _, base := range names {
		name := path.Join(dir, base)
		h, err := w.place.look(name, 0)
		if err != nil {
			return "", err
		}
		if h.dir {
			if other, err := w.stays(name); other != "" || err != nil {
				return other, err
			}
			if !slices.ContainsFunc(w.moves, func(m move) bool { return strings.HasPrefix(m.path, name+"/") }) {
				return name + "/", nil // an empty folder, which no deletion takes along
			}
		} else if !w.deletes(name) {
			return name, nil
		}
	}
	return "", nil
}

// target is the permission bits of what a move writes: those the file had, with the executable bits as the patch says; a
// new file's are cut by the umask. Bits that make a program run as somebody else do not survive a change of it.
func (m *move) target() (perm uint32, exact bool) {
	executable := m.after.Mode == "100755"
	if m.before == nil || m.before.Mode == "120000" {
		if executable {
			return 0o755, false
		}
		return 0o644, false
	}
	perm = m.perm &^ (unix.S_ISUID | unix.S_ISGID)
	switch {
	case executable == (m.before.Mode == "100755"):
	case executable:
		perm |= perm & 0o444 >> 2
	default:
		perm &^= 0o111
	}
	return perm, true
}
