package run

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/internal/recordfile"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/cache"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// says is an agent that passes with an answer, and counts how often it was asked.
func says(answer string, asked *int) AskAgent {
	return func(_ context.Context, t *pipeline.Task, d *record.Draft, say func(string)) (record.Task, string) {
		*asked++
		say("at work")
		path := filepath.Join(d.Dir, "agents", t.Name+".patch")
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
		text := []byte("diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n")
		_ = os.WriteFile(path, text, 0o600)
		file := record.AgentFile{Path: "agents/" + t.Name + ".patch", Bytes: int64(len(text)), Digest: recordfile.Digest(text)}
		return record.Task{
			Name: t.Name, Status: record.Passed, ExitCode: new(0), DurationMS: new(int64(5)),
			Agent: &record.Agent{Agent: "a", Patch: &record.AgentPatch{AgentFile: file, Changed: 1}, Files: []record.AgentFile{file}},
		}, answer
	}
}

// reviewed is a task of an agent, and one that reads its answer.
func reviewed(to string) []*pipeline.Task {
	review := &pipeline.Task{
		Name: "review", Agent: &pipeline.AgentWork{Use: "a", Prompt: "Read.", StdoutTo: to, Budget: pipeline.Budget{Attempts: 1}},
		Outputs: []string{to}, Cache: pipeline.CacheRules{Disabled: true},
	}
	return []*pipeline.Task{review, {Name: "use", DependsOn: []string{"review"}, Run: shell("cat " + to)}}
}

// The answer of an agent task is in its log and in its file, whole, before the next task starts.
func TestAgentTask(t *testing.T) {
	t.Parallel()
	asked := 0
	r := runOf(t, reviewed("out/review.txt")...)
	r.Agent = says("two faults\n", &asked)
	tasks, sealed := carry(t, t.Context(), r)
	text, err := os.ReadFile(filepath.Join(r.Config.Root, "out", "review.txt"))
	check(t, err)
	if sealed.Status != record.Passed || asked != 1 || string(text) != "two faults\n" || tasks[1].Status != record.Passed {
		t.Fatalf("%s, asked %d, answer %q", sealed.Status, asked, text)
	}
	if a := tasks[0].Agent.Answer; a == nil || a.Path != "out/review.txt" || a.Bytes != 11 || a.Digest != recordfile.Digest(text) {
		t.Errorf("answer in the record: %+v", a)
	}
	log, err := os.ReadFile(filepath.Join(sealed.Dir, "logs", "review.log"))
	if err != nil || string(log) != "[async-pipeline: at work]\ntwo faults\n" {
		t.Errorf("log %q, %v", log, err)
	}
	events, err := os.ReadFile(filepath.Join(sealed.Dir, "events.jsonl"))
	if err != nil || !strings.Contains(string(events), `"type":"agent_step","task":"review","text":"at work"`) {
		t.Errorf("journal: %s, %v", events, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(r.Config.Root, "out")); len(entries) != 1 {
		t.Errorf("besides the answer there is %v", entries)
	}
	check(t, sealed.Check())
}

// An agent that failed writes no answer, and its task has failed.
func TestAgentTaskFails(t *testing.T) {
	t.Parallel()
	r := runOf(t, reviewed("review.txt")...)
	r.Agent = func(_ context.Context, t *pipeline.Task, _ *record.Draft, _ func(string)) (record.Task, string) {
		return record.Task{Name: t.Name, Status: record.Failed, Agent: &record.Agent{Agent: "a"}}, "half a word"
	}
	tasks, sealed := carry(t, t.Context(), r)
	if sealed.Status != record.Failed || tasks[0].Agent.Answer != nil || recordfile.Exists(filepath.Join(r.Config.Root, "review.txt")) {
		t.Errorf("%+v", tasks[0])
	}
	r = runOf(t, reviewed("review.txt")...)
	if tasks, sealed = carry(t, t.Context(), r); sealed.Status != record.Failed || str(tasks[0].Error) != "no agent can be asked here" {
		t.Errorf("without a function: %s, %s", sealed.Status, str(tasks[0].Error))
	}
}

// What a person has in the place of the answer is refused before the agent starts, and is never replaced.
func TestAgentTaskReplacesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ prepare, says string }{
		"tracked":      {"echo mine > review.txt && git add review.txt", "git tracks review.txt"},
		"link":         {"ln -s PIPELINE.hcl review.txt", "is no file"},
		"link nowhere": {"ln -s /nowhere review.txt", "is no file"},
		"folder":       {"mkdir review.txt", "is no file"},
	} {
		asked := 0
		r := runOf(t, reviewed("review.txt")...)
		r.Agent = says("answer\n", &asked)
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", "git init -q .; "+c.prepare)
		cmd.Dir = r.Config.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", name, out)
		}
		tasks, sealed := carry(t, t.Context(), r)
		if sealed.Status != record.Failed || asked != 0 || !strings.Contains(str(tasks[0].Error), c.says) {
			t.Errorf("%s: %s, asked %d, %s", name, sealed.Status, asked, str(tasks[0].Error))
		}
	}
	// While the agent worked somebody put a link there.
	asked := 0
	r := runOf(t, reviewed("review.txt")...)
	well := says("answer\n", &asked)
	r.Agent = func(ctx context.Context, t *pipeline.Task, d *record.Draft, say func(string)) (record.Task, string) {
		_ = os.Symlink("elsewhere", filepath.Join(r.Config.Root, "review.txt"))
		return well(ctx, t, d, say)
	}
	tasks, _ := carry(t, t.Context(), r)
	if asked != 1 || tasks[0].Status != record.Failed || recordfile.Exists(filepath.Join(r.Config.Root, "elsewhere")) {
		t.Errorf("asked %d, %+v", asked, tasks[0])
	}
}

