package hooks

import (
	"context"
	"path/filepath"
	"time"

	"github.com/async-pipeline/async-pipeline/hooks/fix"
	"github.com/async-pipeline/async-pipeline/hooks/fix/draft"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// A RunHookResult tells how an on_fail "run" ended. It changes nothing else.
type RunHookResult struct {
	ExitCode   int    // -1 when it could not be started
	Error      string // empty when it passed
	DurationMS int64
	Log        string // relative to the run's folder
}

// notifyTimeout is the timeout of an on_fail "run" that sets none.
const notifyTimeout = time.Minute

// notify runs an on_fail "run": the person's own command, in the tree. Variables in its environment tell of the
// failure.
func (e *Engine) notify(
	ctx context.Context, run *record.Sealed, ended *record.Task, t *pipeline.Task, h *pipeline.RunHook, n int,
	journal *fix.Journal,
) (Outcome, error) {
	if e.Observer.Started != nil {
		e.Observer.Started(Started{Task: t.Name, Kind: "run"})
	}
	log, rel, err := draft.HookLog(run.Dir, t.Name, n+1, e.Redact.Bytes)
	if err != nil {
		return Outcome{}, err
	}
	defer log.Close()
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = notifyTimeout
	}
	logPath := ""
	if ended.Log != nil {
		logPath = filepath.Join(run.Dir, filepath.FromSlash(ended.Log.Path))
	}
	text := func(name, value string) pipeline.EnvVar {
		return pipeline.EnvVar{Name: name, Text: pipeline.Text{Value: value}}
	}
	command := &pipeline.Task{
		Name: t.Name, Pos: t.Pos, Run: h.Run, Dir: t.Dir, PassEnv: t.PassEnv, Timeout: timeout,
		Env: []pipeline.EnvVar{
			text("ASYNC_PIPELINE_LOG", logPath),
			text("ASYNC_PIPELINE_RUN_ID", run.ID),
			text("ASYNC_PIPELINE_STATUS", ended.Status),
			text("ASYNC_PIPELINE_TASK", t.Name),
		},
	}
	box := sandbox.Box{Tier: sandbox.None, Hook: run.ID + "/" + t.Name, Secrets: true}
	started := time.Now()
	got, err := e.RunTask(ctx, e.Config.Root, command, box, log)

	result := &RunHookResult{ExitCode: -1, DurationMS: time.Since(started).Milliseconds(), Log: rel}
	if got.ExitCode != nil {
		result.ExitCode = *got.ExitCode
	}
	switch {
	case err != nil:
		result.Error = err.Error()
	case got.Error != nil:
		result.Error = *got.Error
	case got.Status == record.TimedOut:
		result.Error = "ended after its timeout of " + timeout.String()
	case got.Status != record.Passed:
		result.Error = got.Status
	}
	if err := log.Close(); err != nil {
		return Outcome{}, err
	}
	return Outcome{Task: t.Name, Kind: "run", Run: result}, journal.Event("hook_run_finished", map[string]any{
		"task": t.Name, "exit_code": got.ExitCode, "error": result.Error, "duration_ms": result.DurationMS, "log": rel,
		"log_digest": fix.DigestOf(run.Dir, rel),
	})
}
