package sandbox

// One command from start to end, on the runner's side: clocks, output, result.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// codeTimeout is the exit code of a command that ran out of time, as timeout(1) has it.
const codeTimeout = 124

// An ending is how the tree ended.
type ending struct {
	never  bool // the command was not started; err says why
	code   int
	signal string
	says   string // a line for Command.Stderr: why the program could not be run
	told   bool   // stop was called before the command had ended
	left   int
	err    error // it could not be started or ended, or its supervisor was killed

	processor time.Duration // see Result
}

// Run runs c in the box and returns when no process of it is left. When ctx ends, a timeout passes, or the command
// idles, the tree gets SIGTERM, SIGKILL after Grace, and Run returns at most 100 ms later. context.Cause(ctx) ==
// ErrNow means no grace. A supervisor that does not end the tree is replaced: then Run returns within a second of
// the SIGKILL that was due. An error means "could not be done": ErrTier, a bad Box, a supervisor that cannot start
// or that was killed before the end was asked for; when the command was not started, the Result that comes with it
// is the zero one. A program that is not found is exit code 127 with a line on Stderr. Run waits for a Write of
// Stdout or Stderr that does not return; it does not wait for a Read of Stdin.
func (b Box) Run(ctx context.Context, c Command) (Result, error) {
	if err := b.check(c); err != nil {
		return Result{}, err
	}
	return b.run(ctx, c, nil)
}

// A probe is what an inner process tries in its box instead of the command, to find out whether the box confines it.
type probe struct {
	Outside string // a folder in which no file may be made
	Copy    string // a file of the copy, at the tree's path, that must be visible; empty: none
}

func (b Box) run(ctx context.Context, c Command, p *probe) (Result, error) {
	var res Result
	if ctx.Err() != nil {
		res.Cancelled, res.ExitCode = true, 128+15
		return res, nil
	}
	started := time.Now()
	killed := int64(-1)
	if c.Memory {
		killed = oomKills("/")
	}
	std, err := openStreams(c)
	if err != nil {
		return res, fmt.Errorf("cannot start %s: %w", c.Argv[0], err)
	}
	defer std.close()
	t, err := launch(b, c, std.child, p)
	if err != nil {
		return res, fmt.Errorf("cannot start %s: %w", c.Argv[0], err)
	}
	res.Started = started
	std.pump()

	end := watch(ctx, c, t, std, &res)
	t.awaitSeen(c)
	outErr := std.drain()
	if end.never {
		return Result{}, end.err
	}
	res.Duration = time.Since(res.Started)
	res.ExitCode, res.Signal, res.ProcessesLeft, res.Processor = end.code, end.signal, end.left, end.processor
	if end.says != "" && c.Stderr != nil {
		_, err := io.WriteString(c.Stderr, end.says+"\n")
		outErr = errors.Join(outErr, err)
	}
	if !end.told {
		// The command had ended before stop was called: only its leftovers ran out of time.
		res.TimedOut, res.IdledOut, res.Cancelled = false, false, false
	}
	ours := res.TimedOut || res.IdledOut || res.Cancelled
	res.OutOfMemory = killed >= 0 && !ours && res.ExitCode == 128+int(syscall.SIGKILL) && oomKills("/") > killed
	if res.TimedOut || res.IdledOut {
		res.ExitCode = codeTimeout
	}
	if end.err == nil && outErr != nil {
		end.err = fmt.Errorf("output of %s: %w", c.Argv[0], outErr)
	}
	return res, end.err
}

// pauseCheck is how often a clock that ran out while the commands were suspended is read.
const pauseCheck = 5 * time.Millisecond

