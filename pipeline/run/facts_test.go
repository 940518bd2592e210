package run

import (
	"reflect"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// fill sets every text below v to value, shown as hidden, and makes one of every thing that there may be several of.
func fill(v reflect.Value, value string) {
	if v.Type() == reflect.TypeFor[pipeline.Text]() {
		v.Set(reflect.ValueOf(pipeline.Text{Value: value, Secrets: []string{"S"}, Hidden: "…"}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), value)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), value)
	}
}

// A fingerprint does not depend on the values of secrets, wherever they are in the task and however short, and
// taking it does not change the task.
func TestFingerprintTellsNoSecret(t *testing.T) {
	t.Parallel()
	prints := map[string]bool{}
	for _, value := range []string{"1", "2", "a long enough secret"} {
		task := &pipeline.Task{Name: "test"}
		fill(reflect.ValueOf(task).Elem(), value)
		print, err := Fingerprint(task, &redact.Set{})
		if err != nil || !strings.HasPrefix(print, "sha256:") {
			t.Fatal(print, err)
		}
		prints[print] = true
		texts := []pipeline.Text{task.Run.Shell, task.Run.Argv[0], task.Env[0].Text, task.OnFail[0].Run.Run.Shell, task.OnFail[0].Run.Run.Argv[0]}
		for _, text := range texts {
			if text.Value != value {
				t.Errorf("the task itself was changed: %+v", text)
			}
		}
	}
	if len(prints) != 1 {
		t.Errorf("%d digests of one task with several secrets", len(prints))
	}
}

// A task that is written differently has another fingerprint; its place in the file does not count.
func TestFingerprintTellsChanges(t *testing.T) {
	t.Parallel()
	base := func() *pipeline.Task {
		return &pipeline.Task{
			Name: "test", Run: pipeline.Command{Argv: []pipeline.Text{{Value: "go"}}}, Env: []pipeline.EnvVar{{Name: "A", Text: pipeline.Text{Value: "1"}}},
			OnFail: []pipeline.Hook{{Run: &pipeline.RunHook{Run: pipeline.Command{Shell: pipeline.Text{Value: "notify"}}}}},
		}
	}
	digest := func(change func(*pipeline.Task)) string {
		task := base()
		change(task)
		print, err := Fingerprint(task, &redact.Set{})
		check(t, err)
		return print
	}
	was := digest(func(*pipeline.Task) {})
	if digest(func(t *pipeline.Task) { t.Pos.Line, t.OnFail[0].Pos.Line = 7, 8 }) != was {
		t.Error("a task that moved is another one")
	}
	for name, change := range map[string]func(*pipeline.Task){
		"argv": func(t *pipeline.Task) { t.Run.Argv[0].Value = "make" },
		"env":  func(t *pipeline.Task) { t.Env[0].Value = "2" },
		"hook": func(t *pipeline.Task) { t.OnFail[0].Run.Run.Shell.Value = "mail" },
		"the secret": func(t *pipeline.Task) {
			t.Env[0].Text = pipeline.Text{Value: "1", Secrets: []string{"S"}, Hidden: "…"}
		},
	} {
		if digest(change) == was {
			t.Errorf("%s: no other digest", name)
		}
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	set := &redact.Set{}
	set.Add("TOKEN", "hunter2-hunter2")
	set.Add("OTHER", "other-secret")
	task := func(change func(*pipeline.Task)) string {
		x := &pipeline.Task{
			Name: "t", Pos: pipeline.Pos{Line: 3}, Run: pipeline.Command{Argv: []pipeline.Text{{Value: "echo"}, {Value: "hunter2-hunter2"}}},
			OnFail: []pipeline.Hook{{Pos: pipeline.Pos{Line: 5}, Run: &pipeline.RunHook{}}},
		}
		change(x)
		print, err := Fingerprint(x, set)
		check(t, err)
		return print
	}
	base := task(func(*pipeline.Task) {})
	if task(func(x *pipeline.Task) { x.Pos.Line, x.OnFail[0].Pos.Line = 9, 9 }) != base {
		t.Error("the place in the file counts")
	}
	if task(func(x *pipeline.Task) { x.Run.Argv[1].Value = "other-secret" }) != base {
		t.Error("the secret's value counts")
	}
	if task(func(x *pipeline.Task) { x.Run.Argv[0].Value = "printf" }) == base || !strings.HasPrefix(base, "sha256:") {
		t.Error("the command does not count")
	}
}
