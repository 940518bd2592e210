package homes

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/scratch"
)

// walkFile is a file in a kept folder: the last walk of the tree, so that the next one reads only what changed since.
const walkFile = "walk"

// RecallTree returns the last walk of the tree of root; nil if there is none that can be used.
func (at Places) RecallTree(root string) *tree.Manifest {
	b, err := os.ReadFile(filepath.Join(at.Kept, walkFile))
	if err != nil {
		return nil
	}
	m, err := tree.Recall(b, root, process.Self().Boot)
	if err != nil {
		return nil
	}
	return m
}

// RememberTree stores a walk of the tree of root for RecallTree, if there is a kept folder.
func (at Places) RememberTree(root string, m *tree.Manifest) error {
	if !recordfile.Exists(at.Kept) {
		return nil
	}
	var b bytes.Buffer
	if err := m.Save(&b, root, process.Self().Boot, scratch.Secret); err != nil {
		return err
	}
	return recordfile.Write(filepath.Join(at.Kept, walkFile), b.Bytes(), false)
}
