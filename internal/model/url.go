package model

// Base URLs, and the addresses of requests.

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// CheckURL returns what is wrong with a base URL and, after "; ", what to write instead: it must be https://, or
// http:// to a loopback address, and have nothing but host, port and path. The empty URL is valid: it means the
// provider's own. PIPELINE.hcl is checked by the same function.
func CheckURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil {
		// What does not parse may hold a password: it is not quoted.
		return errors.New("the base URL cannot be read; write https://host/path")
	}
	switch {
	case u.User != nil:
		return errors.New("the base URL holds a user or a password; write the key as api_key")
	case u.Host == "" || u.Opaque != "" || u.Hostname() == "":
		return fmt.Errorf("the base URL %q names no host; write https://host/path", base)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the base URL holds a query or a fragment; write https://host/path only")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("the base URL %q is not https://; write https://host/path", base)
	case !loopback(u.Hostname()):
		return fmt.Errorf("the base URL %q would send the key unencrypted; write https://, or http:// to a loopback "+
			"address such as 127.0.0.1", base)
	}
	return nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

var versionSegment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/v\d+(alpha|beta)?\d*$`) })

// endpoint returns base with the version of the protocol, unless base ends with one, and the path. The protocols of
// OpenAI are spoken below many paths (/api/v1, /v1beta/openai): there the version is added to a bare host only.
func endpoint(base, version string, always bool, path string) string {
	base = strings.TrimRight(base, "/")
	u, err := url.Parse(base)
	if err == nil && !versionSegment().MatchString(u.Path) && (always || u.Path == "") {
		base += version
	}
	return base + path
}

// Endpoint returns the address of path (such as /messages) at a provider, one of Providers. An empty base is the
// provider's own, an empty version (such as /v1) the protocol's.
func Endpoint(provider, base, version, path string) string {
	w, _ := wireOf(provider)
	return endpoint(cmp.Or(base, w.base), cmp.Or(version, w.version), w.always, path)
}
