package diagram

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

var update = flag.Bool("update", false, "write the golden files anew")

// drawn are graphs whose pictures lie in testdata.
var drawn = map[string]string{
	"service": `
		generate: # Write the code that is generated
		fmt:
		build: generate # Compile every package
		vet: generate
		unit: build
		race: build
		integration: build image_base
		image_base:
		image: build image_base
		lint: fmt
		scan: image
		publish: image unit race integration lint vet # Push the image and tag it
		deploy: publish scan generate
		clean:
		docs:`,
	"matrix": `
		install:
		test["linux,20"]: install
		test["linux,22"]: install
		test["macos,20"]: install
		test["macos,22"]: install
		test["windows,22"]: install
		report: test["linux,20"] test["linux,22"] test["macos,20"] test["macos,22"] test["windows,22"]
		größe:
		テスト: größe`,
	"chain": `
		a:
		b: a
		c: b
		d: c
		a_rather_long_name_of_a_task_that_is_hard_to_place: d
		f: a_rather_long_name_of_a_task_that_is_hard_to_place
		g: f
		h: g
		i: h
		j: i a
		k: j
		l: k`,
	"marks": `
		build:
		db*: build # The database
		web*: db
		what_changed@claude:
		smoke: web db what_changed
		notes@claude: smoke # Write the release notes
		report@opus: build
		end_to_end: web notes`,
}

// The pictures are pinned; -update writes them anew, to be looked at before they are believed.
func TestGolden(t *testing.T) {
	t.Parallel()
	type picture struct {
		file, format string
		width        int
	}
	for name, lines := range drawn {
		g := graph(t, lines)
		for _, p := range []picture{
			{name + ".txt", "text", 80},
			{name + "-40.txt", "text", 40},
			{name + ".json", "json", 0},
			{name + ".dot", "dot", 0},
			{name + ".mmd", "mermaid", 0},
			{name + ".svg", "svg", 0},
		} {
			t.Run(p.file, func(t *testing.T) {
				t.Parallel()
				got := draw(t, g, p.format, p.width)
				file := filepath.Join("testdata", p.file)
				if *update {
					check(t, os.WriteFile(file, []byte(got), 0o644))
				}
				want, err := os.ReadFile(file)
				check(t, err)
				if d := cmp.Diff(string(want), got); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

func draw(t testing.TB, g *pipeline.Graph, format string, width int) string {
	t.Helper()
	b, err := Draw(g, format, width)
	check(t, err)
	return string(b)
}
