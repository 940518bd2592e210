// Package judge is pure: failure signatures and fingerprints, and what is a check file. It reads no file itself.
package judge
