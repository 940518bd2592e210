package run

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

func asIs(b []byte) []byte { return b }

// What a service prints goes to the run that uses it, or waits for the next one: nothing is lost or written twice, and
// nothing is written to a run that has ended.
func TestRelay(t *testing.T) {
	t.Parallel()
	const lines = 20000
	r := &relay{}
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		for i := range lines {
			_, _ = fmt.Fprintln(r, i)
		}
		r.end()
	}()
	var all bytes.Buffer
	for over := false; !over; {
		var run bytes.Buffer
		r.use(&run, asIs)
		time.Sleep(time.Millisecond)
		goesOn := r.leave()
		all.Write(run.Bytes()) // the race detector tells of a write that comes later
		over = !goesOn
		time.Sleep(time.Millisecond)
	}
	<-printed
	var want bytes.Buffer
	for i := range lines {
		_, _ = fmt.Fprintln(&want, i)
	}
	if !bytes.Equal(all.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes, want %d", all.Len(), want.Len())
	}
}

// Between two runs the end of what a service prints is kept, in whole lines and without secrets, and it is said how much
// is missing.
func TestRelayHolds(t *testing.T) {
	t.Parallel()
	const line = "a line with a secret in it\n"
	clean := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("secret"), []byte("[redacted]")) }
	for _, lines := range []int{0, 1, mostHeld / len(line), mostHeld/len(line) + 1, 5 * mostHeld / len(line)} {
		r := &relay{}
		for range lines {
			_, _ = r.Write([]byte(line))
		}
		if len(r.held) > 2*mostHeld+len(line) {
			t.Errorf("%d bytes are held", len(r.held))
		}
		var run strings.Builder
		r.use(&run, clean)
		_, _ = r.Write([]byte("now\n"))
		text, lost := run.String(), 0
		if _, err := fmt.Sscanf(text, "[async-pipeline: %d bytes left out here]\n", &lost); err == nil {
			_, text, _ = strings.Cut(text, "\n")
		}
		if (lost > 0) != (lines*len(line) > mostHeld) {
			t.Errorf("%d lines: %d bytes are left out", lines, lost)
		}
		want := strings.Repeat(string(clean([]byte(line))), lines-lost/len(line)) + "now\n"
		if text != want || lost%len(line) != 0 {
			t.Errorf("%d lines: %d bytes left out, and %d bytes are given, want %d", lines, lost, len(text), len(want))
		}
	}
}

// A service that ends while no run uses it, and is started anew, leaves what it printed to the next run.
func TestRelayRest(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]string{
		"":         "",
		"broken\n": "broken\n[async-pipeline: started anew]\n",
		"broken":   "broken\n[async-pipeline: started anew]\n",
	} {
		r := &relay{}
		_, _ = r.Write([]byte(printed))
		if !r.end() {
			t.Error("no run uses it")
		}
		var run strings.Builder
		if r.rest(&run, asIs); run.String() != want {
			t.Errorf("%q, want %q", run.String(), want)
		}
		if r.leave() {
			t.Error("it goes on")
		}
	}
}

// have makes a service that goes on, ends when it is told to, and tells order of that.
func have(k *Kept, name string, order chan<- string, needs ...*instance) *instance {
	p := &instance{name: name, made: "of " + name, needs: needs, exited: make(chan struct{}), ended: make(chan struct{})}
	told := make(chan struct{}, 1)
	p.stop = func(error) {
		select {
		case told <- struct{}{}:
		default:
		}
	}
	go func() {
		<-told
		time.Sleep(10 * time.Millisecond)
		order <- name
		p.out.end()
		close(p.exited)
		close(p.ended)
	}()
	k.add(p)
	return p
}

func ends(order chan string) string {
	var all []string
	for len(order) > 0 {
		all = append(all, <-order)
	}
	return strings.Join(all, " ")
}

