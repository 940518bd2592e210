package model

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/failure"
)

// KindOf returns the kind of a provider's error that somebody else received, such as an agent CLI: the status of HTTP
// (0: not known), the machine-readable words beside the message, and the message. It is failure.Unknown if nothing
// tells.
func KindOf(status int, codes []string, message string) failure.Kind {
	f := facts{status: status, message: message, meant: true}
	for _, c := range codes {
		if c != "" {
			f.codes = append(f.codes, strings.ToLower(c))
		}
	}
	return f.kind()
}

// KindOfLoss returns the kind of an error of net/http for a request that got no answer. It is failure.Unknown if nothing
// tells.
func KindOfLoss(err error) failure.Kind { return fault(err).Kind }
