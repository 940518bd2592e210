package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A cost is what one run took.
type cost struct {
	Wall time.Duration `json:"wall"`
	Peak int64         `json:"peak"` // bytes: the largest process of the run, never less than the meter itself
}

// meterMark says in the environment that this test binary is to measure one command.
const meterMark = "ASYNC_PIPELINE_BENCH_METER"

// longest is how long a command may take.
const longest = 20 * time.Minute

// metered runs a command from a process that is small. Linux counts what the parent holds when a process is started
// into the peak of the child (setmax_mm_hiwater_rss in fs/exec.c), and a benchmark that has written many files
// holds much.
func metered(dir string, argv []string, env ...string) (cost, error) {
	ctx, cancel := context.WithTimeout(context.Background(), longest+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], argv...)
	cmd.Dir = dir
	var said, out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &out
	cmd.Env = append(append(os.Environ(), "CI=1", "TERM=dumb", meterMark+"=1"), env...)
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%v: %w\n%s", argv, err, out.Bytes())
	}
	var took cost
	if err := json.Unmarshal(said.Bytes(), &took); err != nil {
		return cost{}, fmt.Errorf("%v: the meter says %q: %w", argv, said.Bytes(), err)
	}
	return took, nil
}

// meter runs argv and prints what it took; the exit code is the command's.
func meter(argv []string) int {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	for _, kv := range os.Environ() {
		if kv != meterMark+"=1" {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	start := time.Now()
	err := cmd.Run()
	took := cost{Wall: time.Since(start)}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		took.Peak = usage.Maxrss << 10
	}
	if err := json.NewEncoder(os.Stdout).Encode(took); err != nil {
		return 1
	}
	return 0
}
