package doctor

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/cachedir"
	"github.com/async-pipeline/async-pipeline/internal/advice"
	"github.com/async-pipeline/async-pipeline/internal/english"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// git checks that git is installed and new enough, and which work tree this is.
func (d *checkup) git() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	repo, err := git.Of(ctx, d.dir)
	switch {
	case err == nil:
		d.fine("git", "git is there, and %s is a work tree", d.path(repo.Top))
	case errors.Is(err, git.ErrNotInstalled):
		d.noted("git", "install git 2.32 or newer",
			"git is not installed: runs record no commit, and what is not committed is unknown")
	case errors.Is(err, git.ErrNone):
		d.noted("git", "", "not in a git work tree: runs record no commit, and what is not committed is unknown")
	default:
		d.trouble("git", "", "%v", err)
	}
}

// sandbox reports how far agents and checks in copies can be confined here, and why not further.
func (d *checkup) sandbox() {
	best := sandbox.Best()
	if best == sandbox.View {
		d.fine("sandbox", "sandbox view is there: what runs in a copy writes nothing outside of it")
		d.overlay()
		return
	}
	why := ""
	if err := sandbox.Why(sandbox.View); err != nil {
		why = ": " + err.Error()
	}
	if best == sandbox.Fence {
		d.noted("sandbox", "", "sandbox fence is there, view is not%s", why)
		return
	}
	d.noted("sandbox", "use agents only where nothing can be lost, or a machine with sandbox fence or view",
		"no sandbox: an agent can write outside its copy; view is not available%s", why)
}

// overlay tries whether copies can be overlays where they are made, or, before the first one, in the folder for
// temporary files.
func (d *checkup) overlay() {
	dir := os.TempDir()
	if caches := cachedir.Existing(d.Env); len(caches) > 0 {
		dir = caches[0]
	}
	if err := sandbox.TryOverlay(dir); err != nil {
		d.noted("overlay", "", "no overlay can be had in %s, so copies of the tree and of build caches are made in full, which takes longer: %v", d.path(dir), err)
		return
	}
	d.fine("overlay", "copies are overlays: making one copies nothing")
}

// A disk is low when it has less than lowBytes free, or less than one part in lowShare.
const (
	lowBytes = 1 << 30
	lowShare = 100 // 1 part of so many
)

// disk checks where records, scratch copies and temporary files are written.
func (d *checkup) disk() {
	seen := map[uint64]bool{}
	low := false
	temp := os.TempDir()
	if info, err := os.Stat(temp); err != nil || !info.IsDir() || writable(temp) != nil {
		low = true
		d.trouble("disk", "make it a folder that you can write, or set TMPDIR to one",
			"no temporary file can be written in %s (TMPDIR): what needs one will fail", d.path(temp))
	}
	for _, dir := range append([]string{d.dir, temp}, cachedir.Candidates(d.Env)[:1]...) {
		dir = existing(dir)
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			if seen[uint64(st.Dev)] { //nolint:unconvert // a signed type elsewhere
				continue
			}
			seen[uint64(st.Dev)] = true //nolint:unconvert // a signed type elsewhere
		}
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil || fs.Blocks == 0 {
			continue
		}
		block := uint64(fs.Bsize) //nolint:unconvert // another type elsewhere
		if free := fs.Bavail * block; free < lowBytes || free < fs.Blocks*block/lowShare {
			low = true
			d.trouble("disk", "free some; "+d.Typed("gc")+" removes what is no longer used",
				"only %s are free where %s is: runs may end with a full disk", english.Size(int64(free)), d.path(dir))
		}
	}
	if !low {
		d.fine("disk", "there is room where records, copies and temporary files are written")
	}
}

// fullBytes is how much room a file system has that is called full.
const fullBytes = 32 << 20

// results checks whether the cache can store results.
func (d *checkup) results() {
	dir, err := d.cache(d.dir)
	if err != nil {
		d.trouble("cache", "set ASYNC_PIPELINE_CACHE_DIR to another folder, or to none", "no task can run: %v", err)
		return
	}
	at := existing(dir)
	var fs unix.Statfs_t
	if info, err := os.Stat(at); err != nil || !info.IsDir() || writable(at) != nil || unix.Statfs(at, &fs) != nil {
		d.trouble("cache", cmp.Or(advice.OwnerOf(at), "make it a folder that you can write, or set ASYNC_PIPELINE_CACHE_DIR to one"),
			"no result can be stored in %s, so tasks run again: %s is no folder that can be written", d.path(dir), d.path(at))
		return
	}
	if lacks := lacksRoom(&fs); lacks != "" {
		d.trouble("cache", "free some; "+d.Typed("gc")+" removes old results; or set ASYNC_PIPELINE_CACHE_DIR to a folder elsewhere",
			"results may not be stored in %s, so that tasks run again: %s there", d.path(dir), lacks)
	}
}

// lacksRoom returns what a file system has too little of, or "".
func lacksRoom(fs *unix.Statfs_t) string {
	free := uint64(fs.Bavail) * uint64(fs.Bsize) //nolint:unconvert // other types elsewhere
	switch {
	case fs.Blocks == 0: // it has no size
		return ""
	case free < fullBytes:
		return "only " + english.Size(int64(free)) + " are free" //nolint:gosec // it is small
	case fs.Files > 0 && fs.Ffree == 0:
		return "no inode is free"
	}
	return ""
}

// existing returns the nearest existing folder at or above a path.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
