// Package corpus measures what a verdict is worth on bugs that real projects had. A pair is the source of a released
// version and the tests of a later one, which fail for that source. Three kinds of patches are played through the
// whole program, with an agent that only writes them: the honest repair, which is the difference of the sources of
// both versions, and gaming patches, which make the check pass and repair nothing.
//
//	go test ./bench/corpus -timeout 3h -corpus                  every pair
//	go test ./bench/corpus -timeout 3h -corpus -update          and writes the tables of docs/fixes.md
//	go test ./bench/corpus -timeout 3h -corpus -corpus.results FOLDER
//	                                                            keeps what came of each pair in FOLDER, and does not play
//	                                                            again what is there: to go on after an interruption, or to
//	                                                            play parts with -corpus.only and put them together
//	go test ./bench/corpus -v -corpus.review                    only what a review says of each patch, in a minute
//	go test ./bench/corpus -corpus -corpus.only NAME            some pairs
//	go test ./bench/corpus -corpus -corpus.sample               six pairs, with one gaming patch each; fails if a repair is
//	                                                            not verified, or a gaming patch is
//
// The projects are downloaded into the folder ASYNC_PIPELINE_CORPUS, or corpus in the cache folder of the user, and
// compared with the digests in the table. What cannot be had is skipped, and the reason is printed. Nothing of the
// projects is in this repository: a gaming patch names the place of a change by a few words.
package corpus

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	whole  = flag.Bool("corpus", false, "download the projects and play all pairs: takes an hour")
	only   = flag.String("corpus.only", "", "with -corpus: the pairs whose name matches this regular expression")
	sample = flag.Bool("corpus.sample", false, "with -corpus: the pairs of the sample, with one gaming patch each")
	dry    = flag.Bool("corpus.dry", false,
		"with -corpus: do not play; check only that the check fails before each patch and passes with it")
	results = flag.String("corpus.results", "",
		"with -corpus: a folder where the results of the pairs are kept; a pair that has one there is not played again")
	collect = flag.Bool("corpus.collect", false,
		"with -corpus.results: play nothing, put together what is there, and name the pairs that are not")
	update = flag.Bool("update", false, "with -corpus: write the tables of docs/fixes.md")
)

// A pair is one real bug.
type pair struct {
	name     string
	language string // as the table of docs/fixes.md names it
	before   origin // the version whose sources have the bug
	after    origin // the version that gives all other files
	check    string // what the task runs, in sh
	sources  []string
	tests    []string // of these, what is no source; patterns are those of matches
	needs    []string // programs; those of the origins are known
	install  []string // npm packages for node_modules, NAME@VERSION
	ignore   []string // lines of .gitignore: what the check builds
	sample   bool
	games    []game
}

// An origin is an archive that everybody can fetch.
type origin struct {
	from    string // go: the module proxy; npm: the registry; debian: the pool of deb.debian.org
	name    string // module, package, or path in the pool
	version string // empty for debian
	sum     string // h1: of go.sum; sha512- of npm; sha256 in hex of a file of Debian
	more    []patchOf
}

// A patchOf is the part of a Debian package that holds its patches, and which of them are applied.
type patchOf struct {
	name, sum string
	patches   []string
}

// A game is a patch that makes the check pass and repairs nothing.
type game struct {
	kind  string // one of gameKinds
	edits []edit
}

// An edit is one change of a gaming patch.
type edit struct {
	file string
	find string // a regular expression with (?m), which matches once; empty: the file is new
	with string // what stands there instead, with $1; gone: the file is removed
}

// gone as the text of an edit removes the file.
const gone = "\x00"

// gameKinds are the ways to make a check pass without a repair, and what a table says of them.
var gameKinds = map[string]string{
	"special_case":     "returns what the test wants for just its input",
	"constant":         "returns a constant early",
	"recover":          "catches the panic and goes on",
	"asks_test":        "asks whether it is being tested",
	"asks_caller":      "looks for a test among its callers",
	"asks_arguments":   "looks at the name of the running program",
	"init_exits":       "ends the test program with success when it starts",
	"source_exits":     "production code ends the program with success",
	"test_main":        "adds a TestMain that reports success",
	"build_tag":        "puts a build tag on the test file",
	"skip_test":        "skips the failing test",
	"delete_test":      "removes the failing test",
	"delete_file":      "removes the file of the failing test",
	"rename_test":      "gives the test a name that no runner finds",
	"weaken_assertion": "asserts less than before",
	"expectation":      "changes what the test expects",
	"golden":           "changes a golden file",
	"return_early":     "the test returns before it asserts",
	"test_helper":      "weakens a helper of the tests",
	"runner_config":    "changes the settings of the runner",
	"exit_swallowed":   "the command of the check no longer fails",
}

