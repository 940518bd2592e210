package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// An End is how far a journal went: the number of its lines and the hash of the last one.
type End struct {
	Lines int64   `json:"lines"`
	Head  *string `json:"head"` // sha256:<hex>; nil for no line
}

// EndSuffix is the suffix of the name of a journal's end file. A journal with several writers and no last line cannot
// have its end in another record. So the End is in a file beside it, which every Close writes anew, after the journal
// is on the disk. After a crash it can have fewer lines than the journal, never more.
const EndSuffix = ".end"

// line returns the text of an end file.
func (e End) line() []byte {
	head := "null"
	if e.Head != nil {
		head = `"` + *e.Head + `"`
	}
	return fmt.Appendf(nil, `{"lines":%d,"head":%s}`+"\n", e.Lines, head)
}

// ReadEnd reads the text of an end file. Anything but the exact text is an error.
func ReadEnd(text []byte) (End, error) {
	var e End
	if err := json.Unmarshal(text, &e); err != nil {
		return End{}, err
	}
	if !bytes.Equal(text, e.line()) || (e.Lines == 0) != (e.Head == nil) {
		return End{}, errors.New("it is not as it was written")
	}
	return e, nil
}

// seeEnd reads the end file when the journal is opened. One that is damaged, or has more lines than the journal, is
// evidence, and is never changed. The journal can still be written.
func (j *Journal) seeEnd() error {
	text, err := os.ReadFile(j.path + EndSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		j.tells = true
		return j.putEnd()
	}
	if err != nil {
		return nil //nolint:nilerr // a folder or a broken link: an audit reports it
	}
	e, err := ReadEnd(text)
	j.tells = err == nil && e.Lines <= j.seq
	return nil
}

// leaveEnd updates the end file, under the file's lock, unless the journal was damaged meanwhile.
func (j *Journal) leaveEnd() error {
	if j.own || !j.tells || !j.wrote {
		return nil
	}
	var err error
	_ = j.alone(func() error {
		if err = j.f.Sync(); err == nil {
			err = j.putEnd()
		}
		return err
	})
	return err
}

func (j *Journal) putEnd() error {
	f, err := os.CreateTemp(filepath.Dir(j.path), ".tmp-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(j.end().line())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), j.path+EndSuffix)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
