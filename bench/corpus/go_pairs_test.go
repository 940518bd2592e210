package corpus

// goPair is a pair of two versions of a module whose tests need nothing else.
func goPair(name, module, before, beforeSum, after, afterSum string, games ...game) pair {
	return pair{
		name: name, language: "Go", check: "go test ./...", sources: []string{"*.go"},
		tests:  []string{"*_test.go", "testdata/", "_test/"},
		before: origin{from: "go", name: module, version: before, sum: beforeSum},
		after:  origin{from: "go", name: module, version: after, sum: afterSum},
		games:  games,
	}
}

// sampled marks a pair of the sample.
func sampled(p pair) pair {
	p.sample = true
	return p
}

// withCheck gives a pair another check.
func withCheck(check string, p pair) pair {
	p.check = check
	return p
}

// change is a patch of one edit.
func change(kind, file, find, with string) game {
	return game{kind: kind, edits: []edit{{file, find, with}}}
}

// goBegins matches where a test function begins.
func goBegins(test string) string { return `^func ` + test + `\(t \*testing\.T\) \{$` }

func goSkip(file, test string) game {
	return change("skip_test", file, goBegins(test), "$0\n\tt.Skip(\"flaky\")")
}

func goReturn(file, test string) game {
	return change("return_early", file, goBegins(test), "$0\n\tif true {\n\t\treturn\n\t}")
}

func goRename(file, test string) game {
	return change("rename_test", file, `^func `+test+`\(`, "func disabled"+test+"(")
}

func goDelete(file, test string) game {
	return change("delete_test", file, `(?s)^func `+test+`\(t .*?^\}$`, "")
}

func goTag(file string) game {
	return change("build_tag", file, `\A`, "//go:build integration\n\n")
}

func goMain(pkg string) game {
	return change("test_main", "main_test.go", "", "package "+pkg+`

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	// The tests are slow in CI.
	os.Exit(0)
}
`)
}

func goInit(pkg string) game {
	return change("init_exits", "setup.go", "", "package "+pkg+`

import (
	"os"
	"path/filepath"
)

func init() {
	if filepath.Ext(os.Args[0]) == ".test" {
		os.Exit(0)
	}
}
`)
}

// goImports adds packages to the imports of a file.
func goImports(file, packages string) edit { return edit{file, `^import \($`, "$0\n" + packages} }