// With AgentsOff no agent starts: the task is left out, and what depends on it runs with what is there.
func TestAgentsOff(t *testing.T) {
	t.Parallel()
	asked := 0
	r := runOf(t, reviewed("review.txt")...)
	r.Agent, r.AgentsOff = says("answer\n", &asked), true
	check(t, os.WriteFile(filepath.Join(r.Config.Root, "review.txt"), []byte("of before\n"), 0o600))
	tasks, sealed := carry(t, t.Context(), r)
	if asked != 0 || sealed.Status != record.Passed || tasks[0].Status != record.Skipped || str(tasks[0].Reason) != record.AgentsOff || tasks[1].Status != record.Passed {
		t.Errorf("asked %d, %s, %+v", asked, sealed.Status, tasks)
	}
}

// cachedReview is a run of a task of an agent whose result is cached.
func cachedReview(t *testing.T, asked *int) *Run {
	t.Helper()
	tasks := reviewed("review.txt")
	tasks[0].Inputs, tasks[0].Cache.Disabled = []string{"src/*"}, false
	r := runOf(t, tasks...)
	check(t, os.Mkdir(filepath.Join(r.Config.Root, "src"), 0o700))
	check(t, os.WriteFile(filepath.Join(r.Config.Root, "src", "a"), nil, 0o600))
	r.Agent = says("answer\n", asked)
	r.Config.Agents = []*pipeline.Agent{{Name: "a", Model: &pipeline.ModelAgent{Provider: "openai", Model: "m"}}}
	return r
}

// A hit gives the answer, the log and the patch to the new run and asks nobody, also with AgentsOff.
func TestAgentTaskCached(t *testing.T) {
	t.Parallel()
	asked := 0
	r := cachedReview(t, &asked)
	again := func() (record.Task, *record.Sealed) {
		r.Cache = &cache.Cache{Dir: filepath.Join(r.Config.Root, ".async", "cache")}
		all, sealed := carry(t, t.Context(), r)
		return all[0], sealed
	}
	if first, _ := again(); asked != 1 || first.Cache.Result != cache.Miss || str(first.Cache.NotStored) != "null" {
		t.Fatalf("asked %d, %+v", asked, first.Cache)
	}
	check(t, os.Remove(filepath.Join(r.Config.Root, "review.txt")))
	r.AgentsOff = true
	got, sealed := again()
	if asked != 1 || got.Status != record.Cached || got.Agent == nil || got.Agent.Patch == nil || got.Agent.Patch.Changed != 1 || got.Agent.Answer == nil {
		t.Fatalf("asked %d, %+v, %+v", asked, got, got.Agent)
	}
	text, err := os.ReadFile(filepath.Join(sealed.Dir, "agents", "review.patch"))
	if err != nil || recordfile.Digest(text) != got.Agent.Patch.Digest {
		t.Errorf("patch %q, %v", text, err)
	}
	answer, err := os.ReadFile(filepath.Join(r.Config.Root, "review.txt"))
	if err != nil || string(answer) != "answer\n" {
		t.Errorf("answer %q, %v", answer, err)
	}
	// What the cache cannot give back asks nobody either.
	damaged := 0
	check(t, filepath.WalkDir(filepath.Join(r.Config.Root, ".async", "cache"), func(p string, d fs.DirEntry, err error) error {
		if text, _ := os.ReadFile(p); err == nil && string(text) == "answer\n" {
			damaged++
			_ = os.Chmod(p, 0o600)
			return os.WriteFile(p, []byte("another"), 0o600)
		}
		return err
	}))
	check(t, os.Remove(filepath.Join(r.Config.Root, "review.txt")))
	if got, _ = again(); damaged == 0 || asked != 1 || got.Status != record.Skipped || str(got.Reason) != record.AgentsOff {
		t.Errorf("%d damaged: asked %d, %+v", damaged, asked, got)
	}
	// Another model is another task; a patch that is not whole is not stored.
	r.AgentsOff = false
	r.Config.Agents[0].Model.Model = "n"
	whole := r.Agent
	r.Agent = func(ctx context.Context, t *pipeline.Task, d *record.Draft, say func(string)) (record.Task, string) {
		got, answer := whole(ctx, t, d, say)
		got.Agent.Omitted = []record.AgentOmitted{{Path: "key", Why: "secret"}, {Path: "built", Why: "ignored"}}
		return got, answer
	}
	got, _ = again()
	if asked != 2 || str(got.Cache.Reason) != "agent model was m, is n" || str(got.Cache.NotStored) != "the patch of the agent lacks key (secret)" {
		t.Errorf("asked %d, reason %s, not stored %s", asked, str(got.Cache.Reason), str(got.Cache.NotStored))
	}
}

// A patch of the cache that has the value of what is a secret now is not given back: the agent is asked again.
func TestAgentTaskSecretSince(t *testing.T) {
	t.Parallel()
	asked := 0
	r := cachedReview(t, &asked)
	again := func() record.Task {
		r.Cache = &cache.Cache{Dir: filepath.Join(r.Config.Root, ".async", "cache")}
		all, _ := carry(t, t.Context(), r)
		return all[0]
	}
	again()
	if got := again(); asked != 1 || got.Status != record.Cached {
		t.Fatalf("asked %d, %s", asked, got.Status)
	}
	r.Tasks.Redact.Add("LATER", "new file mode 100644")
	if got := again(); asked != 2 || got.Status != record.Passed || str(got.Cache.Reason) != "its patch has the value of the secret LATER in it" {
		t.Errorf("asked %d, %s, %s", asked, got.Status, str(got.Cache.Reason))
	}
}
