package fix

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/async-pipeline/async-pipeline/internal/filename"
)

// KeepFile stores a file that an attempt left and that no patch takes because of its size, without secrets, and gives its path
// relative to the run's folder.
func (d *Draft) KeepFile(attempt int, path string, r io.Reader) (rel string, err error) {
	suffix := fmt.Sprintf("/attempt-%d.files/%s", attempt, filename.Of(string(d.Secrets.Bytes([]byte(path)))))
	if err := makeFolder(filepath.Dir(d.path(suffix))); err != nil {
		return "", err
	}
	f, err := create(d.path(suffix))
	if err != nil {
		return "", err
	}
	w := d.stream(f)
	_, err = io.Copy(w, r)
	return d.rel(suffix), errors.Join(err, w.Close())
}
