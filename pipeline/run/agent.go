package run

// A task that an agent does: the run asks for it, and writes its answer to the tree.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/async-pipeline/async-pipeline/internal/filename"
	"github.com/async-pipeline/async-pipeline/internal/git"
	"github.com/async-pipeline/async-pipeline/internal/patch"
	"github.com/async-pipeline/async-pipeline/internal/process"
	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// An AskAgent lets an agent do a task in a copy of the tree. It returns the row of the task and the answer, without
// secrets and control characters, and writes below agents of the run's folder only. say is told what happens.
type AskAgent func(ctx context.Context, t *pipeline.Task, d *record.Draft, say func(text string)) (record.Task, string)

// leaveOut reports whether an agent task is left out, and records that: no agent may start, and the cache does not
// have its result.
func (w *walker) leaveOut(ctx context.Context, t *pipeline.Task) bool {
	if t.Agent == nil || !w.r.AgentsOff {
		return false
	}
	if c := w.r.Cache; c != nil && ctx.Err() == nil {
		if e := c.Look(ctx, t); e != nil && e.Result == cache.Hit {
			return false
		}
	}
	w.skip(pipeline.End{Task: t, Reason: record.AgentsOff})
	return true
}

// agent carries out a task that an agent does.
func (w *walker) agent(ctx context.Context, t *pipeline.Task, out *output) record.Task {
	if w.r.Agent == nil {
		return record.Task{Name: t.Name, Status: record.Failed, Error: new("no agent can be asked here")}
	}
	got, answer := w.r.Agent(ctx, t, w.d, func(text string) {
		w.step(t, text)
		_, _ = fmt.Fprintf(out, "[async-pipeline: %s]\n", text)
	})
	_, _ = io.WriteString(out, answer)
	to := t.Agent.StdoutTo
	if got.Status != record.Passed || to == "" {
		return got
	}
	err := w.answerable(ctx, t) // minutes have passed
	if err == nil {
		err = w.writeAnswer(to, answer)
	}
	if err != nil {
		got.Status, got.Error = record.Failed, new(err.Error())
		return got
	}
	got.Agent.Answer = answerFile(to, []byte(answer))
	return got
}

func answerFile(to string, text []byte) *record.AgentFile {
	return &record.AgentFile{Path: to, Bytes: int64(len(text)), Digest: recordfile.Digest(text)}
}

// step records what an agent does.
func (w *walker) step(t *pipeline.Task, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(record.Event{Type: "agent_step", Task: t.Name, Fields: []record.Field{{Name: "text", Value: text}}})
}

