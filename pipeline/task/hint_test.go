package task

import (
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

func TestHint(t *testing.T) {
	t.Parallel()
	person := []string{
		"PATH=/bin", "NPM_CONFIG_X=sesame-sesame", "GOPRIVATE=corp", "AWS_REGION=eu", "AWS_PROFILE=p", "EMPTY_ONE=", "lower_case=1", "PWD=/", "DEBUG=1",
		"ASYNC_PIPELINE_VAR_x=1", "AB=1", "_A1=1", "RUST_BACKTRACE=1",
	}
	one := `NPM_CONFIG_X is set in your shell but not passed: pass_env = ["NPM_CONFIG_X"]`
	for _, tt := range []struct {
		name   string
		task   pipeline.Task
		output string
		want   string
	}{
		{"nothing", pipeline.Task{Run: shell("go test")}, "FAIL", "null"},
		{"in the output", pipeline.Task{Run: shell("npm ci")}, "npm: set NPM_CONFIG_X first", one},
		{"in the shell text", pipeline.Task{Run: shell(`curl "$NPM_CONFIG_X/y"`)}, "", one},
		{"in argv", pipeline.Task{Run: argv("sh", "-c", "echo ${NPM_CONFIG_X}")}, "", one},
		{"in the order of their places, at most three", pipeline.Task{Run: shell("$AWS_REGION")}, "GOPRIVATE, AWS_REGION, _A1; NPM_CONFIG_X AWS_PROFILE", `AWS_REGION, GOPRIVATE and _A1 are set in your shell but not passed: pass_env = ["AWS_REGION", "GOPRIVATE", "_A1"]`},
		{"passed", pipeline.Task{Run: shell("$NPM_CONFIG_X"), PassEnv: []string{"NPM_*"}}, "NPM_CONFIG_X", "null"},
		{"set in env", pipeline.Task{Run: shell("x"), Env: []pipeline.EnvVar{{Name: "NPM_CONFIG_X", Text: pipeline.Text{Value: "1"}}}}, "NPM_CONFIG_X", "null"},
		{"set by the command", pipeline.Task{Run: shell("NPM_CONFIG_X=1 npm ci")}, "NPM_CONFIG_X", "null"},
		{"not whole words", pipeline.Task{Run: shell("x")}, "NPM_CONFIG_XY A_NPM_CONFIG_X 1NPM_CONFIG_X NPM_CONFIG_Xy", "null"},
		{"empty, small, short, ours, everybody's", pipeline.Task{Run: shell("x")}, "EMPTY_ONE lower_case AB PWD [DEBUG] `RUST_BACKTRACE=1` ASYNC_PIPELINE_VAR_x PATH HOME", "null"},
		{"not set in the shell either", pipeline.Task{Run: shell("x")}, "OTHER_NAME", "null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.task.Name = "x"
			r := runner(t, &tt.task)
			r.Environ = person
			if got := str(r.hint(&tt.task, tree, []byte(tt.output))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	// What a box withholds is not forgotten by the file.
	task := &pipeline.Task{Name: "x", PassEnv: []string{"NPM_CONFIG_X"}}
	r := runner(t, task)
	r.Environ = person
	r.Redact.Add("TOKEN", "sesame-sesame")
	if got := r.hint(task, sandbox.Box{}, []byte("NPM_CONFIG_X")); got != nil {
		t.Errorf("withheld: %s", *got)
	}
}
