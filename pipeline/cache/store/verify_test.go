package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/reapi"
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
