package main

import (
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "claude" {
		os.Exit(scriptedClaude())
	}
	waitTogether()
	hangUp()
	testscript.Main(m, map[string]func(){
		"async-pipeline": func() { os.Exit(Main()) },
		"go-cache-copy":  goCacheCopy,
		"one-port":       onePort,
	})
}

// hangUp lets the programs that tests start be ended by a closed terminal also where the tests were started by nohup,
// which they would inherit.
func hangUp() {
	if strings.HasSuffix(os.Args[0], ".test") && signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}

// waitTogether runs more tests at a time than there are processors: most of a script's time is waiting. A -parallel
// that somebody gave comes behind it on the command line, and wins.
func waitTogether() {
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}
