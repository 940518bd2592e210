package task

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// Limits of a command of tools.
const (
	askTime = 10 * time.Second
	askMost = 1 << 20 // bytes that it may print
)

// Ask runs a command as the task would be run, and returns what it prints. One that does not exit with 0 is an error;
// where ctx ends first, it is the cause of that.
func (r *Runner) Ask(ctx context.Context, t *pipeline.Task, argv []string) ([]byte, error) {
	asked := *t
	asked.Run, asked.Retry, asked.Timeout = pipeline.Command{}, pipeline.Retry{}, askTime
	for _, w := range argv {
		asked.Run.Argv = append(asked.Run.Argv, pipeline.Text{Value: w})
	}
	var out limited
	got, err := r.RunTask(ctx, r.Config.Root, &asked, sandbox.Box{Tier: sandbox.None, Secrets: true}, &out)
	switch {
	case err != nil:
		return nil, err
	case got.Status == record.Cancelled:
		return nil, cmp.Or(context.Cause(ctx), context.Canceled)
	case got.Status == record.Passed && out.Len() == 0:
		return nil, errors.New("it prints nothing, and that tells no program from another")
	case out.over:
		return nil, fmt.Errorf("it prints more than %d bytes", askMost)
	case got.Status == record.TimedOut:
		return nil, fmt.Errorf("it did not end within %v", askTime)
	case got.Error != nil:
		return nil, errors.New(*got.Error)
	case got.Status != record.Passed:
		return nil, errors.New(exit(got))
	}
	return out.Bytes(), nil
}

// limited keeps the first bytes that are written to it.
type limited struct {
	bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > askMost {
		l.over = true
		return len(p), nil
	}
	return l.Buffer.Write(p)
}
