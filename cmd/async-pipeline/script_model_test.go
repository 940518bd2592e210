package main

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/async-pipeline/async-pipeline/internal/model/modeltest"
)

// Commands that stand in for a provider:
//
//	model SCENARIO.json       plays a scenario; $MODEL_URL is its address
//	asked N                   the model has been asked N times, and each request was legal
//
// See modeltest for scenarios. A second model takes the place of the first.
func withModels(commands map[string]scriptCommand) map[string]scriptCommand {
	commands["model"], commands["asked"] = cmdModel, cmdAsked
	return commands
}

var models sync.Map // of a script's work folder → *modeltest.Server

func cmdModel(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "model SCENARIO.json")
	scenario, err := modeltest.Load(filepath.Clean(ts.MkAbs(args[0])))
	ts.Check(err)
	s := &modeltest.Server{Scenario: scenario, Key: "key-of-the-script"}
	h := httptest.NewServer(s)
	work := ts.Getenv("WORK")
	models.Store(work, s)
	ts.Defer(func() {
		s.Close()
		h.Close()
		models.CompareAndDelete(work, s)
	})
	ts.Setenv("MODEL_URL", h.URL)
	ts.Setenv("MODEL_KEY", "key-of-the-script")
}

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg, len(args) == 1, "asked N")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	v, ok := models.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("there is no model")
	}
	s := v.(*modeltest.Server)
	if wrong := s.Wrong(); len(wrong) > 0 {
		ts.Fatalf("the model was asked what no provider takes: %v", wrong)
	}
	if got := len(s.Asked()); got != want {
		ts.Fatalf("%s", fmt.Sprintf("the model was asked %d times, want %d", got, want))
	}
}
