// What the tree holds now, against what the fix found and what it makes.

package fix

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
)

// present finds what is still to be written: files that are already as the patch makes them are done, every other one
// must be as the fix found it.
func (w *work) present(ctx context.Context, recorded map[string]PatchFile, repo *git.Repo) error {
	var wrong, changed, blocked []string // wrong: the paths, changed: with a word to each
	folders := map[string]bool{}         // paths to be added where a folder stands
	for _, name := range w.files {
		r := recorded[name]
		h, err := w.place.look(name, most(r.Before, r.After))
		if err != nil {
			return refused("%w", err)
		}
		switch {
		case h.holds(r.After) && !h.holds(r.Before):
			continue
		case r.After == nil && h.dir && addsBelow(recorded, name):
			continue // a folder has taken its place, as the patch wants it
		case h.holds(r.Before):
		case r.Before == nil && h.dir:
			folders[name] = true
		default:
			wrong, changed = append(wrong, name), append(changed, name+difference(h, r.Before))
			continue
		}
		w.moves = append(w.moves, move{path: name, before: r.Before, after: r.After, was: h.file, perm: h.perm})
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
				wrong, changed = append(wrong, m.path), append(changed, m.path+" (a folder that holds "+other+")")
			}
		}
	}
	if len(blocked) > 0 {
		return refused("a link or file is on the way to: %s; move it away, or heal again", list(blocked))
	}
	if len(wrong) == 0 {
		return nil
	}
	var dirty []string
	if repo != nil {
		dirty, _ = repo.Dirty(ctx, wrong...) // only for the advice
	}
	return w.conflict(wrong, changed, dirty)
}

// addsBelow says whether the patch adds something below a path.
func addsBelow(recorded map[string]PatchFile, dir string) bool {
	for name, r := range recorded {
		if r.After != nil && strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// conflict says what stands in the way of the patch and what to do; dirty are those that git has uncommitted edits of.
func (w *work) conflict(wrong, changed, dirty []string) error {
	before, undo := "", ""
	if slices.ContainsFunc(wrong, func(name string) bool { return slices.Contains(w.applied, asStored(name)) }) {
		before = "it was applied before; since then: "
	}
	if len(dirty) > 0 {
		undo = "undo or stash your uncommitted edits of " + list(dirty) + " and apply again, or "
	}
	return refused("%s%w: %s; %shave a new fix proposed: async-pipeline heal %s %s",
		before, ErrConflict, list(changed), undo, w.proposal.Run, quoted(w.proposal.Task))
}

// quoted is one word for a shell.
func quoted(word string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"
	if strings.Trim(word, bare) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// asStored is a path as JSON gives it back: each byte that is not UTF-8 became U+FFFD.
func asStored(name string) string { return string([]rune(name)) }

// recorded says whether all the chosen files are recorded as applied.
func (w *work) recorded() bool {
	return !slices.ContainsFunc(w.files, func(name string) bool {
		return !slices.Contains(w.applied, asStored(name))
	})
}

func most(a, b *Content) int64 {
	var n int64
	for _, c := range []*Content{a, b} {
		if c != nil {
			n = max(n, c.Bytes)
		}
	}
	return n
}

// difference says in a word how a path differs from what the fix found.
func difference(h held, before *Content) string {
	switch {
	case h.dir:
		return " (a folder now)"
	case h.file == nil && !h.other:
		return " (gone)"
	case before == nil:
		return " (is there already)"
	case h.file != nil && !h.long && digest(h.file.Data) == before.Digest:
		return " (its mode changed)"
	}
	return " (changed)"
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

// target applies the patch in memory and checks that it makes what the record says.
func (w *work) target(parsed *patch.Patch) error {
	part := &patch.Patch{}
	for _, f := range parsed.Files {
		if slices.ContainsFunc(w.moves, func(m move) bool { return m.path == f.Path }) {
			part.Files = append(part.Files, f)
		}
	}
	changes, err := part.Apply(func(name string) (*patch.File, error) {
		for _, m := range w.moves {
			if m.path == name {
				return m.was, nil
			}
		}
		h, err := w.place.look(name, maxPatch)
		return h.file, err
	})
	if err != nil {
		return refused("%s: %w", w.proposal.patchPath(), err)
	}
	for i := range w.moves {
		m := &w.moves[i]
		n := slices.IndexFunc(changes, func(c patch.Change) bool { return c.Path == m.path })
		if n >= 0 {
			m.to = changes[n].After
		}
		if !(held{file: m.to}).holds(m.after) {
			return refused("%w: the patch does not make of %q what the record says", ErrDamaged, m.path)
		}
	}
	return nil
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
