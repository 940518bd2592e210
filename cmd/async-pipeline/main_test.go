package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testscript.Main(m, map[string]func(){
		"async-pipeline": func() { os.Exit(Main()) },
		"go-cache-copy":  goCacheCopy,
	})
}
