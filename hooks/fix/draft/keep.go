package draft

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
)

// KeepFile stores a file that an attempt left and that no patch takes because of its size, without secrets, and gives its path
// relative to the run's folder.
func (d *Draft) KeepFile(attempt int, path string, r io.Reader) (rel string, err error) {
	suffix := fmt.Sprintf("/attempt-%d.files/%s", attempt, filename.Of(string(d.Secrets.Bytes([]byte(path)))))
	if err := recordfile.MakeFolder(filepath.Dir(d.Path(suffix))); err != nil {
		return "", err
	}
	f, err := create(d.Path(suffix))
	if err != nil {
		return "", err
	}
	w := d.stream(f)
	_, err = io.Copy(w, r)
	return d.rel(suffix), errors.Join(err, w.Close())
}
