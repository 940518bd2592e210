// Lint refuses what this project does not want in its sources: panics outside tests, and long lines.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	bad := 0
	for _, dir := range os.Args[1:] {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			b, err := os.ReadFile(path)
			for i, line := range bytes.Split(b, []byte("\n")) {
				switch {
				case len(line) > 140:
					fmt.Printf("%s:%d: longer than 140 bytes\n", path, i+1)
					bad++
				case bytes.Contains(line, []byte("panic(")) && !strings.HasSuffix(path, "_test.go"):
					fmt.Printf("%s:%d: panics\n", path, i+1)
					bad++
				}
			}
			return err
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if bad > 0 {
		os.Exit(1)
	}
}
