package hclfile

import (
	"regexp"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// readyTime is how long a service may take to be ready.
const readyTime = time.Minute

// service reads what makes a task a service, or returns nil.
func (r *tasks) service(b *block) *pipeline.Service {
	ready := b.of("ready")
	if b.attrs["service"] == nil || !r.boolean(b, "service") {
		for _, c := range ready {
			r.add(c.at, "ready belongs to a service", "Write service = true in the task.")
		}
		return nil
	}
	refuse := func(at hcl.Range, what, why string) { r.addf(at, why, "a service has no %s", what) }
	if a := b.attrs["outputs"]; a != nil {
		refuse(a.NameRange, a.Name, "Let a task that it depends on make what others read.")
	}
	if a := b.attrs["timeout"]; a != nil {
		refuse(a.NameRange, a.Name, "It runs until the run ends. How long it may take to be ready stands in ready { timeout }.")
	}
	if a := b.attrs["inputs"]; a != nil && hcl.ExprAsKeyword(a.Expr) == auto {
		refuse(a.NameRange, "inputs = auto", "It ends with the run, so that what it reads is known too late. List its inputs.")
	}
	for _, c := range b.blocks {
		switch c.word.name {
		case "retry", "cache":
			refuse(c.at, c.word.name, "Take it out.")
		case "agent":
			refuse(c.at, `on_fail "agent"`, "A fix is judged by how a task ends, and a service is ended.")
		}
	}
	s := &pipeline.Service{Timeout: readyTime}
	for _, c := range ready { // one at most
		r.ready(c, s)
	}
	return s
}

// ready reads the ready block of a service.
func (r *tasks) ready(b *block, s *pipeline.Service) {
	const one = "Write one of command, port and log."
	var given []*hcl.Attribute
	for _, name := range []string{"command", "port", "log"} {
		if a := b.attrs[name]; a != nil {
			given = append(given, a)
		}
	}
	switch {
	case len(given) == 0 && !b.faulty:
		r.add(b.at, "ready does not say when", one)
	case len(given) > 1:
		r.add(given[1].NameRange, "ready says twice when", one)
	}
	if a := b.attrs["command"]; a != nil {
		c := r.command(a)
		s.Command = &c
	}
	if a := b.attrs["port"]; a != nil {
		s.Port = r.number(a, 1, 65535)
	}
	if a := b.attrs["log"]; a != nil {
		var ok bool
		if s.Log, ok = r.str(b, "log"); ok && s.Log == "" {
			r.add(a.Expr.Range(), "log is empty", `Write a part of the line that says that it is ready: log = "listening on".`)
		}
		if _, err := regexp.Compile(s.Log); err != nil {
			r.addf(a.Expr.Range(), "See https://github.com/google/re2/wiki/Syntax.", "log is not a regular expression: %v", err)
		}
	}
	if a := b.attrs["timeout"]; a != nil {
		s.Timeout = r.duration(a)
	}
}
