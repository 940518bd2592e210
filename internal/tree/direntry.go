// What Skip sees of a path, made of the one question the walk asks the kernel anyway.

package tree

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

func modeOf(st *unix.Stat_t) fs.FileMode {
	m := fs.FileMode(st.Mode) & fs.ModePerm
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	default:
		m |= fs.ModeDevice
	}
	return m
}

// A dirEntry is what Skip sees; it costs no further question to the kernel.
type dirEntry struct {
	name string
	stat unix.Stat_t
}

func (d *dirEntry) mode() fs.FileMode          { return modeOf(&d.stat) }
func (d *dirEntry) Name() string               { return d.name }
func (d *dirEntry) IsDir() bool                { return d.mode().IsDir() }
func (d *dirEntry) Type() fs.FileMode          { return d.mode().Type() }
func (d *dirEntry) Info() (fs.FileInfo, error) { return info{d}, nil }

type info struct{ *dirEntry }

func (i info) Size() int64        { return i.stat.Size }
func (i info) Mode() fs.FileMode  { return i.mode() }
func (i info) ModTime() time.Time { return time.Unix(0, i.stat.Mtim.Nano()) }
func (i info) Sys() any           { return &i.stat }
