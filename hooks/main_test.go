package hooks

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

// TestMain lets the sandbox start this program as its helper: else each test that asks for a tier would wait for one
// that runs the tests instead.
func TestMain(m *testing.M) {
	sandbox.Main()
	m.Run()
}
