package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// Verify names what is damaged and nothing else, and removes only that.
func TestVerify(t *testing.T) {
	t.Parallel()
	s := &Store{Dir: filepath.Join(t.TempDir(), "cache")}
	none, err := Verify(t.Context(), s.Dir, true)
	if err != nil || none.Results+none.Blobs+len(none.Damaged) != 0 {
		t.Fatal(none, err)
	}
	whole, _ := s.Put([]byte("whole"))
	bad, _ := s.Put([]byte("bad"))
	cut, _ := s.Put([]byte("long enough"))
	linked, _ := s.Put([]byte("linked"))
	keys := map[string]string{}
	for _, name := range []string{"whole", "bad", "short"} {
		keys[name] = reapi.DigestOf([]byte("key " + name)).Hash
		if err := s.PutAction(keys[name], reapi.Result{Log: whole, Run: name}); err != nil {
			t.Fatal(err)
		}
	}
	damage := func(path, text string) string {
		_ = os.Remove(path) // it may not be there
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	action, err := os.ReadFile(s.actionPath(keys["bad"]))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{
		damage(s.blob(bad.Hash), "dab"):                             true,
		damage(s.blob(cut.Hash), "long"):                            true,
		damage(s.actionPath(keys["bad"]), string(action)+"more"):    true,
		damage(s.actionPath(keys["short"]), string(action[:10])):    true,
		damage(filepath.Join(s.Dir, "cas", "README"), "not ours"):   false,
		damage(filepath.Join(s.Dir, "cas", whole.Hash), "no place"): false,
	}
	if err := os.Remove(s.blob(linked.Hash)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.blob(whole.Hash), s.blob(linked.Hash)); err != nil {
		t.Fatal(err)
	}
	want[s.blob(linked.Hash)] = true

	for _, remove := range []bool{false, true, true} {
		v, err := Verify(t.Context(), s.Dir, remove)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, d := range v.Damaged {
			if !want[d.Path] || d.Removed != remove || d.Err != nil || d.Result != strings.Contains(d.Path, "actions") {
				t.Errorf("%+v", d)
			}
			got++
		}
		n := 0
		for path, damaged := range want {
			_, err := os.Lstat(path)
			if there := err == nil; there != (!damaged || !remove) {
				t.Errorf("%s is there: %v", path, there)
			}
			if damaged {
				n++
			}
		}
		if got != n {
			t.Errorf("%d damaged, want %d: %+v", got, n, v.Damaged)
		}
		if remove {
			for path, damaged := range want {
				if damaged {
					delete(want, path)
				}
			}
		}
	}
	if v, err := Verify(t.Context(), s.Dir, false); err != nil || v.Results != 1 || v.Blobs != 1 || v.Bytes == 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// Verify names the results that lack a blob, and folders in the place of files. What a result says is not stored is not
// missed. Storing again removes such a folder, unless a link leads to it.
func TestVerifyLacks(t *testing.T) {
	t.Parallel()
	s := &Store{Dir: filepath.Join(t.TempDir(), "cache")}
	put := func(text string) reapi.File {
		d, err := s.Put([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return reapi.File{Path: text, Digest: d}
	}
	result := func(r reapi.Result) string {
		if r.Log.Hash == "" {
			r.Log = reapi.DigestOf(nil)
		}
		key := reapi.DigestOf(r.Encode()).Hash
		if err := s.PutAction(key, r); err != nil {
			t.Fatal(err)
		}
		return s.actionPath(key)
	}
	folder := func(at string) {
		_ = os.Remove(at) // it may not be there
		if err := os.MkdirAll(filepath.Join(at, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	nowhere := reapi.File{Path: "f", Digest: reapi.DigestOf([]byte("nowhere"))}
	found, unstored := nowhere, nowhere
	found.Found, unstored.Unstored = true, true
	result(reapi.Result{Run: "whole", Log: put("log").Digest, Files: []reapi.File{put("there"), found}, Beside: []reapi.File{put("patch")}})
	result(reapi.Result{Run: "unstored", Files: []reapi.File{unstored, {Path: "g", Folder: true}, {Path: "l", Link: "f"}}})
	again := result(reapi.Result{Run: "again"})
	folder(again)
	covered := put("covered")
	folder(s.blob(covered.Digest.Hash))
	want := map[string]string{
		again:                       "it is not a regular file",
		s.blob(covered.Digest.Hash): "it is not a regular file",
		result(reapi.Result{Log: nowhere.Digest}):                   "it lacks 1 blob: " + nowhere.Digest.Hash,
		result(reapi.Result{Beside: []reapi.File{nowhere}}):         "it lacks 1 blob: " + nowhere.Digest.Hash,
		result(reapi.Result{Files: []reapi.File{nowhere, covered}}): "it lacks 2 blobs: " + covered.Digest.Hash + ", " + nowhere.Digest.Hash,
	}
	v, err := Verify(t.Context(), s.Dir, false)
	if err != nil || len(v.Damaged) != len(want) || v.Results != 6 {
		t.Errorf("%+v, %v", v, err)
	}
	for _, d := range v.Damaged {
		if d.Why != want[d.Path] {
			t.Errorf("%s: %s, want %s", d.Path, d.Why, want[d.Path])
		}
	}

	put("covered")
	result(reapi.Result{Run: "again"})
	if v, err := Verify(t.Context(), s.Dir, true); err != nil || len(v.Damaged) != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := Verify(t.Context(), s.Dir, false); err != nil || len(v.Damaged) != 0 || v.Results != 3 {
		t.Errorf("%+v, %v", v, err)
	}

	outside := t.TempDir()
	d := reapi.DigestOf([]byte("linked"))
	folder(filepath.Join(outside, d.Hash))
	if err := os.Symlink(outside, filepath.Dir(s.blob(d.Hash))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put([]byte("linked")); err == nil || !recordfile.Exists(filepath.Join(outside, d.Hash, "sub")) {
		t.Errorf("a folder outside of the store is gone: %v", err)
	}
}
