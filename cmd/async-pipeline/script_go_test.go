// What scripts with Go modules need: a build cache of their own that is small and warm, modules from a file proxy.
package main

import (
	"archive/zip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type warmKey struct{}

// withGo gives every script a GOPATH of its own, and all of them one GOCACHE that the command warmgo fills.
func withGo(t *testing.T, setup func(*testscript.Env) error) func(*testscript.Env) error {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "go-build")
	warm := sync.OnceValue(func() error { return warmGoCache(cache) })
	return func(e *testscript.Env) error {
		if err := setup(e); err != nil {
			return err
		}
		gopath := filepath.Join(e.WorkDir, ".home", "go")
		e.Setenv("GOCACHE", cache)
		e.Setenv("GOPATH", gopath)
		e.Setenv("GOMODCACHE", filepath.Join(gopath, "pkg", "mod"))
		e.Values[warmKey{}] = warm
		return nil
	}
}

// cmdWarmgo is `warmgo`: what go test and go vet build for any package is in $GOCACHE from here on.
func cmdWarmgo(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "warmgo")
	ts.Check(ts.Value(warmKey{}).(func() error)())
}

// cmdMachinego is `machinego`. What the script builds of the standard library, for several systems, takes minutes
// and is the same every time; what it builds of its own code go removes from there after some days.
func cmdMachinego(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 0, "machinego")
	cache, err := machineCache()
	ts.Check(err)
	ts.Setenv("GOCACHE", cache)
}

const goCopyFrom = "GO_CACHE_COPY_FROM"

// warmGoCache fills cache with what `go test` and `go vet` of a small module need. Where the machine's cache has
// it, it comes from there: the first round makes sure that it has, the second is told each entry by goCacheCopy.
func warmGoCache(cache string) error {
	dir, err := os.MkdirTemp("", "warm-go")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a left-over is only untidy
	module := filepath.Join(dir, "module")   // not dir itself: go takes no module in TMPDIR for one
	if err := os.Mkdir(module, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"go.mod":    "module example.com/warm\n\ngo 1.24\n",
		"a.go":      "package warm\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\t\"strings\"\n)\n\nvar A = fmt.Sprint(strings.ToUpper(\"a\"), errors.New(\"a\"))\n",
		"a_test.go": "package warm\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {\n\tif os.Getenv(\"A\") != \"\" {\n\t\tt.Error(A)\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	from, err := machineCache()
	if err != nil {
		return err
	}
	for _, how := range [][]string{{}, {"GOCACHEPROG=go-cache-copy", goCopyFrom + "=" + from + string(filepath.ListSeparator) + cache}} {
		for _, verb := range []string{"test", "vet"} {
			c := exec.CommandContext(context.Background(), "go", verb, "./...")
			c.Dir = module
			c.Env = append([]string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "GOCACHE=" + from, "GOPATH=" + filepath.Join(dir, "gopath"),
				"GOTOOLCHAIN=local", "GOFLAGS=", "GOPROXY=off",
			}, how...)
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("go %s: %w\n%s", verb, err, out)
			}
		}
	}
	return nil
}

// A cacheRequest and a cacheAnswer are the two messages of the protocol: go doc cmd/go/internal/cacheprog.
type cacheRequest struct {
	ID       int64
	Command  string
	ActionID []byte
	OutputID []byte
	BodySize int64
}

type cacheAnswer struct {
	ID            int64
	Err           string     `json:",omitempty"`
	KnownCommands []string   `json:",omitempty"`
	Miss          bool       `json:",omitempty"`
	OutputID      []byte     `json:",omitempty"`
	Size          int64      `json:",omitempty"`
	Time          *time.Time `json:",omitempty"`
	DiskPath      string     `json:",omitempty"`
}

