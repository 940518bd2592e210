package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The supervisor of tasks is started before the packages that take long to initialise.
func TestEarly(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "--version")
	cmd.Args[0] = "async-pipeline"
	cmd.Env = []string{"GODEBUG=inittrace=1", "PATH=" + os.Getenv("PATH")}
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err, trace.String())
	}
	_, after, ok := strings.Cut(trace.String(), "init github.com/async-pipeline/async-pipeline/cmd/async-pipeline/internal/early ")
	if !ok {
		t.Fatal("it is not initialised at all:\n" + trace.String())
	}
	for _, late := range []string{"net/http", "crypto/tls", "github.com/async-pipeline/async-pipeline/hooks/review/rules"} {
		if !strings.Contains(after, "init "+late+" ") {
			t.Errorf("%s is initialised before it", late)
		}
	}
}
