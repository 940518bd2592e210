package patch

import (
	"testing"
)

// Everything but two texts that both changed is decided here, as git apply --3way decides it.
func TestThree(t *testing.T) {
	t.Parallel()
	a, b, c := &File{Mode: 0o644, Data: []byte("a\n")}, &File{Mode: 0o644, Data: []byte("b\n")}, &File{Mode: 0o644, Data: []byte("c\n")}
	ax, bx := &File{Mode: 0o755, Data: []byte("a\n")}, &File{Mode: 0o755, Data: []byte("b\n")}
	la, lb, lc := &File{Mode: fileMode("120000"), Data: []byte("a\n")}, &File{Mode: fileMode("120000"), Data: []byte("b")}, &File{Mode: fileMode("120000"), Data: []byte("c")}
	na, nb := &File{Mode: 0o644, Data: []byte("\x00a")}, &File{Mode: 0o644, Data: []byte("\x00b")}
	empty := &File{Mode: 0o644}
	for name, x := range map[string]struct {
		base, ours, theirs, result *File
		texts                      bool
		refused                    string
	}{
		"as it was found":         {base: a, ours: a, theirs: b, result: b},
		"as it is made":           {base: a, ours: b, theirs: b, result: b},
		"nothing to do":           {base: a, ours: c, theirs: a, result: c},
		"both changed":            {base: a, ours: b, theirs: c, texts: true},
		"our mode stays":          {base: a, ours: ax, theirs: b, result: bx},
		"their mode comes":        {base: a, ours: a, theirs: ax, result: ax},
		"a mode over an edit":     {base: a, ours: b, theirs: ax, result: bx},
		"deleted":                 {base: a, ours: a, theirs: nil, result: nil},
		"deleted, other mode":     {base: a, ours: ax, theirs: nil, result: nil},
		"deleted before":          {base: a, ours: nil, theirs: nil, result: nil},
		"deleted, edited":         {base: a, ours: b, theirs: nil, refused: "the fix deletes it, and it was edited since"},
		"deleted, a link now":     {base: a, ours: la, theirs: nil, refused: "the fix deletes it, and it was edited since"},
		"gone":                    {base: a, ours: nil, theirs: b, refused: "it is gone, and the fix changes it"},
		"added":                   {base: nil, ours: nil, theirs: b, result: b},
		"added by both alike":     {base: nil, ours: b, theirs: b, result: b},
		"added, other mode":       {base: nil, ours: bx, theirs: b, result: b},
		"added empty":             {base: nil, ours: b, theirs: empty, result: b},
		"added over empty":        {base: nil, ours: empty, theirs: b, result: b},
		"added by both":           {base: nil, ours: b, theirs: c, texts: true},
		"added, a link there":     {base: nil, ours: lb, theirs: c, refused: "it is a symlink now, and the fix changes a file"},
		"a link of it":            {base: a, ours: a, theirs: lb, result: lb},
		"a link of an edit":       {base: a, ours: b, theirs: lb, refused: "the fix makes a symlink of it, and it was edited since"},
		"a link, ours a link too": {base: a, ours: la, theirs: lb, refused: "the fix makes a symlink of it, and it was edited since"},
		"a link elsewhere":        {base: la, ours: lb, theirs: lc, refused: "the fix and somebody since made it point elsewhere"},
		"a link became a file":    {base: la, ours: a, theirs: lc, refused: "it is a file now, and the fix changes a symlink"},
		"a link as found":         {base: la, ours: la, theirs: lc, result: lc},
		"binary as found":         {base: na, ours: na, theirs: nb, result: nb},
		"binary":                  {base: na, ours: nb, theirs: a, refused: "binary, and changed on both sides"},
		"ours is binary":          {base: a, ours: nb, theirs: b, refused: "binary, and changed on both sides"},
	} {
		m := Three(x.base, x.ours, x.theirs)
		if m.Texts != x.texts || m.Refused != x.refused || !Equal(m.Result, x.result) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m := Three(ax, bx, &File{Mode: 0o644, Data: []byte("c\n")}); !m.Texts || gitMode(m.Mode) != "100644" {
		t.Errorf("the mode of merged texts: %+v", m)
	}
}

// A conflict stands where it begins in the file as it is, whatever was merged above it.
func TestClashes(t *testing.T) {
	t.Parallel()
	ours := "1\n2\nmine\n4\n5\n6\nmine too\r\n"
	merged := "0\n1\n2\n<<<<<<< ours\nmine\n||||||| base\n3\n=======\ntheirs\n>>>>>>> theirs\n4\nmore\n5\n6\n<<<<<<< ours\r\nmine too\r\n=======\r\n>>>>>>> theirs\r\n"
	got := Clashes([]byte(ours), []byte(merged))
	if len(got) != 2 || got[0].Line != 3 || got[1].Line != 7 {
		t.Fatalf("%+v", got)
	}
	if got[0].Text != "<<<<<<< ours\nmine\n||||||| base\n3\n=======\ntheirs\n>>>>>>> theirs\n" || got[1].Text != "<<<<<<< ours\r\nmine too\r\n=======\r\n>>>>>>> theirs\r\n" {
		t.Errorf("%+v", got)
	}
	if got := Clashes([]byte("a\n"), []byte("a\nb\n")); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
