package main

import (
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

func TestGiven(t *testing.T) {
	t.Parallel()
	c := &pipeline.Config{Secrets: []pipeline.Secret{{Name: "var.token", Value: "abc"}, {Name: "KEY", Value: "hunter2hunter2"}, {Name: "EMPTY"}}}
	for _, tt := range []struct {
		name        string
		files, vars []string
		want, note  string
	}{
		{name: "nothing", want: "async-pipeline run test"},
		{name: "plain", vars: []string{"go=go1.26", "a=b=c", "empty="}, want: "async-pipeline run --var go=go1.26 --var a=b=c --var empty= test"},
		{name: "quoted", files: []string{"my vars"}, vars: []string{"x=a b;$(c)'d"}, want: `async-pipeline run --var-file 'my vars' --var 'x=a b;$(c)'\''d' test`},
		{
			name: "sensitive", vars: []string{"token=x y", "x=1"}, want: "async-pipeline run --var token=… --var x=1 test",
			note: "… stands for the value of token (sensitive): put it in.",
		},
		{
			name: "holds a secret", vars: []string{"url=https://hunter2hunter2@x"}, want: "async-pipeline run --var url=… test",
			note: "… stands for the value of url (sensitive): put it in.",
		},
		{
			name: "cannot be copied", vars: []string{"a=1\n2", "b=\x1b[2J", "c=" + strings.Repeat("x", 1001)},
			want: "async-pipeline run --var a=… --var b=… --var c=… test",
			note: "… stands for the values of a (not all of it can be shown), b (not all of it can be shown), c (long): put it in.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			prog := process{}.open()
			prog.VarFiles, prog.Vars = tt.files, tt.vars
			g := repeatedVars(prog, c)
			args := append(append([]string{"run"}, g.words...), "test")
			if got := g.typed(prog, args...); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := g.note(); got != tt.note {
				t.Errorf("got  %s\nwant %s", got, tt.note)
			}
		})
	}
}

func TestRewrapped(t *testing.T) {
	t.Parallel()
	text := "One line of text that was wrapped\nat another width.\n\nA list:\n\n  first   in its own columns, which may be wide\n  second\n"
	want := "One line of text that was\nwrapped at another width.\n\nA list:\n\n  first   in its own columns, which may be wide\n  second"
	if got := rewrapped(text, 26); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
