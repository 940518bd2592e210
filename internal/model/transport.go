package model

// Faults of the network. They are examined only if no HTTP answer has come, or its body broke off.

import (
	"compress/flate"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// dropped are the errors of a network that may be better next time.
var dropped = []error{
	syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.ETIMEDOUT, syscall.ECONNABORTED, syscall.EPIPE,
	syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.ENOTCONN,
	io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, os.ErrDeadlineExceeded,
}

// streamError is what errors.As fills with a reset of an HTTP/2 stream: net/http does so for any struct of these
// fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "a stream of HTTP/2 was reset" }

// Codes of RFC 9113, section 7, which say how to speak and not that speaking failed.
const (
	inadequateSecurity = 0xc
	http11Required     = 0xd
)

// fault returns the error of a request that got no answer, or of a body that broke off.
func fault(err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its URL and verb say nothing that the person did not write
	}
	kind := faultKind(err)
	e := newError(kind, "%v", err)
	if errors.Is(err, syscall.ECONNREFUSED) {
		e = newError(kind, "%v: nothing listens there; is the base URL right?", err)
	}
	e.Err = err
	return e
}

func faultKind(err error) failure.Kind {
	dns, _ := errors.AsType[*net.DNSError](err)
	reset, isReset := errors.AsType[streamError](err)
	text := strings.ToLower(err.Error())
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), is[flate.CorruptInputError](err),
		is[flate.InternalError](err):
		return failure.Decompression
	case isTLS(err), isReset && (reset.Code == inadequateSecurity || reset.Code == http11Required):
		return failure.TLSError
	case dns != nil && dns.IsNotFound && !dns.IsTemporary && !dns.IsTimeout:
		return failure.DNSNotFound
	case dns != nil, isReset, timedOut(err),
		slices.ContainsFunc(dropped, func(target error) bool { return errors.Is(err, target) }):
		return failure.TransportDisconnect
	case strings.Contains(text, "malformed http"), strings.Contains(text, "response headers exceeded"):
		return failure.ParseError
	case disconnectWord(text), has(text, httpWords):
		return failure.TransportDisconnect
	}
	return failure.Unknown
}

// is reports whether an error of type E is in the chain of err.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// timedOut checks every error of the chain: net.OpError knows only of a timeout directly below it.
func timedOut(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	return ok && (network.Timeout() || timedOut(errors.Unwrap(network)))
}

// httpWords are errors of net/http that are only strings: chunks that cannot be read, connections that end.
var httpWords = []string{
	"http2:", "goaway", "malformed chunked encoding", "invalid byte in chunk length", "chunk length", "broken pipe",
	"server closed idle connection", "transport connection broken", "use of closed network connection",
	"connection reset by peer",
}

// disconnectWord reports whether text as a whole is one of two messages that runtimes write for a lost connection.
// Inside a longer sentence they may mean anything.
func disconnectWord(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return text == "socket hang up" || text == "premature close"
}

func isTLS(err error) bool {
	return is[x509.UnknownAuthorityError](err) || is[x509.HostnameError](err) ||
		is[x509.CertificateInvalidError](err) ||
		is[x509.SystemRootsError](err) || is[*tls.CertificateVerificationError](err) ||
		is[tls.RecordHeaderError](err) ||
		is[tls.AlertError](err) || errors.Is(err, http.ErrSchemeMismatch)
}