// answerable returns why the answer of an agent task may not be written to its file; nil: it may, or there is none.
// An answer never replaces a file that git tracks, or anything but a regular file.
func (w *walker) answerable(ctx context.Context, t *pipeline.Task) error {
	if t.Agent == nil || t.Agent.StdoutTo == "" {
		return nil
	}
	to := t.Agent.StdoutTo
	root, err := os.OpenRoot(w.r.Config.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	for at := to; at != "."; at = path.Dir(at) {
		info, err := root.Lstat(at)
		_, nested := root.Lstat(path.Join(at, ".git"))
		switch {
		case err == nil && info.IsDir() && nested == nil:
			return fmt.Errorf("stdout_to: %s is a repository of its own: name a file outside of it", at)
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("stdout_to: %w", err)
		case at == to && !info.Mode().IsRegular():
			return fmt.Errorf("stdout_to: %s is there, and is no file: remove it, or name another file", at)
		case at != to && !info.IsDir():
			return fmt.Errorf("stdout_to: %s is no folder: name a file in a folder that is none of your links", at)
		}
	}
	repo, err := git.Of(ctx, w.r.Config.Root)
	if errors.Is(err, git.ErrNone) {
		return nil
	}
	var tracked bool
	if err == nil {
		var rel string
		if rel, err = filepath.Rel(repo.Top, sandbox.Resolved(w.r.Config.Root)); err == nil {
			tracked, err = repo.Tracks(ctx, path.Join(filepath.ToSlash(rel), to))
		}
	}
	switch {
	case ctx.Err() != nil: // it ends as cancelled
		return nil
	case err != nil:
		return fmt.Errorf("stdout_to: whether git tracks %s is not known: %w", to, err)
	case tracked:
		return fmt.Errorf("stdout_to: git tracks %s, and an answer may not replace a file of yours: name another one, or git rm --cached it", to)
	}
	return nil
}

// answerPrefix begins the name of an answer that is being written. Its maker's process follows.
const answerPrefix = ".async-pipeline-answer-"

// writeAnswer writes an answer to a file below root, all of it or nothing. Until it is whole it is in the folder of the
// run, where --watch does not look: else an answer would begin the next round. Where .async is a file system of its own,
// it is beside the file.
func (w *walker) writeAnswer(to, answer string) (err error) {
	root, err := os.OpenRoot(w.r.Config.Root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if at := path.Dir(to); at != "." {
		if err := root.MkdirAll(at, 0o777); err != nil {
			return fmt.Errorf("stdout_to: %w", err)
		}
	}
	run, err := filepath.Rel(w.r.Config.Root, w.d.Dir)
	if err == nil && filepath.IsLocal(run) {
		err = writeBy(root, filepath.ToSlash(run), to, answer)
	} else {
		err = syscall.EXDEV
	}
	if errors.Is(err, syscall.EXDEV) {
		err = writeBy(root, path.Dir(to), to, answer)
	}
	if err != nil {
		return fmt.Errorf("stdout_to: %w", err)
	}
	return nil
}

// writeBy writes a file in a folder, and renames it when it is whole.
func writeBy(root *os.Root, folder, to, text string) error {
	temp := path.Join(folder, process.TempName(answerPrefix)+strconv.FormatInt(time.Now().UnixNano(), 36))
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, to)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// patchOf returns the path of the patch of an agent task in the folder of its run.
func patchOf(t *pipeline.Task) string { return "agents/" + filename.Of(t.Name) + ".patch" }

// patchKept is the name by which the cache has the patch of an agent task.
const patchKept = "patch"

// keepPatch gives the patch of an agent task that has passed to the cache, which stores it with the result. A result
// whose patch is not whole is not stored.
func (w *walker) keepPatch(e *cache.Entry, got *record.Task) {
	a := got.Agent
	if e == nil || a == nil {
		return
	}
	for _, o := range a.Omitted {
		if o.Why != "ignored" {
			e.NotWhole = fmt.Sprintf("the patch of the agent lacks %s (%s)", o.Path, o.Why)
		}
	}
	if a.Patch != nil {
		e.Beside = map[string]string{patchKept: filepath.Join(w.d.Dir, filepath.FromSlash(a.Patch.Path))}
	}
}

// replay writes what the cache has of an agent task into the folder of this run, and returns what is recorded of it.
func (w *walker) replay(t *pipeline.Task, e *cache.Entry) (*record.Agent, error) {
	a := &record.Agent{Agent: t.Agent.Use, Omitted: []record.AgentOmitted{}, Files: []record.AgentFile{}}
	if text, ok := e.Given[patchKept]; ok {
		at := filepath.Join(w.d.Dir, filepath.FromSlash(patchOf(t)))
		if err := recordfile.MakeFolder(filepath.Dir(at)); err != nil {
			return nil, err
		}
		if err := recordfile.Write(at, text, false); err != nil {
			return nil, err
		}
		file := record.AgentFile{Path: patchOf(t), Bytes: int64(len(text)), Digest: recordfile.Digest(text)}
		a.Files, a.Patch = append(a.Files, file), &record.AgentPatch{AgentFile: file}
		if parsed, err := patch.Parse(text); err == nil {
			a.Patch.Changed = len(parsed.Files)
		}
	}
	if to := t.Agent.StdoutTo; to != "" {
		text, err := os.ReadFile(filepath.Join(w.r.Config.Root, filepath.FromSlash(to)))
		if err != nil {
			return nil, err
		}
		a.Answer = answerFile(to, text)
	}
	return a, nil
}
