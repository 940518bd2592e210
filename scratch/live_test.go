package scratch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/process"
)

func TestInUse(t *testing.T) {
	t.Parallel()
	parent := temp(t)
	use := func(want bool, what string) {
		t.Helper()
		if got, err := InUse(parent); got != want || err != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	use(false, "nothing")
	dead, err := json.Marshal(stamp{1, process.Stamp{PID: 1 << 30, Start: 1, Boot: process.Self().Boot}})
	must(t, err)
	write(t, parent, map[string]string{"killed/x": "1", "killed.stamp": string(dead), "a file": ""})
	use(false, "what a killed runner left")
	write(t, parent, map[string]string{"young/x": "1"})
	use(true, "a folder that is too young to have a stamp")
	old := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(filepath.Join(parent, "young"), old, old))
	use(false, "an old one without a stamp")
	must(t, Folder(filepath.Join(parent, "mine")))
	use(true, "a folder of ours")
	must(t, remove(filepath.Join(parent, "mine")))
	use(false, "removed")
	if got, err := InUse(filepath.Join(parent, "none")); got || err != nil {
		t.Error(got, err)
	}
}
