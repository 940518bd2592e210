package hclfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/hclfile"
)

// FuzzLoad looks for a panic, for an error that is no fault of the file, and for a secret that is told.
func FuzzLoad(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.hcl")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	const value = "qzxj-9173-qzxj"
	o := hclfile.Options{Env: func(name string) (string, bool) { return value, name != "NOT_SET" }}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "qzxj") || strings.Contains(src, "env(") {
			t.Skip()
		}
		start := time.Now()
		c, err := load(t, src, o)
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("took %v", took)
		}
		if err == nil {
			if _, err := pipeline.Select(c, nil, false); err != nil && c.Job("default") == nil {
				t.Errorf("a file without faults cannot be selected: %v", err)
			}
			return
		}
		var faults pipeline.Errors
		if !errors.As(err, &faults) || c != nil || len(faults) == 0 {
			t.Fatalf("got %v and %v", c, err)
		}
		for _, e := range faults {
			if strings.Contains(e.Error()+e.Source, value) {
				t.Errorf("a secret is told: %v", e)
			}
			if e.Summary == "" || e.Pos.File == "" || e.Pos.Line > 0 && e.Width < 1 {
				t.Errorf("incomplete: %+v", e)
			}
		}
	})
}
