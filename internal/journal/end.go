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

// EndSuffix is what the name of a journal's end file adds to the journal's. A journal that several may write, in
// turns and for ever, cannot be anchored in what is written last. So an End stands beside it, made anew with every
// Close, after what it tells of is on the disk. A crash can leave it behind the journal, never ahead of it.
const EndSuffix = ".end"

// line returns an End as it stands in its file, byte for byte.
func (e End) line() []byte {
	head := "null"
	if e.Head != nil {
		head = `"` + *e.Head + `"`
	}
	return fmt.Appendf(nil, `{"lines":%d,"head":%s}`+"\n", e.Lines, head)
}

// ReadEnd reads what an end file holds. What is not exactly as it is written is an error.
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

// seeEnd looks at the end file when the journal is opened. One that is damaged, or tells of more lines than there
// are, is evidence: it is left as it is for ever. It hinders no writer: what happens has to be written down.
func (j *Journal) seeEnd() error {
	text, err := os.ReadFile(j.path + EndSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		j.tells = true
		return j.putEnd()
	}
	if err != nil {
		return nil //nolint:nilerr // a folder or a link to nowhere: nothing of ours, and an audit says so
	}
	e, err := ReadEnd(text)
	j.tells = err == nil && e.Lines <= j.seq
	return nil
}

// leaveEnd writes the end file once more, under the file's lock. A journal that somebody damaged meanwhile keeps
// the one it has.
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
	e := End{Lines: j.seq}
	if j.seq > 0 {
		e.Head = known(j.head)
	}
	f, err := os.CreateTemp(filepath.Dir(j.path), ".tmp-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(e.line())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), j.path+EndSuffix)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
