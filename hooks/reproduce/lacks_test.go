package reproduce

import (
	"slices"
	"strings"
	"testing"

	"github.com/async-pipeline/async-pipeline/hooks/failedtask"
	"github.com/async-pipeline/async-pipeline/hooks/homes"
	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/internal/tree"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/scratch"
)

func TestLacks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output, sub string
		pass        bool
		want        string // "|" between parts; empty: nothing
	}{
		"nothing":                               {"it failed\n", ".", true, ""},
		"a file of a folder":                    {"open gen/data.json: no such file or directory\n", ".", true, `the copy has no gen, which git ignores: scratch { include = ["gen"] }`},
		"with the root":                         {"open ./gen/data.json: no such file\n", ".", true, `include = ["gen"]`},
		"the folder itself":                     {"ls: cannot access 'gen': No such file\n", ".", true, `include = ["gen"]`},
		"a longer name":                         {"generate: gen-x/y, my-gen, regen/z failed\n", ".", true, ""},
		"a module":                              {"Error: Cannot find module './gen/client'\n", ".", true, `include = ["gen"]`},
		"a Python module":                       {"ModuleNotFoundError: No module named 'pb.shop_pb2'\n", ".", true, `include = ["src/pb"]`},
		"a program":                             {"sh: 1: mytool: not found\n", ".", true, `include = ["bin/mytool"]`},
		"of bash":                               {"bash: line 1: mytool: command not found\n", ".", true, `include = ["bin/mytool"]`},
		"of Go":                                 {"exec: \"mytool\": executable file not found in $PATH\n", ".", true, `include = ["bin/mytool"]`},
		"too large":                             {"no such file: big.bin\n", ".", true, `include = ["big.bin"]`},
		"a special file":                        {"no such file: fifo\n", ".", true, ""},
		"in a sub-folder":                       {"src/pb/x.py: not found\n", "src", true, `include = ["pb"]`},
		"outside of it":                         {"gen/data.json: missing\n", "src", true, "no attribute can name what lies outside of the folder of PIPELINE.hcl"},
		"a file with secrets":                   {".env.local: no such file\n", ".", true, `.env.local, which may hold secrets: scratch { include = [".env.local"] }`},
		"secrets":                               {"it failed\n", ".", false, "the copy was not given A_TOKEN, B_TOKEN (pass_secrets = true"},
		"the secret":                            {"B_TOKEN is not set\n", ".", false, "the copy was not given B_TOKEN (pass_secrets = true"},
		"a variable":                            {"NPM_CONFIG_X must be set\n", ".", true, `NPM_CONFIG_X is set in your shell but not passed: pass_env = ["NPM_CONFIG_X"]`},
		"two variables":                         {"NPM_CONFIG_X, AWS_REGION\n", ".", true, `AWS_REGION, NPM_CONFIG_X are set in your shell but not passed: pass_env = ["AWS_REGION", "NPM_CONFIG_X"]`},
		"passed, set, empty, ours, everybody's": {"CI_THING GO_X PLAIN EMPTY_ONE ASYNC_PIPELINE_X LC_ALL HOME lower_case\n", ".", true, ""},
		"colours":                               {"open \x1b[1mgen/data.json\x1b[0m: no\n", ".", true, `include = ["gen"]`},
	} {
		q := &Request{
			Failure: &failedtask.Failure{
				Config: &pipeline.Config{PassEnv: []string{"CI_*"}},
				Task: &pipeline.Task{PassEnv: []string{"GO_X"}, Env: []pipeline.EnvVar{
					{Name: "A_TOKEN", Text: pipeline.Text{Secrets: []string{"A"}}}, {Name: "B_TOKEN", Text: pipeline.Text{Secrets: []string{"B"}}},
				}},
			},
			Homes: &homes.Homes{Box: sandbox.Box{Secrets: c.pass}, Environ: []string{
				"NPM_CONFIG_X=1", "AWS_REGION=eu", "CI_THING=1", "GO_X=1", "PLAIN=1", "EMPTY_ONE=", "ASYNC_PIPELINE_X=1", "LC_ALL=C", "HOME=/root",
				"lower_case=1", "A_TOKEN=x", "B_TOKEN=x",
			}},
		}
		base := &scratch.Base{Top: "/srv/shop", Sub: c.sub, Omitted: []tree.Omitted{
			{Path: ".env.local", Why: "ignored"},
			{Path: "big.bin", Why: "oversize"},
			{Path: "bin/mytool", Why: "ignored"},
			{Path: "fifo", Why: "special"},
			{Path: "gen", Why: "ignored"},
			{Path: "src/pb", Why: "ignored"},
			{Path: "x", Why: "ignored"},
		}}
		got := q.lacks([]byte(c.output), base)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Count(got, "include") > 1 {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestMissingNames(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x: command not found\n", 500)
	if n := len(missingNames(text)); n == 0 || n > 102 {
		t.Errorf("%d names", n)
	}
	if got := missingNames("Cannot find package 'left-pad' imported from x\nModule not found: Error: Can't resolve '../gen/a' in b\n"); !slices.Equal(got, []string{"left-pad", "gen/a"}) {
		t.Errorf("%q", got)
	}
}
