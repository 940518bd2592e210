package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"0001_a.sql", "0003_c.sql"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("select 1;"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list(dir) == nil {
		t.Error("a gap was accepted")
	}
}
