package task

import (
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	person := []string{
		"PATH=/old", "PATH=/bin", "HOME=/home/me", "USER=me", "LANG=C", "LC_ALL=C.UTF-8", "TZ=UTC", "TERM=dumb", "TMPDIR=/tmp",
		"SHELL=/bin/sh", "LOGNAME=me", "PWD=/", "GOFLAGS=-v", "AWS_KEY=1", "AWS_REGION=eu", "AWS=no", "EMPTY=", "=x", "noise",
		"NPM_TOKEN=hunter-2-hunter-2", "URL=https://u:hunter-2-hunter-2@host", "PIN=1234",
		"ASYNC_PIPELINE_VAR_x=1", "ASYNC_PIPELINE_HOOK=outer/task", "ASYNC_PIPELINE_RUNNER=1.2.3",
	}
	base := "ASYNC_PIPELINE_HOOK=outer/task HOME=/home/me LANG=C LC_ALL=C.UTF-8 PATH=/bin TERM=dumb TMPDIR=/tmp TZ=UTC USER=me"
	with := func(more string) string {
		s := append(strings.Fields(base), strings.Fields(more)...)
		slices.Sort(s)
		return strings.Join(s, " ")
	}
	without := func(all, name string) string {
		s := slices.DeleteFunc(strings.Fields(all), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		return strings.Join(s, " ")
	}
	plain := func(name, value string) pipeline.EnvVar {
		return pipeline.EnvVar{Name: name, Text: pipeline.Text{Value: value}}
	}
	secret := pipeline.EnvVar{Name: "TOKEN", Text: pipeline.Text{Value: "hunter-2-hunter-2", Secrets: []string{"NPM_TOKEN"}}}
	open, withheld := sandbox.Box{Secrets: true}, sandbox.Box{}
	tests := []struct {
		name string
		task pipeline.Task
		box  sandbox.Box
		want string
		held string
	}{
		{"built, not inherited", pipeline.Task{}, open, base, ""},
		{"pass_env", pipeline.Task{PassEnv: []string{"GOFLAGS", "AWS_*", "EMPTY", "NONE"}}, open, with("GOFLAGS=-v AWS_KEY=1 AWS_REGION=eu EMPTY="), ""},
		{
			"pass_env of everything but ours",
			pipeline.Task{PassEnv: []string{"*"}},
			open,
			with("SHELL=/bin/sh LOGNAME=me PWD=/ GOFLAGS=-v AWS_KEY=1 AWS_REGION=eu AWS=no EMPTY= NPM_TOKEN=hunter-2-hunter-2 URL=https://u:hunter-2-hunter-2@host PIN=1234"), "",
		},
		{"pass_env by our name passes nothing", pipeline.Task{PassEnv: []string{"ASYNC_PIPELINE_VAR_x", "ASYNC_PIPELINE_*"}}, open, base, ""},
		{"env wins over pass_env", pipeline.Task{PassEnv: []string{"GOFLAGS"}, Env: []pipeline.EnvVar{plain("GOFLAGS", "-x"), plain("LANG", "de")}}, open, strings.Replace(with("GOFLAGS=-x"), "LANG=C", "LANG=de", 1), ""},
		{"box wins over pass_env", pipeline.Task{PassEnv: []string{"GOFLAGS"}}, sandbox.Box{Secrets: true, Env: []string{"GOFLAGS=-box", "GOCACHE=/kept"}}, with("GOFLAGS=-box GOCACHE=/kept"), ""},
		{"env wins over box", pipeline.Task{Env: []pipeline.EnvVar{plain("GOCACHE", "/mine")}}, sandbox.Box{Secrets: true, Env: []string{"GOCACHE=/kept"}}, with("GOCACHE=/mine"), ""},
		{
			"the box's home and tmp win over all",
			pipeline.Task{Env: []pipeline.EnvVar{plain("HOME", "/mine")}},
			sandbox.Box{Secrets: true, Home: "/private", Tmp: "/private/tmp"},
			strings.NewReplacer("/home/me", "/private", "TMPDIR=/tmp", "TMPDIR=/private/tmp").Replace(base), "",
		},
		{"the box's hook replaces the outer one", pipeline.Task{}, sandbox.Box{Secrets: true, Hook: "run/task"}, without(base, "ASYNC_PIPELINE_HOOK"), ""},
		{"a hook's own variables", pipeline.Task{Env: []pipeline.EnvVar{plain("ASYNC_PIPELINE_TASK", "t")}}, open, with("ASYNC_PIPELINE_TASK=t"), ""},
		{"secrets", pipeline.Task{Env: []pipeline.EnvVar{secret}, PassEnv: []string{"NPM_TOKEN"}}, open, with("TOKEN=hunter-2-hunter-2 NPM_TOKEN=hunter-2-hunter-2"), ""},
		{
			"secrets withheld",
			pipeline.Task{Env: []pipeline.EnvVar{secret, plain("COPY", "<hunter-2-hunter-2>"), plain("OK", "1")}, PassEnv: []string{"NPM_TOKEN", "URL", "PIN", "GOFLAGS"}},
			withheld, with("OK=1 GOFLAGS=-v"), "COPY NPM_TOKEN PIN TOKEN URL",
		},
		{"withheld, and not the person's value instead", pipeline.Task{PassEnv: []string{"GOFLAGS"}, Env: []pipeline.EnvVar{{Name: "GOFLAGS", Text: secret.Text}}}, withheld, base, "GOFLAGS"},
		{"withheld, but set to something harmless", pipeline.Task{PassEnv: []string{"NPM_TOKEN"}, Env: []pipeline.EnvVar{plain("NPM_TOKEN", "none")}}, withheld, with("NPM_TOKEN=none"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &Runner{
				Config: &pipeline.Config{Secrets: []pipeline.Secret{{Name: "NPM_TOKEN", Value: "hunter-2-hunter-2"}, {Name: "var.pin", Value: "1234"}}},
				Redact: new(redact.Set), Environ: person,
			}
			r.Redact.Add("NPM_TOKEN", "hunter-2-hunter-2")
			tt.task.Name = "x"
			env, held, err := environment(r, &tt.task, tt.box)
			if got := strings.Join(env, " "); err != nil || got != tt.want {
				t.Errorf("environment, %v\n got %s\nwant %s", err, got, tt.want)
			}
			if got := strings.Join(held, " "); got != tt.held {
				t.Errorf("withheld %q, want %q", got, tt.held)
			}
		})
	}
}

func TestEnvironmentRefuses(t *testing.T) {
	t.Parallel()
	r := &Runner{Config: &pipeline.Config{}}
	for _, v := range []pipeline.EnvVar{
		{Name: "ASYNC_PIPELINE_HOOK"},
		{Name: "ASYNC_PIPELINE_RUNNER"},
		{Name: ""},
		{Name: "A=B"},
		{Name: "A", Text: pipeline.Text{Value: "x\x00y"}},
		{Name: "A", Text: pipeline.Text{Missing: []string{"TOKEN"}}},
	} {
		_, _, err := environment(r, &pipeline.Task{Name: "x", Env: []pipeline.EnvVar{v}}, sandbox.Box{Secrets: true})
		if err == nil || !strings.Contains(err.Error(), `task "x"`) {
			t.Errorf("%+v: %v", v, err)
		}
	}
}
