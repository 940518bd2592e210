// Scripted-model is a provider without a model: it plays a scenario to whoever asks at its address, in each of the
// four wire protocols, on this machine only. With it the native agent can be tried without an account and without a
// network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "scripted-model: "+err.Error())
		os.Exit(2)
	}
}

func serve() error {
	address := flag.String("listen", "127.0.0.1:8484", "where to listen; another host than this machine is refused")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, "usage: scripted-model [--listen 127.0.0.1:8484] SCENARIO.json\n")
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		return errors.New("name one scenario")
	}
	scenario, err := modeltest.Load(flag.Arg(0))
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(*address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("--listen %s: write 127.0.0.1:PORT", *address)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", *address)
	if err != nil {
		return err
	}
	fmt.Printf("playing %d turns at http://%s; Ctrl-C ends it\n", len(scenario.Turns), listener.Addr())
	s := &http.Server{Handler: &modeltest.Server{Scenario: scenario}, ReadHeaderTimeout: 10 * time.Second}
	return s.Serve(listener)
}
