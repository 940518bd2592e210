package model

// Where a request goes: the base URL and what it may be.

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// CheckURL says what is wrong with a base URL and, behind "; ", what to write: it must be https://, or http:// to a loopback
// address, and must hold nothing but host, port and path. The empty one is right: it means the provider's own. It is the only
// place that knows; whoever reads PIPELINE.hcl is lent it.
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
		return fmt.Errorf("the base URL %q would send the key unencrypted; write https://, or http:// to a loopback address such as 127.0.0.1", base)
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

// endpoint is base with the version of the protocol, where base does not end with one, and the path. The protocols of OpenAI are
// spoken below many paths (/api/v1, /v1beta/openai): there the version is added to a bare host only.
func endpoint(base, version string, always bool, path string) string {
	base = strings.TrimRight(base, "/")
	u, err := url.Parse(base)
	if err == nil && !versionSegment().MatchString(u.Path) && (always || u.Path == "") {
		base += version
	}
	return base + path
}
