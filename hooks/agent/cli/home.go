package cli

// The private HOME of a CLI: its configuration, the person's sign-in, the session of an earlier turn. An agent may
// have left links in there, so that everything is written through os.Root, which follows none to the outside.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/redact"
)

// prepare writes what a CLI finds in its private HOME. from is the HOME of the turn whose session it goes on with,
// person the HOME with the person's sign-in; either may be empty.
func (p *program) prepare(home, from, person string, files map[string]string, secrets *redact.Set) error {
	if home == "" {
		return errors.New("it has no HOME")
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only opened to write in it
	if from != "" && from != home {
		if err := copyFolder(root, from, p.sessions); err != nil {
			return fmt.Errorf("its session: %w", err)
		}
	}
	if person != "" {
		for _, s := range p.signIn {
			if err := s.copy(root, person, secrets); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("its sign-in: %w", err)
			}
		}
	}
	for name, text := range files {
		if err := write(root, name, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// hasSessions reports whether there are sessions of the CLI in a HOME.
func (p *program) hasSessions(home string) bool {
	info, err := os.Stat(filepath.Join(home, p.sessions))
	return err == nil && info.IsDir()
}

// signedIn reports whether a HOME has a sign-in of the CLI.
func (p *program) signedIn(home string) bool {
	return slices.ContainsFunc(p.signIn, func(s signIn) bool {
		info, err := os.Stat(filepath.Join(home, s.path))
		return home != "" && err == nil && info.Mode().IsRegular()
	})
}

// mostSignIn is how large a file with a sign-in may be, in bytes.
const mostSignIn = 1 << 20

// copy copies the sign-in from the HOME person. Its texts become secrets: an agent can read them, and must not show
// them.
func (s signIn) copy(root *os.Root, person string, secrets *redact.Set) error {
	text, err := os.ReadFile(filepath.Join(person, s.path))
	if err != nil {
		return err
	}
	if len(text) > mostSignIn {
		return fmt.Errorf("~/%s is too large", s.path)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("~/%s is not a JSON object", s.path)
	}
	if s.keys != nil {
		for key := range fields {
			if !slices.Contains(s.keys, key) {
				delete(fields, key)
			}
		}
	}
	if commands(fields) {
		return fmt.Errorf("~/%s names a command that prints a key: set api_key instead", s.path)
	}
	if text, err = json.Marshal(fields); err != nil {
		return err
	}
	addSecrets(secrets, "~/"+s.path, text)
	return write(root, s.path, text)
}

// commands reports whether a value has a text that a CLI would run: pi runs what begins with "!".
func commands(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(strings.TrimSpace(v), "!")
	case map[string]any:
		for _, inner := range v {
			if commands(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, commands)
	}
	return false
}

func write(root *os.Root, name string, text []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.WriteFile(name, text, 0o600)
}

// mostSession is how much of a session is copied, in bytes.
const mostSession = 64 << 20

// copyFolder copies the regular files below the folder name of the HOME from.
func copyFolder(root *os.Root, from, name string) error {
	old, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // only read
	left := int64(mostSession)
	return fs.WalkDir(old.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := old.Open(at)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		text, err := io.ReadAll(io.LimitReader(f, left+1))
		if left -= int64(len(text)); err == nil && left < 0 {
			err = errors.New("it is too large")
		}
		if err != nil {
			return err
		}
		return write(root, at, text)
	})
}