// A service is used as long as it is made of the same, nothing that it may read changed, and it and what it needs go
// on. Else it is ended, after those that need it.
func TestTake(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		made  string
		exact bool
		do    func(k *Kept, db, api *instance)
		ends  string // "": it is used
	}{
		"the same":                 {made: "of db"},
		"the same, exact":          {made: "of db", exact: true},
		"of something else":        {made: "of dc", exact: true, ends: "api db"},
		"not known":                {ends: "api db"},
		"its files changed":        {made: "of db", do: func(k *Kept, _, _ *instance) { k.Changed([]string{"db"}) }, ends: "api db"},
		"its files changed, exact": {made: "of db", exact: true, do: func(k *Kept, _, _ *instance) { k.Changed([]string{"db"}) }},
		"those of another one":     {made: "of db", do: func(k *Kept, _, _ *instance) { k.Changed([]string{"api"}) }},
		"it ended":                 {made: "of db", do: func(_ *Kept, db, _ *instance) { db.stop(nil); <-db.ended }, ends: "db api"},
		"one that needs it ended":  {made: "of db", do: func(_ *Kept, _, api *instance) { api.stop(nil); <-api.ended }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, order := &Kept{}, make(chan string, 9)
			db := have(k, "db", order)
			api := have(k, "api", order, db)
			if tt.do != nil {
				tt.do(k, db, api)
			}
			p, old := k.take("db", tt.made, tt.exact)
			if (p == db) != (tt.ends == "") || (old == db) != (tt.ends != "") {
				t.Errorf("used: %v, ended: %v", p, old)
			}
			if got := ends(order); tt.ends != "" && got != tt.ends {
				t.Errorf("%q end, want %q", got, tt.ends)
			}
			if p, old = k.take("db", "of db", true); tt.ends != "" && (p != nil || old != nil) {
				t.Error("it is still there")
			}
			if p, _ = k.take("none", "of none", true); p != nil {
				t.Error("another one is used")
			}
			k.Close(nil)
		})
	}
	t.Run("what it needs ended", func(t *testing.T) {
		t.Parallel()
		k, order := &Kept{}, make(chan string, 9)
		db := have(k, "db", order)
		have(k, "api", order, db)
		db.stop(nil)
		<-db.ended
		if p, old := k.take("api", "of api", true); p != nil || old == nil {
			t.Error("it is used")
		}
	})
	t.Run("no services go on", func(t *testing.T) {
		t.Parallel()
		if p, old := (*Kept)(nil).take("db", "of db", true); p != nil || old != nil {
			t.Error("it is used")
		}
	})
}

// What a service printed that was ended because of another one is for the run that starts it anew.
func TestEndedBecauseOfAnother(t *testing.T) {
	t.Parallel()
	k, order := &Kept{}, make(chan string, 9)
	db := have(k, "db", order)
	api := have(k, "api", order, db)
	if _, old := k.take("db", "of another db", true); old != db {
		t.Fatal("db is not ended")
	}
	p, old := k.take("api", "of api", true)
	if p != nil || old != api {
		t.Errorf("api is %v, and %v was", p, old)
	}
	if p, old = k.take("api", "of api", true); p != nil || old != nil {
		t.Error("it is told twice")
	}
}

// Services that no task needs any more are ended, and at last all are: those that need others first.
func TestRetainAndClose(t *testing.T) {
	t.Parallel()
	k, order := &Kept{}, make(chan string, 9)
	db := have(k, "db", order)
	have(k, "api", order, have(k, "mid", order, db))
	have(k, "web", order)
	c := &pipeline.Config{Tasks: []*pipeline.Task{
		{Name: "db", Service: &pipeline.Service{}},
		{Name: "web", Service: &pipeline.Service{}},
		{Name: "mid", Service: &pipeline.Service{}},
		{Name: "api"},
		{Name: "test", DependsOn: []string{"db", "web"}},
	}}
	g, err := pipeline.Select(c, nil, false)
	check(t, err)
	k.Retain(c, g)
	if got := ends(order); got != "api mid" {
		t.Errorf("%q end", got)
	}
	k.Close(nil)
	if got := ends(order); got != "web db" {
		t.Errorf("%q end", got)
	}
	stuck := &instance{name: "stuck", exited: make(chan struct{}), ended: make(chan struct{}), stop: func(error) {}}
	k.add(stuck)
	now := make(chan struct{})
	close(now)
	k.Close(now) // waits for nothing
}