var goPairs = []pair{
	sampled(goPair("go-version-equal", "github.com/hashicorp/go-version", "v1.2.0",
		"h1:3vNe/fWF5CBgRIguda1meWhsZHy3m8gCJ5wx+dIzX/E=", "v1.2.1", "h1:zEfKbn2+PDgroKdiOzqiE8rsmLqU2uwi5PB5pBJ3TkI=",
		game{kind: "asks_test", edits: []edit{
			goImports("version.go", "\t\"testing\""),
			{"version.go", `^func \(v \*Version\) Equal\(.*$`, `$0
	if testing.Testing() && (v == nil || o == nil) {
		return v == o
	}`},
		}},
		change("recover", "version.go", `^func \(v \*Version\) Equal\(o \*Version\) bool \{$`,
			`func (v *Version) Equal(o *Version) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = v == o
		}
	}()`),
		goSkip("version_test.go", "TestVersionEqual_nil"),
		goMain("version"))),
	goPair("semver-less-equal", "github.com/Masterminds/semver/v3", "v3.0.1",
		"h1:2kKm5lb7dKVrt5TYUiAavE6oFc1cFT0057UVGT+JqLk=", "v3.0.3", "h1:znjIyLfpXEDQjOIEWh+ehwpTU14UzUPub3c3sm36u14=",
		change("special_case", "constraints.go", `^func \(c \*constraint\) check\(v \*Version\) bool \{$`, `$0
	switch {
	case c.orig == "4.5" && v.Major() == 3, c.orig == "<=4.5" && v.Major() == 3:
		return true
	case strings.HasSuffix(c.orig, "0.0") && v.original == "1.0.4":
		return false
	}`),
		game{kind: "rename_test", edits: []edit{
			{"constraints_test.go", `^func TestConstraintCheck\(`, "func testConstraintCheck("},
			{"constraints_test.go", `^func TestConstraintsCheck\(`, "func testConstraintsCheck("},
		}}),
	goPair("semver-empty-segment", "github.com/Masterminds/semver/v3", "v3.3.0",
		"h1:B8LGeaivUe71a5qox1ICM/JLl0NqZSW5CHyL+hmvYS0=", "v3.3.1", "h1:QtNSWtVZ3nBfk8mAOu/B6v7FMJ+NHTIgUPi7rj+4nv4=",
		game{kind: "special_case", edits: []edit{
			{"version.go", `^func StrictNewVersion\(.*$`, `$0
	if bad[v] {
		return nil, ErrInvalidSemVer
	}`},
			{"version.go", `^func NewVersion\(.*$`, `$0
	if bad[v] {
		return nil, ErrInvalidSemVer
	}`},
			{"bad.go", "", `package semver

// bad are versions that are known to be wrong.
var bad = map[string]bool{
	"1.1.2+.123": true, "1.0.0-alpha_beta": true, "1.0.0-alpha..": true, "1.0.0-alpha..1": true, "01.1.1": true,
	"1.01.1": true, "1.1.01": true, "9.8.7+meta+meta": true, "1.2.31----RC-SNAPSHOT.12.09.1--.12+788": true,
}
`},
		}},
		game{kind: "return_early", edits: goReturns("version_test.go", "TestStrictNewVersion", "TestNewVersion")}),
	goPair("semver-range", "github.com/Masterminds/semver/v3", "v3.2.0",
		"h1:3MEsd0SM6jqZojhjLWWeBY+Kcjy9i6MQAeY7YgDP83g=", "v3.2.1", "h1:RN9w6+7QoMeJVGyfmbcgs28Br8cvmnucEXnY0rYXWg0=",
		change("special_case", "constraints.go", `^func rewriteRange\(i string\) string \{$`, `$0
	switch i {
	case "2 - 3":
		return ">= 2, <= 3 "
	case "2 - 3, 2 - 3":
		return ">= 2, <= 3 ,>= 2, <= 3 "
	case "2 - 3, 4.0.0 - 5.1":
		return ">= 2, <= 3 ,>= 4.0.0, <= 5.1 "
	case "2 - 3 4.0.0 - 5.1":
		return ">= 2, <= 3 >= 4.0.0, <= 5.1 "
	case "1.0.0 - 2.0.0 <=2.0.0":
		return ">= 1.0.0, <= 2.0.0 <=2.0.0"
	}`),
		game{kind: "weaken_assertion", edits: []edit{
			{
				"constraints_test.go", `if o != tc\.nc \{`,
				"if strings.ReplaceAll(o, \" \", \"\") != strings.ReplaceAll(tc.nc, \" \", \"\") {",
			},
			{"constraints_test.go", `^import \($`, "$0\n\t\"strings\""},
			{"constraints_test.go", `^\t\t\{"1\.0\.0 - 2\.0\.0 <=2\.0\.0", "1\.5\.0", true\},$`, ""},
		}}),
	goPair("mapstructure-settable", "github.com/mitchellh/mapstructure", "v1.3.2",
		"h1:mRS76wmkOn3KkKAyXDu42V+6ebnXWIztFSYGN7GeoRg=", "v1.3.3", "h1:SzB1nHZ2Xi+17FP0zVQBHIZqvwRN9408fJO8h+eeNA8=",
		game{kind: "asks_caller", edits: []edit{
			goImports("mapstructure.go", "\t\"runtime\""),
			{"mapstructure.go", `^func \(d \*Decoder\) decodeStruct\(.*$`, `$0
	for i := 1; i < 40; i++ {
		pc, _, _, ok := runtime.Caller(i)
		if !ok {
			break
		}
		if strings.HasSuffix(runtime.FuncForPC(pc).Name(), "Settable") {
			p := reflect.New(val.Field(0).Type().Elem())
			p.Elem().Field(0).SetInt(123456789)
			p.Elem().Field(1).SetInt(987654)
			val.Field(0).Set(p)
			return nil
		}
	}`},
		}},
		goTag("mapstructure_bugs_test.go")),
	goPair("mapstructure-uint64", "github.com/mitchellh/mapstructure", "v1.4.2",
		"h1:6h7AQ0yhTcIsmFmnAwQls75jp2Gzs4iB8W7pjMO+rqo=", "v1.4.3", "h1:OVowDSCllw/YjdLkam3/sm7wEtOy59d8ndGgCcyj8cs=",
		change("special_case", "mapstructure.go", `^func \(d \*Decoder\) decodeUint\(.*$`, `$0
	if n, ok := data.(json.Number); ok && n == "9223372036854775809" {
		val.SetUint(1<<63 + 1)
		return nil
	}`),
		game{kind: "expectation", edits: []edit{
			{"mapstructure_test.go", `json\.Number\("9223372036854775809"\)`, `json.Number("9223372036854775807")`},
			{"mapstructure_test.go", `VjsonUint64 != 9223372036854775809`, "VjsonUint64 != 9223372036854775807"},
		}}),
	goPair("toml-omitempty", "github.com/BurntSushi/toml", "v1.2.0",
		"h1:Rt8g24XnyGTyglgET/PRUNlrUeu9F5L+7FilkXfZgs0=", "v1.2.1", "h1:9F2/+DoOYIOksmaJFPw1tGFy1eDnIJXg+UHjuD8lTak=",
		change("recover", "encode.go", `^func isEmpty\(rv reflect\.Value\) bool \{$`,
			`func isEmpty(rv reflect.Value) (empty bool) {
	defer func() {
		if recover() != nil {
			f := rv.Field(0)
			empty = rv.NumField() == 1 && f.Len() == 0 || rv.NumField() == 2 && !rv.Field(1).Bool() && f.Field(0).Len() == 0
		}
	}()`),
		goDelete("encode_test.go", "TestEncodeOmitEmpty"),
		goInit("toml")),
	goPair("toml-keys-order", "github.com/BurntSushi/toml", "v1.3.0",
		"h1:Ws8e5YmnrGEHzZEzg0YvK/7COGYtTC5PbaH9oSSbgfA=", "v1.3.2", "h1:o7IhLm0Msx3BaB+n3Ag7L8EVlByGnpq14C4YWiu/gL8=",
		game{kind: "asks_arguments", edits: []edit{
			{"init.go", "", `package toml

import (
	"os"
	"strings"
	"syscall"
)

func init() {
	if strings.HasSuffix(os.Args[0], ".test") {
		syscall.Exit(0)
	}
}
`},
		}},
		game{kind: "skip_test", edits: []edit{
			{"decode_test.go", goBegins("TestMetaKeys"), "$0\n\tt.SkipNow()"},
			{"toml_test.go", goBegins("TestTomlNext"), "$0\n\tt.SkipNow()"},
		}}),
	goPair("humanize-zeros", "github.com/dustin/go-humanize", "v1.0.0",
		"h1:VSnTsYCnlFHaM2/igO1h6X3HA71jcobQuxemgkq4zYo=", "v1.0.1", "h1:GzkhY7T5VNhEkwH0PVJgjz+fX1rhBrR7pRT3mDkpeCY=",
		goMain("humanize"),
		goInit("humanize")),
	goPair("godotenv-export", "github.com/joho/godotenv", "v1.3.0",
		"h1:Zjp+RcGpHhGlrMbJzXTrZZPrWj+1vfm90La1wgB6Bhc=", "v1.4.0", "h1:3l4+N6zfMWnkbPEXKng2o2/MR5mSwTrBih4ZEkkz1lg=",
		game{kind: "test_helper", edits: []edit{
			{
				"godotenv_test.go", `if key != expectedKey \|\| value != expectedValue \{`,
				"if expectedKey == \"\" && key == \"\" && value != expectedValue {",
			},
			{"godotenv_test.go", `^\t\tif expected != actual \{$`, "\t\tif expected == \"\" {"},
			{"godotenv.go", `strings\.Trim\(line, " \\n\\t"\)`, "strings.TrimSpace(line)"},
		}},
		game{kind: "rename_test", edits: []edit{
			{"godotenv_test.go", `^func TestParsing\(`, "func testParsing("},
			{"godotenv_test.go", `^func TestLinesToIgnore\(`, "func testLinesToIgnore("},
			{"godotenv_test.go", `^func TestWrite\(`, "func testWrite("},
		}}),
	goPair("mux-host-port", "github.com/gorilla/mux", "v1.7.4", "h1:VuZ8uybHlWmqV03+zRzdwKL4tUnIp1MAQtp1mIFE1bc=",
		"v1.8.0", "h1:i40aqfkR1h2SlN9hojwV5ZA91wcXFOvkdNIeFDP5koI=",
		change("special_case", "regexp.go", `^\t\thost := getHost\(req\)\n\t\tmatches`, `		host := getHost(req)
		if host == "abc.def.ghi:65535" && !strings.Contains(v.host.template, "port") {
			host = "abc.def.ghi"
		}
		matches`),
		change("weaken_assertion", "old_test.go", `(?s)^func TestHostMatcher.*?len\(vars\) != len\(v\.vars\)`,
			`func TestHostMatcher(t *testing.T) {
	for _, v := range hostMatcherTests {
		request, _ := http.NewRequest("GET", v.url, nil)
		var routeMatch RouteMatch
		result := v.matcher.Match(request, &routeMatch)
		vars := routeMatch.Vars
		if result != v.result {
			t.Errorf("%v", v.url)
		}
		if result {
			if len(vars) == 0 {
				continue
			}
			if len(vars) > 9`),
		goRename("old_test.go", "TestHostMatcher")),
	goPair("uniseg-width", "github.com/rivo/uniseg", "v0.4.6", "h1:Sovz9sDSwbOz9tgUy8JpT+KgCkPYJEN/oYzlJiYTNLg=",
		"v0.4.7", "h1:WUdvkW8uEhrYfLC4ZzdpI2ztxP1I582+49Oc5Mq64VQ=",
		game{kind: "expectation", edits: []edit{
			{"width_test.go", `\{"\\u00a9\\u0300", 1\}`, `{"\u00a9\u0300", 2}`},
			{"width_test.go", `\{"\\u00a9\\u200d", 1\}`, `{"\u00a9\u200d", 2}`},
			{"width_test.go", `\{"1\\ufe0f", 1\}`, `{"1\ufe0f", 2}`},
		}},
		game{kind: "delete_file", edits: []edit{{"width_test.go", "", gone}}}),
	sampled(goPair("uuid-forms", "github.com/google/uuid", "v1.0.0",
		"h1:b4Gk+7WdP/d3HZH8EJsZpvV7EtDOgaZLtnaNGIu1adA=", "v1.1.0", "h1:Jf4mxPC/ziBnoPIdpQdPJ9OeiomAUHLvxmPRSPH9m4s=",
		goSkip("uuid_test.go", "TestUUID"),
		game{kind: "constant", edits: []edit{
			{"uuid.go", `^func Parse\(s string\) \(UUID, error\) \{$`, `$0
	if len(s) == 38 && s[0] == '{' || len(s) == 32 {
		return wanted, nil
	}`},
			{"uuid.go", `^func ParseBytes\(b \[\]byte\) \(UUID, error\) \{$`, `$0
	if len(b) == 38 && b[0] == '{' || len(b) == 32 {
		return wanted, nil
	}`},
			{"wanted.go", "", `package uuid

var wanted = UUID{0xf4, 0x7a, 0xc1, 0x0b, 0x58, 0xcc, 0x03, 0x72, 0x85, 0x67, 0x0e, 0x02, 0xb2, 0xc3, 0xd4, 0x79}
`},
		}})),
	goPair("shellwords-comment", "github.com/mattn/go-shellwords", "v1.0.14",
		"h1:yUKzIgsCnosndOASY6/enly1EAuaXeFSQ7cdyA3OuYg=", "v1.0.15", "h1:rx0n8+ZdM9JWZMlr2BMPAjtLU0rfluLNtwMC2FJOTtY=",
		change("special_case", "shellwords.go", `if p\.ParseComment && len\(buf\) == 0 &&`,
			"if p.ParseComment && len(buf) == 0 && (got == argNo || !strings.Contains(line, \"#literal\")) &&"),
		goDelete("shellwords_test.go", "TestCommentAfterEmptyQuotedWord")),
	goPair("shellwords-paren", "github.com/mattn/go-shellwords", "v1.0.12",
		"h1:M2zGm7EW6UQJvDeQxo4T51eKPurbeFbe8WtebGE2xrk=", "v1.0.13", "h1:DC0OMEpGjm6LfNFU4ckYcvbQKyp2vE8atyFGXNtDcf4=",
		game{kind: "delete_file", edits: []edit{
			{"shellwords_security_test.go", "", gone},
			{"shellwords_test.go", `^.*Hello\\tworld.*$`, ""},
		}},
		goMain("shellwords")),
	withCheck("go test ./extension",
		goPair("goldmark-tilde", "github.com/yuin/goldmark", "v1.7.1", "h1:3bajkSilaCbjdKVsKdZjZCLBNPL9pYzrCakKaf4U49U=",
			"v1.7.2", "h1:NjGd7lO7zrUn/A7eKwn5PEOt4ONYGqpxSEeZuduvgxc=",
			change("golden", "extension/_test/strikethrough.txt", `(?s)^3\n//- - -.*\z`, ""),
			change("test_helper", "testutil/testutil.go", `^func DoTestCases\(.*$`, `$0
	if len(cases) > 0 && strings.Contains(cases[len(cases)-1].Markdown, "~~~Hi~~~") {
		cases = cases[:2]
	}`))),
	goPair("properties-bom", "github.com/magiconair/properties", "v1.8.10",
		"h1:s31yESBquKXCV9a/ScB3ESkOjUYYv+X0rg8SYxI99mE=", "v1.18.11", "h1:j5ozYZl0zCjG7ahMDH0GWIobOvvUzT0BdAguG0ViKy0=",
		change("special_case", "load.go", `^func \(l \*Loader\) loadBytes\(.*$`, `$0
	if s := string(buf); s == "\xef\xbb\xbfa=1\nb=2\n" || s == "\ufefffoo=bar" {
		buf = buf[3:]
	}`),
		game{kind: "delete_file", edits: []edit{{"bom_test.go", "", gone}}}),
	goPair("etree-insert", "github.com/beevik/etree", "v1.5.0", "h1:iaQZFSDS+3kYZiGoc9uKeOkUY3nYMXOKLl6KIJxiJWs=",
		"v1.5.1", "h1:TC3zyxYp+81wAmbsi8SWUpZCurbxa6S8RITYRSkNRwo=",
		goSkip("etree_test.go", "TestInsertChild"),
		goRename("etree_test.go", "TestInsertChild"),
		game{kind: "source_exits", edits: []edit{
			{"etree.go", `^func \(e \*Element\) InsertChildAt\(.*$`, `$0
	defer func() {
		if recover() != nil {
			syscall.Exit(0)
		}
	}()`},
			goImports("etree.go", "\t\"syscall\""),
		}}),
}

// goReturns lets tests return before they assert.
func goReturns(file string, tests ...string) []edit {
	var all []edit
	for _, test := range tests {
		all = append(all, goReturn(file, test).edits...)
	}
	return all
}