// goCacheCopy is a GOCACHEPROG: what it is asked for it copies from one build cache to another; what is new goes to
// the other. Where only one is named, that is read as it is, and what is new goes to GOCACHE.
func goCacheCopy() {
	from, to, copies := strings.Cut(os.Getenv(goCopyFrom), string(filepath.ListSeparator))
	if !copies {
		to = os.Getenv("GOCACHE")
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	err := out.Encode(cacheAnswer{KnownCommands: []string{"get", "put", "close"}})
	for err == nil {
		var q cacheRequest
		if err = in.Decode(&q); err != nil {
			break
		}
		a := cacheAnswer{ID: q.ID}
		var body []byte
		if q.Command == "put" && q.BodySize > 0 {
			if err = in.Decode(&body); err != nil {
				break
			}
		}
		var fault error
		switch q.Command {
		case "get":
			if a, fault = copyEntry(from, to, copies, q); errors.Is(fault, fs.ErrNotExist) {
				a, fault = cacheAnswer{ID: q.ID, Miss: true}, nil
			}
		case "put":
			a.DiskPath, fault = putEntry(to, q, body)
		}
		if fault != nil {
			a.Err = fault.Error()
		}
		if err = out.Encode(a); q.Command == "close" {
			break
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// entryPath is where a build cache keeps the entry of an action (kind a) or an output (kind d).
func entryPath(cache string, id []byte, kind string) string {
	name := hex.EncodeToString(id)
	return filepath.Join(cache, name[:2], name+"-"+kind)
}

func copyEntry(from, to string, copies bool, q cacheRequest) (cacheAnswer, error) {
	a := cacheAnswer{ID: q.ID}
	for _, cache := range []string{to, from} {
		text, err := os.ReadFile(entryPath(cache, q.ActionID, "a"))
		if err != nil {
			if cache == from {
				return a, err
			}
			continue
		}
		fields := strings.Fields(string(text)) // v1 action output size time
		if len(fields) != 5 {
			return a, fs.ErrNotExist
		}
		if a.OutputID, err = hex.DecodeString(fields[2]); err != nil {
			return a, err
		}
		if a.Size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
			return a, err
		}
		nanos, err := strconv.ParseInt(fields[4], 10, 64)
		if err != nil {
			return a, err
		}
		at := time.Unix(0, nanos)
		a.Time, a.DiskPath = &at, entryPath(to, a.OutputID, "d")
		if cache == to {
			return a, nil
		}
		if !copies {
			a.DiskPath = entryPath(from, a.OutputID, "d")
			if info, err := os.Stat(a.DiskPath); err != nil || info.Size() != a.Size {
				return a, fs.ErrNotExist
			}
			return a, nil
		}
		data, err := os.ReadFile(entryPath(from, a.OutputID, "d"))
		if err != nil {
			return a, err
		}
		if int64(len(data)) != a.Size {
			return a, fs.ErrNotExist
		}
		if err := writeEntry(a.DiskPath, data); err != nil {
			return a, err
		}
		return a, writeEntry(entryPath(to, q.ActionID, "a"), text)
	}
	return a, fs.ErrNotExist
}

func putEntry(to string, q cacheRequest, body []byte) (string, error) {
	path := entryPath(to, q.OutputID, "d")
	if err := writeEntry(path, body); err != nil {
		return "", err
	}
	line := fmt.Sprintf("v1 %x %x %20d %20d\n", q.ActionID, q.OutputID, q.BodySize, time.Now().UnixNano())
	return path, writeEntry(entryPath(to, q.ActionID, "a"), []byte(line))
}

func writeEntry(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o666)
}

// cmdModproxy is `modproxy PROXY MODULE VERSION DIR`: what a module proxy gives for a module, in files.
func cmdModproxy(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 4, "modproxy PROXY MODULE VERSION DIR")
	module, version, dir := args[1], args[2], ts.MkAbs(args[3])
	at := filepath.Join(ts.MkAbs(args[0]), filepath.FromSlash(module), "@v")
	ts.Check(os.MkdirAll(at, 0o777))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	ts.Check(err)
	for name, text := range map[string]string{
		"list": version + "\n", version + ".mod": string(mod), version + ".info": `{"Version":"` + version + `","Time":"2026-01-02T03:04:05Z"}`,
	} {
		ts.Check(os.WriteFile(filepath.Join(at, name), []byte(text), 0o666))
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	ts.Check(err)
	z := zip.NewWriter(f)
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		ts.Check(err)
		w, err := z.Create(module + "@" + version + "/" + e.Name())
		ts.Check(err)
		_, err = w.Write(b)
		ts.Check(err)
	}
	ts.Check(z.Close())
	ts.Check(f.Close())
}
