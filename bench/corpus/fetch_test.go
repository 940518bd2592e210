package corpus

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// errElsewhere is an archive that cannot be had from here.
var errElsewhere = errors.New("cannot be fetched")

// fetch returns the files of an archive. Downloads are kept, and compared with the table each time.
func (f *field) fetch(ctx context.Context, o origin) (tree, error) {
	f.downloads.Lock()
	defer f.downloads.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	switch o.from {
	case "go":
		return f.goModule(ctx, o)
	case "npm":
		return f.npmPackage(ctx, o)
	}
	return f.debianSource(ctx, o)
}

func (f *field) goModule(ctx context.Context, o origin) (tree, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", o.name+"@"+o.version)
	cmd.Dir, cmd.Env = f.dir, f.environ()
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out, &module); err != nil || module.Dir == "" {
		return nil, fmt.Errorf("%w: module %s %s: %s", errElsewhere, o.name, o.version, module.Error)
	}
	if err != nil {
		return nil, err
	}
	if module.Sum != o.sum {
		return nil, fmt.Errorf("module %s %s has the sum %s, not %s", o.name, o.version, module.Sum, o.sum)
	}
	t, err := readTree(module.Dir)
	if _, there := t["go.mod"]; err == nil && !there {
		t["go.mod"] = file{text: "module " + o.name + "\n"}
	}
	return t, err
}

func (f *field) npmPackage(ctx context.Context, o origin) (tree, error) {
	name := o.name + "-" + o.version + ".tgz"
	at := filepath.Join(f.dir, "archives", name)
	if _, err := os.Stat(at); err != nil {
		cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination",
			filepath.Dir(at), o.name+"@"+o.version)
		cmd.Dir = f.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: package %s %s of npm: %w\n%s", errElsewhere, o.name, o.version, err, out)
		}
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return nil, err
	}
	sum := sha512.Sum512(text)
	if is := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); is != o.sum {
		return nil, fmt.Errorf("%s has the digest %s, not %s", name, is, o.sum)
	}
	return unpackGzip(at)
}

// unpackGzip reads a .tgz. Its files lie below one folder, which is left out.
func unpackGzip(at string) (tree, error) {
	in, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	t := tree{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		_, name, ok := strings.Cut(path.Clean(h.Name), "/")
		if h.Typeflag != tar.TypeReg || !ok || !filepath.IsLocal(name) {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(r, 64<<20))
		if err != nil {
			return nil, err
		}
		t[name] = file{string(text), h.Mode&0o100 != 0}
	}
}

// pool has sources of Debian, and of its security updates. Old versions are removed from it.
const pool = "https://deb.debian.org/"

// debianFile downloads a file of the pool.
func (f *field) debianFile(ctx context.Context, name, sum string) (string, error) {
	at := filepath.Join(f.dir, "archives", path.Base(name))
	if _, err := os.Stat(at); err != nil {
		if err := download(ctx, pool+name, at); err != nil {
			return "", fmt.Errorf("%w: %s of Debian: %w", errElsewhere, name, err)
		}
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return "", err
	}
	is := sha256.Sum256(text)
	if hex.EncodeToString(is[:]) != sum {
		return "", fmt.Errorf("%s has the digest %x, not %s", name, is, sum)
	}
	return at, nil
}

func download(ctx context.Context, url, to string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return err
	}
	if err := os.WriteFile(to+".part", text, 0o600); err != nil {
		return err
	}
	return os.Rename(to+".part", to)
}

func (f *field) debianSource(ctx context.Context, o origin) (tree, error) {
	at, err := f.debianFile(ctx, o.name, o.sum)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(f.dir, "unpack-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := command(ctx, dir, "tar", "-x", "--strip-components=1", "-f", at); err != nil {
		return nil, err
	}
	for _, more := range o.more {
		at, err := f.debianFile(ctx, more.name, more.sum)
		if err != nil {
			return nil, err
		}
		side := dir + "-debian"
		defer os.RemoveAll(side)
		if err := os.Mkdir(side, 0o700); err != nil {
			return nil, err
		}
		if err := command(ctx, side, "tar", "-x", "-f", at); err != nil {
			return nil, err
		}
		for _, p := range more.patches {
			if err := command(ctx, dir, "patch", "-p1", "-s", "--no-backup-if-mismatch", "-i",
				filepath.Join(side, "debian", "patches", p)); err != nil {
				return nil, err
			}
		}
	}
	return readTree(dir)
}

// modules installs packages of npm once, and returns the folder node_modules.
func (f *field) modules(ctx context.Context, packages []string) (string, error) {
	f.downloads.Lock()
	defer f.downloads.Unlock()
	id := sha256.Sum256([]byte(strings.Join(packages, " ")))
	at := filepath.Join(f.dir, "npm", hex.EncodeToString(id[:8]))
	if _, err := os.Stat(at); err == nil {
		return filepath.Join(at, "node_modules"), nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	part, err := os.MkdirTemp(f.dir, "npm-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	args := append([]string{
		"npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
		part,
	}, packages...)
	if err := command(ctx, part, args...); err != nil {
		return "", fmt.Errorf("%w: %s of npm: %w", errElsewhere, strings.Join(packages, ", "), err)
	}
	return filepath.Join(at, "node_modules"), os.Rename(part, at)
}

func command(ctx context.Context, dir string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	return nil
}
