// Package digest writes digests as records, manifests and journals have them: sha256: and the hash in hexadecimal.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
)

// Of returns the digest of b.
func Of(b []byte) string {
	sum := sha256.Sum256(b)
	return Text(sum[:])
}

// Text returns the digest with a sum of SHA-256.
func Text(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }
