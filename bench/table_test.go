package bench

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

var large = flag.Int("large", 3, "counted rounds of the large works")

var table = flag.Bool("table", false, "measure everything, also the peers, and write the table into BENCHMARKS.md")

// The lines before and after the table.
const (
	tableBegins = "<!-- table -->\n"
	tableEnds   = "<!-- end of table -->\n"
)

// A peer is another task runner and how it is asked to do all tasks, two at a time.
type peer struct {
	name, program string
	argv          []string
}

var peers = []peer{
	{"make", "make", []string{"-j2", "-s"}},
	{"ninja", "ninja", []string{"-j2"}},
	{"just", "just", []string{"all"}},
	{"go-task", "task", []string{"--concurrency", "2"}},
}

// TestTable writes the table of BENCHMARKS.md.
func TestTable(t *testing.T) {
	if !*table {
		t.Skip("measures for minutes: give -table")
	}
	path := must(program())(t)
	var here []peer
	versions := []string{runtime.Version()}
	for _, p := range peers {
		if _, err := exec.LookPath(p.program); err != nil {
			t.Logf("%s is not installed: its column is left out", p.name)
			continue
		}
		here = append(here, p)
		out, _ := exec.CommandContext(t.Context(), p.program, "--version").Output()
		line, _, _ := strings.Cut(string(out), "\n")
		versions = append(versions, p.name+" "+line)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d CPUs; %s.\n\n", time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), strings.Join(versions, ", "))
	b.WriteString("| work | limit | async-pipeline | ratio | peak |")
	for _, p := range here {
		b.WriteString(" " + p.name + " |")
	}
	b.WriteString("\n|" + strings.Repeat("---|", 5+len(here)) + "\n")
	for _, w := range works {
		dir := t.TempDir()
		w.make(t, dir)
		all := []contender{w.limit(t, dir), command("async-pipeline", dir, append([]string{path}, w.ours...)...)}
		rounds := 5
		if w.tasks >= 10000 || w.loud {
			rounds = *large
		}
		if w.peers {
			for _, p := range here {
				all = append(all, command(p.name, dir, append([]string{p.program}, p.argv...)...))
			}
		}
		got := race(t, rounds, all)
		row := fmt.Sprintf("| %s | %s | %s | **%.2f ×** | %.0f MB |", w.name, seconds(got[0]), seconds(got[1]),
			float64(got[1].Wall)/float64(got[0].Wall), float64(got[1].Peak)/(1<<20))
		for i := range here {
			if !w.peers {
				row += " – |"
				continue
			}
			c := got[2+i]
			row += fmt.Sprintf(" %s (%.1f ×) |", seconds(c), float64(c.Wall)/float64(got[0].Wall))
		}
		t.Log(row)
		b.WriteString(row + "\n")
	}
	replaceTable(t, tableBegins, tableEnds, b.String())
}

// replaceTable replaces what stands between two lines of BENCHMARKS.md.
func replaceTable(t *testing.T, begins, ends, table string) {
	t.Helper()
	file := "../BENCHMARKS.md"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(old, []byte(begins))
	_, tail, ok2 := bytes.Cut(rest, []byte(ends))
	if !ok || !ok2 {
		t.Fatalf("%s has no %q and %q", file, begins, ends)
	}
	text := string(head) + begins + table + ends + string(tail)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func seconds(c cost) string { return fmt.Sprintf("%.3f s", c.Wall.Seconds()) }
