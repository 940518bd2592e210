package model

// Whether a provider can be reached, before anything is asked of it.

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// A Route is the way to a provider.
type Route string

// The routes. Any other is the URL of a proxy.
const (
	Direct     Route = ""
	ByProxyEnv Route = "environment" // the proxy that this process's environment names (HTTPS_PROXY, NO_PROXY), if any
)

// reachLimit is how long a provider may take to answer.
const reachLimit = 3 * time.Second

// Reach reports whether something answers at an address, which it asks once, for the head of a page and without a key.
// Any status is an answer, except that of a proxy that wants to know who asks. The error is an *Error, except after the
// end of ctx.
func Reach(ctx context.Context, address string, route Route) error {
	asked, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	q, err := http.NewRequestWithContext(asked, http.MethodHead, address, http.NoBody)
	if err != nil {
		return newError(failure.InvalidRequest, "%v", err)
	}
	t := &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true}
	switch route {
	case Direct:
	case ByProxyEnv:
		t.Proxy = http.ProxyFromEnvironment
	default:
		proxy, err := url.Parse(string(route))
		if err != nil {
			return newError(failure.InvalidRequest, "the address of the proxy cannot be read") // it may have a password
		}
		t.Proxy = http.ProxyURL(proxy)
	}
	answer, err := t.RoundTrip(q) // follows no redirect
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case asked.Err() != nil:
		return newError(failure.TransportDisconnect, "no answer came within %v", reachLimit)
	case err != nil:
		return fault(err)
	}
	defer func() { _ = answer.Body.Close() }() // it is empty
	if answer.StatusCode == http.StatusProxyAuthRequired {
		return newError(failure.AuthMissing, "the proxy asks for a user and a password")
	}
	return nil
}
