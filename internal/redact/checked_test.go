package redact

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// What has no value is read as it is; what has one, also across chunks, is refused with its name.
func TestChecked(t *testing.T) {
	t.Parallel()
	const value = "s3cr3tVALUE99"
	s := new(Set)
	s.Add("TOKEN", value)
	for _, size := range []int{0, 1, 13, checkedTwice, checkedAtOnce - 1, checkedAtOnce, checkedAtOnce + 1, 2*checkedAtOnce + checkedTwice + 7} {
		plain := strings.Repeat("lorem ipsum ", size/12+1)[:size]
		got, err := io.ReadAll(s.Checked(iotest.HalfReader(strings.NewReader(plain))))
		if err != nil || string(got) != plain {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
		var found *Found
		got, err = io.ReadAll(s.Checked(strings.NewReader(plain + "<" + value + ">" + plain)))
		if !errors.As(err, &found) || found.Name != "TOKEN" || bytes.Contains(got, []byte(value)) {
			t.Errorf("%d bytes before a value: %v", size, err)
		}
		got, err = io.ReadAll(s.Checked(strings.NewReader(plain[:max(0, size-5)] + value)))
		if !errors.As(err, &found) || bytes.Contains(got, []byte(value)) {
			t.Errorf("a value at %d: %v", size-5, err)
		}
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(s.Checked(iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Error(err)
	}
	r := strings.NewReader(value)
	if (*Set)(nil).Checked(r) != io.Reader(r) || new(Set).Checked(r) != io.Reader(r) {
		t.Error("without values there is nothing to search for")
	}
}
