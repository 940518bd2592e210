package fix

import (
	"bytes"
	"testing"
)

func TestCleanJSON(t *testing.T) {
	t.Parallel()
	clean := func(b []byte) []byte {
		b = bytes.ReplaceAll(b, []byte(`pa"ss`), []byte("[x]"))
		return bytes.ReplaceAll(b, []byte("123456"), []byte("[n]"))
	}
	for in, want := range map[string]string{
		`{"a":"my pa\"ss"}`:         `{"a":"my [x]"}`,
		`{"a":123456,"b":"123456"}`: `{"a":123456,"b":"[n]"}`,
		`{"pa\"ss":[null,true,""]}`: `{"[x]":[null,true,""]}`,
		`{"a":"\\"}`:                `{"a":"\\"}`,
	} {
		if got := string(CleanJSON([]byte(in), clean)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