// watch stops the tree when a clock runs out or ctx ends, and returns when the tree has ended.
func watch(ctx context.Context, c Command, t *tree, std *streams, res *Result) ending {
	done := ctx.Done()
	var timeout, idle <-chan time.Time
	var timer, idler *time.Timer
	if c.Timeout > 0 {
		timer = time.NewTimer(c.Timeout - (Awake() - std.start))
		defer timer.Stop()
		timeout = timer.C
	}
	if c.Idle > 0 {
		idler = time.NewTimer(c.Idle)
		defer idler.Stop()
		idle = idler.C
	}
	for {
		select {
		case <-done:
			done = nil
			res.Cancelled = !res.TimedOut && !res.IdledOut
			t.stop(errors.Is(context.Cause(ctx), ErrNow))
		case <-timeout:
			if left := c.Timeout - (Awake() - std.start); left > 0 { // Suspend was called meanwhile
				timer.Reset(max(left, pauseCheck))
				continue
			}
			timeout = nil
			res.TimedOut = !res.Cancelled && !res.IdledOut
			t.stop(false)
		case <-idle:
			if quiet := std.quiet(); quiet < c.Idle {
				idler.Reset(max(c.Idle-quiet, pauseCheck))
				continue
			}
			idle = nil
			res.IdledOut = !res.Cancelled && !res.TimedOut
			t.stop(false)
		case end := <-t.done:
			return end
		}
	}
}

// streams are the three standard streams of a command: the child's ends and ours.
type streams struct {
	child [3]*os.File // nil: /dev/null
	outs  []*output
	in    *os.File  // our end of stdin, nil when the child reads /dev/null
	src   io.Reader // what goes into it
	fed   chan struct{}
	start time.Duration // by Awake
	last  atomic.Int64  // when something was read last, by Awake; only with Command.Idle
}

func openStreams(c Command) (_ *streams, err error) {
	s := &streams{start: Awake(), src: c.Stdin}
	s.touch()
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if c.Stdin != nil {
		if s.in, s.child[0], err = pipe(true); err != nil {
			return nil, err
		}
	}
	if s.child[1], err = s.open(c.Stdout, c.Idle > 0); err != nil {
		return nil, err
	}
	if c.Stderr != nil && same(c.Stdout, c.Stderr) {
		s.child[2] = s.child[1] // one pipe, so that the order of what is written survives
		return s, nil
	}
	s.child[2], err = s.open(c.Stderr, c.Idle > 0)
	return s, err
}

func (s *streams) open(w io.Writer, timed bool) (*os.File, error) {
	if w == nil {
		return nil, nil
	}
	r, child, err := pipe(false)
	if err != nil {
		return nil, err
	}
	o := &output{pipe: r, to: w, done: make(chan error, 1)}
	if timed {
		o.read = s.touch
	}
	s.outs = append(s.outs, o)
	return child, nil
}

func (s *streams) touch() { s.last.Store(int64(Awake())) }

// quiet returns how long the command has written nothing.
func (s *streams) quiet() time.Duration { return Awake() - time.Duration(s.last.Load()) }

// pump starts the copying. The child has its ends now.
func (s *streams) pump() {
	s.closeChild()
	for _, o := range s.outs {
		go o.copy()
	}
	if s.in != nil {
		s.fed = make(chan struct{})
		go func() {
			_, _ = io.Copy(s.in, s.src) // a command need not read what it is given
			_ = s.in.Close()
			close(s.fed)
		}()
	}
}

// drain waits until everything that the tree wrote was passed on. A process outside of the tree may still have a pipe
// open.
func (s *streams) drain() error {
	var errs []error
	for _, o := range s.outs {
		errs = append(errs, o.finish())
	}
	if s.in != nil {
		_ = s.in.Close()
		select {
		case <-s.fed:
		case <-time.After(20 * time.Millisecond): // the source blocks in Read, which cannot be interrupted
		}
	}
	return errors.Join(errs...)
}

func (s *streams) closeChild() {
	for _, f := range s.child {
		if f != nil {
			_ = f.Close() // the shared one is closed twice
		}
	}
}

func (s *streams) close() {
	s.closeChild()
	for _, o := range s.outs {
		_ = o.pipe.Close()
	}
	if s.in != nil {
		_ = s.in.Close()
	}
}

// same reports whether two writers are one. Writers that cannot be compared are not.
func same(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a == b
}

// Foreground runs a program, such as an editor, for a person and waits for it. It is not confined, and has the
// terminal: ^C and ^\ end nothing else meanwhile. It is never used for a task, hook or agent. A program that does not
// exit with 0 is an error.
func Foreground(argv, env []string, dir string, stdin io.Reader, stdout, stderr io.Writer) error {
	theirs := make(chan os.Signal, 1)
	// caught and not ignored, because the program would inherit that
	signal.Notify(theirs, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(theirs)
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // it is the person's own, and theirs to end
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	return cmd.Run()
}