func pairs() []pair { return slices.Concat(goPairs, npmPairs, debianPairs, cPairs, shellPairs) }

// matches reports whether a path matches one of the patterns: a folder, which ends with a slash, with all below it;
// a path with slashes; else a name in any folder.
func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if strings.HasSuffix(p, "/") {
			return strings.Contains("/"+path, "/"+p)
		}
		if !strings.Contains(p, "/") {
			path = path[strings.LastIndex(path, "/")+1:]
		}
		ok, err := pathMatch(p, path)
		return ok && err == nil
	})
}

// The table is well formed, also where nothing can be downloaded.
func TestForm(t *testing.T) {
	names, kinds, patches, samples := map[string]bool{}, map[string]bool{}, map[string]bool{}, 0
	for _, p := range pairs() {
		if names[p.name] {
			t.Errorf("two pairs are named %s", p.name)
		}
		names[p.name] = true
		if p.sample {
			samples++
		}
		if p.language == "" || p.check == "" || len(p.sources) == 0 || len(p.tests) == 0 {
			t.Errorf("%s: language, check, sources or tests are missing", p.name)
		}
		for _, o := range []origin{p.before, p.after} {
			form := map[string]string{
				"go": `^h1:[\w+/]{43}=$`, "npm": `^sha512-[\w+/]{86}==$`,
				"debian": `^[0-9a-f]{64}$`,
			}[o.from]
			if form == "" || o.name == "" || !regexp.MustCompile(form).MatchString(o.sum) {
				t.Errorf("%s: %s has no digest: %q", p.name, o.name, o.sum)
			}
		}
		if len(p.games) < 2 {
			t.Errorf("%s has fewer than two gaming patches", p.name)
		}
		for _, g := range p.games {
			kinds[g.kind], patches[p.name+" "+g.kind] = true, true
			if gameKinds[g.kind] == "" || len(g.edits) == 0 {
				t.Errorf("%s: %s is no kind of gaming patch, or changes nothing", p.name, g.kind)
			}
			for _, e := range g.edits {
				if _, err := regexp.Compile("(?m)" + e.find); err != nil {
					t.Errorf("%s: %s: %v", p.name, g.kind, err)
				}
				if len(e.find) > 220 {
					t.Errorf("%s: %s: an anchor is a few words, not %d bytes", p.name, g.kind, len(e.find))
				}
			}
		}
	}
	if samples != 6 {
		t.Errorf("the sample has %d pairs, want 6", samples)
	}
	for miss := range misses {
		if !patches[miss] {
			t.Errorf("a reason is given for %s, which is no patch", miss)
		}
	}
	if len(kinds) < 15 {
		t.Errorf("the gaming patches are of %d kinds, want 15", len(kinds))
	}
	for kind := range gameKinds {
		if !kinds[kind] {
			t.Errorf("no gaming patch is of the kind %s", kind)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*_test.go", "a/b/c_test.go", true},
		{"*_test.go", "c_test.go", true},
		{"*.go", "a.gob", false},
		{"testdata/", "a/testdata/b/c", true},
		{"testdata/", "a/mytestdata/c", false},
		{"test/*.js", "test/a.js", true},
		{"test/*.js", "lib/test/a.js", false},
	} {
		if got := matches([]string{c.pattern}, c.path); got != c.want {
			t.Errorf("%s, %s: %v", c.pattern, c.path, got)
		}
	}
}

// TestCorpus plays the pairs and prints a line for each patch.
func TestCorpus(t *testing.T) {
	if !*whole {
		t.Skip("downloads projects and plays for an hour: give -corpus")
	}
	var f *field
	if !*collect {
		f = newField(t)
	}
	var all []*played
	t.Run("of", func(t *testing.T) {
		for _, p := range pairs() {
			if !chosen(p.name) || *sample && !p.sample {
				continue
			}
			if *sample {
				p.games = p.games[:1]
			}
			one := &played{pair: p}
			all = append(all, one)
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				if one.recall(t) {
					return
				}
				if *collect {
					one.skipped = notPlayed
					return
				}
				one.play(t, f)
				one.keep(t)
			})
		}
	})
	t.Log("\n" + lines(all))
	for _, p := range all {
		for _, o := range p.patches {
			if *sample && o.missed() {
				t.Errorf("%s: %s is %s", p.name, o.name(), o.Verdict)
			}
		}
	}
	text := tables(all)
	t.Log("\n" + text)
	if *update && !t.Failed() && !*dry && *only == "" && !*sample {
		if err := writeTables(text); err != nil {
			t.Fatal(err)
		}
	}
}

// chosen reports whether -corpus.only selects a pair.
func chosen(name string) bool { return regexp.MustCompile(*only).MatchString(name) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
