package failedtask

import "testing"

// A root whose path is not UTF-8 is found like any other: in text as a program prints it, and in what is left of
// that.
func TestCleanTailOfAnyRoot(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/srv/b\xffd/a.go:1":     "./a.go:1",
		"/srv/b\uFFFDd/a.go:1":   "./a.go:1",
		"in /srv/b\xffd":         "in .",
		"/srv/b\xffd-old/a.go:1": "/srv/bd-old/a.go:1",
		"/srv/b/a.go":            "/srv/b/a.go",
	} {
		if got := CleanTail(in, "/srv/b\xffd", 100); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestCleanTail(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/srv/shop/a.go:1":          "./a.go:1",
		"in /srv/shop":              "in .",
		"in /srv/shop, or\n":        "in ., or\n",
		"/srv/shop-api/a.go":        "/srv/shop-api/a.go",
		"/srv/shop.old/a.go":        "/srv/shop.old/a.go",
		"see /srv/shop. Next":       "see .. Next",
		"/srv/shop/x and /srv/shop": "./x and .",
	} {
		if got := CleanTail(in, "/srv/shop", 100); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	if got := CleanTail("first\nsecond\nthird", "/r", 8); got != "third" {
		t.Errorf("%q", got)
	}
}
