package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What differs from run to run, and what is shown for it. The terminal may have broken it in two anywhere.
var changing = []struct {
	what *regexp.Regexp
	with string
}{
	{torn(`[0-9]`, 8, `T`, 1, `[0-9]`, 6, `Z`, 1, `-`, 1, `[0-9a-f]`, 4), "20261121T024000Z-7f3a"},
	{torn(`sha256:`, 1, `[0-9a-f]`, 64), "sha256:" + strings.Repeat("0", 64)},
	{regexp.MustCompile(`[0-9]+m[0-9]{2}s`), "0m00s"},
	{regexp.MustCompile(`[0-9]+\.[0-9]s`), "0.0s"},
	{regexp.MustCompile(`· [0-9]+s\b`), "· 0s"},
	{regexp.MustCompile(` [ 0-9][0-9]s\b`), "  0s"},
	{regexp.MustCompile(`\b[0-9]s\b`), "0s"},
}

// torn is so many of each class, with line ends between them or not.
func torn(parts ...any) *regexp.Regexp {
	var each []string
	for i := 0; i < len(parts); i += 2 {
		for range parts[i+1].(int) {
			each = append(each, parts[i].(string))
		}
	}
	return regexp.MustCompile(strings.Join(each, "\n?"))
}

// steady is text with what changes replaced, and its line ends where they were.
func steady(text string) string {
	for _, c := range changing {
		text = c.what.ReplaceAllStringFunc(text, func(found string) string {
			with := c.with
			for i := range found {
				if found[i] == '\n' {
					with = with[:i] + "\n" + with[i:]
				}
			}
			return with
		})
	}
	return text
}

// swept matches messages about processes that other tests of this package left: a run ends all of them.
var swept = regexp.MustCompile(`(?s)note: ended process.*?left\n`)

// waited matches the critical path, which is shown when a run took longer than a second.
var waited = regexp.MustCompile(`(?s)critical path:.*?\)\n`)

// shows compares the screen with testdata/screens/<name>.<columns>.golden.
func (s *seat) shows(name string, columns int) {
	s.t.Helper()
	got := steady(waited.ReplaceAllString(swept.ReplaceAllString(s.screen(), ""), ""))
	file := filepath.Join("testdata", "screens", fmt.Sprintf("%s.%d.golden", name, columns))
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if got != string(want) {
		s.t.Errorf("%s:\n--- got\n%s\n--- want\n%s", file, got, want)
	}
}

const shop = `job "default" {
  tasks = [task.generate, task.build, task.docs, task.lint]
}
job "broken" {
  tasks = [task.generate, task.lint, task.release]
}

task "generate" {
  description = "Write the parsers"
  run         = "echo 3 files; exit 0"
}
task "build" {
  description = "Compile every package"
  depends_on  = [task.generate]
  run         = "echo compiling cart; echo compiling shop; while [ ! -e go ]; do sleep 0.05; done"
}
task "docs" {
  run = "printf '\\033[32mpage 1\\033[0m\\rpage 2 of 20, which is the longest page of them all and does not fit anywhere'; while [ -e busy ]; do sleep 0.05; done"
}
task "lint" {
  depends_on = [task.build]
  run        = ["sh", "lint.sh"]

  on_fail "agent" {
    use = agent.fixer
    budget {
      attempts   = 2
      wall_clock = "9m"
    }
  }
}
task "release" {
  depends_on = [task.lint]
  run        = "false"
}

agent "fixer" {
  command = ["sh", "-c", "cat > /dev/null; echo ok > cart.txt; echo reading lint.sh; while [ ! -e ${PLACE}/fixed ]; do sleep 0.05; done; printf %s '{\"outcome\": \"fixed\", \"summary\": \"The cart is right again.\"}'"]
}
`

func TestScreens(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 40} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			t.Run("run", func(t *testing.T) {
				t.Parallel()
				screensOfRuns(t, columns)
			})
			t.Run("hook", func(t *testing.T) {
				t.Parallel()
				screensOfHooks(t, columns)
			})
			for name, args := range map[string][]string{
				"list": {"list"}, "help": {"--help"}, "help_heal": {"heal", "--help"}, "dry_run": {"run", "--dry-run", "--concurrency", "2", "broken"},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := sit(t, columns, 60, newProject(t, shopFor("/nowhere")), append([]string{"async-pipeline"}, args...)...).look()
					s.ends(0)
					s.shows(name, columns)
				})
			}
			t.Run("validate", func(t *testing.T) {
				t.Parallel()
				wrong := strings.Replace(shopFor("/nowhere"), "[task.generate]\n  run ", "[task.genrate]\n  rum ", 1)
				s := sit(t, columns, 60, newProject(t, wrong), "async-pipeline", "validate").look()
				s.ends(2)
				s.shows("validate", columns)
			})
		})
	}
}

// shopFor is the project; its agent waits for the file fixed in a place outside of the copy.
func shopFor(place string) string { return strings.ReplaceAll(shop, "${PLACE}", place) }

func screensOfRuns(t *testing.T, columns int) {
	dir := newProject(t, shopFor("/nowhere"), "lint.sh", "cat cart.txt", "cart.txt", "fine\n", "busy", "")
	s := sit(t, columns, 24, dir, "async-pipeline", "run", "--concurrency", "2").look()
	s.until("✓ generate", "compiling shop", "page 2")
	s.shows("run_live", columns)
	must(t, os.Remove(filepath.Join(dir, "busy")))
	s.until("✓ docs", "1 running")
	allow(t, dir, "go")
	s.ends(0)
	s.shows("run_passed", columns)
}

func screensOfHooks(t *testing.T, columns int) {
	place := t.TempDir()
	dir := newProject(t, shopFor(place), "lint.sh", "echo looking at 3 files; grep -x ok cart.txt || { echo 'cart.go:12: x is not used'; exit 3; }", "cart.txt", "not\n", "go", "")
	s := sit(t, columns, 60, dir, "async-pipeline", "run", "--concurrency", "1", "broken", "--no-heal").look()
	s.ends(1)
	s.shows("run_failed", columns)

	s = sit(t, columns, 30, dir, "async-pipeline", "heal", "lint", "--sandbox", "none").look()
	s.until("fixer works on lint", "attempt 1 of 2", "left")
	s.shows("hook_live", columns)
	allow(t, place, "fixed")
	s.ends(0)
	s.shows("hook_done", columns)

	s = sit(t, columns, 60, dir, "async-pipeline", "fix", "show").look()
	s.ends(0)
	s.shows("fix_show", columns)
}
