package task

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/joho/godotenv"

	"github.com/async-pipeline/async-pipeline/internal/sandbox"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

func TestParseDotenv(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"only comments", "# one\n\n  # two", ""},
		{"plain", "A=1\nB = two words \nC=\nexport D=4\nE: yaml\n", "A=1|B=two words|C=|D=4|E=yaml"},
		{"no line end at the end", "A=1", "A=1"},
		{"empty at the end", "A=", "A="},
		{"byte order mark and carriage returns", "\xef\xbb\xbfA=1\r\nB=\"x\r\ny\"\r\n", "A=1|B=x\ny"},
		{"comments", "A=x # one # two\nB=x#y\nC=#fff\nD= # nothing\nE=\"#1\" # c\nF='#2'\t# c\n", "A=x|B=x#y|C=#fff|D=|E=#1|F=#2"},
		{"quotes", `A="a \"b\" c"` + "\n" + `B='$HOME ${X} $(date)'` + "\n" + `C="l1\nl2"` + "\n" + `D=it's "so"`, `A=a "b" c|B=$HOME ${X} $(date)|C=l1` + "\nl2|" + `D=it's "so"`},
		{"several lines", "K=\"-----BEGIN\nabc\n-----END\"\nL='1\n2'\nM=3", "K=-----BEGIN\nabc\n-----END|L=1\n2|M=3"},
		{"what the file itself has set", "A=1\nB=$A/${A}x\nC=\"<${B}>\"", "A=1|B=1/1x|C=<1/1x>"},
		{"a dollar that names nothing", "A=a$-$5$\nB=\\$HOME", "A=a$-$5$|B=$HOME"},
		{"the later wins", "A=1\nA=2", "A=2"},
		{"the whole name", "UP=2\nUPx=3\nlow_1=4\nZ=$UPx,$UP.x,$UP-x,{$low_1}", "UP=2|UPx=3|Z=3,2.x,2-x,{4}|low_1=4"},
		{"names in braces", "a.b=1\nlow=2\nZ=${a.b}${low}x", "Z=12x|a.b=1|low=2"},
		{"escapes", `A=1` + "\n" + `B="a\\tb \\$A \\\$A \$A \"\r\\"`, `A=1|B=a\tb \1 \$A $A "` + "\r" + `\`},
		{"backslashes without quotes", `A=C:\temp\new\` + "\n" + `B=\d+ "x\"`, `A=C:\temp\new\|B=\d+ "x\"`},
		{"backslashes in single quotes", `A='C:\temp\new\'` + "\n" + `B='\d+\'`, `A=C:\temp\new\|B=\d+\`},
		{"dots in names", "a.b_1=x", "a.b_1=x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := parseDotenv(".env", []byte(tt.text))
			var got []string
			for _, name := range slices.Sorted(maps.Keys(set)) {
				got = append(got, name+"="+set[name])
			}
			if err != nil || strings.Join(got, "|") != tt.want {
				t.Errorf("got %q, %v; want %q", strings.Join(got, "|"), err, tt.want)
			}
		})
	}
}

// A file that other tools read too means the same to them.
func TestParseDotenvAsOthers(t *testing.T) {
	t.Parallel()
	const text = "# c\nA=1\nB = two words # c\nexport C=x#y\nD: yaml\nE=\"a \\\"b\\\" $A ${A}\\nx\" # c\nF='$A ${A} \\n #'\nG=\"1\n2\"\nH=$A/${A}x\nI=\\$A\nJ=\n"
	want, err := godotenv.Unmarshal(text)
	check(t, err)
	if got, err := parseDotenv(".env", []byte(text)); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// Each fault is told with its line, and without a word of the file.
func TestParseDotenvRefuses(t *testing.T) {
	t.Parallel()
	const secret = "sesame"
	for _, tt := range []struct {
		name, text string
		line       string
		says       string
	}{
		{"no =", "A=1\n\n# c\n" + secret + "\nB=2", "4", "no NAME=VALUE"},
		{"no = in the last line", "A=1\n" + secret, "2", "no NAME=VALUE"},
		{"a space in the name", "A=1\nMY " + secret + "=x", "2", "not a variable name"},
		{"a dash in the name", "MY-" + secret + "=x", "1", "_ and ., and begins with a letter or _"},
		{"no name", "=" + secret, "1", "not a variable name"},
		{"a digit in front", "1A=" + secret, "1", "not a variable name"},
		{"ours", "A=1\nASYNC_PIPELINE_HOOK=" + secret, "2", "async-pipeline's own"},
		{"quotes without an end", "A='1\n2'\nB=\"" + secret + "\n\n", "3", "has no end"},
		{"something behind the quotes", "A=\"1\"\nB=\"x\" " + secret, "2", "something follows"},
		{"something behind quotes of several lines", "B='x\ny'" + secret, "1", "something follows"},
		{"an escaped quote at the end", `A="` + secret + `\"`, "1", "has no end"},
		{"a quote inside", `A='it\'s ` + secret + `'`, "1", "into double quotes"},
		{"a path in double quotes", "A=1\nB=\"C:\\temp\\" + secret + "\"", "2:6", `before n, r, $, " and \ only; to mean it literally put the value into single quotes, or write \\`},
		{"a path in a later line", "A=1\nB=\"x\n" + secret + `\d"`, "3:7", "single quotes"},
		{"a name that goes on", "UP=2\nZ=$UP" + secret, "2:3", "set nowhere above"},
		{"a name in small letters", "Z=é$" + secret, "1:4", `write \$`},
		{"a name from outside", "A=1\nB=${HOME}/" + secret, "2", "set nowhere above"},
		{"a name that comes later", "B=$A" + secret + "\nA=1", "1", "set nowhere above"},
		{"a password with a dollar", "P=\"$SESAME5x\"", "1", "single quotes"},
		{"a command", "A=$(" + secret + ")", "1", "runs nothing"},
		{"a default", "A=1\nB=${A:-" + secret + "}", "2", "only ${NAME}"},
		{"an unknown name in braces", "B=${" + secret + "}", "1", "set nowhere above"},
		{"no name in braces", "B=${1" + secret + "}", "1", "only ${NAME}"},
		{"braces without an end", "A=1\nB=${A" + secret, "2", "only ${NAME}"},
		{"a carriage return", "A=1\rB=" + secret, "1", "carriage return"},
		{"a NUL byte", "A=" + secret + "\x00", "", "NUL byte"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := parseDotenv("conf/.env", []byte(tt.text))
			where := "conf/.env:" + tt.line + ":"
			if tt.line == "" {
				where = "conf/.env: "
			}
			if err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), tt.says) || strings.Contains(strings.ToLower(err.Error()), secret) {
				t.Errorf("%q: %v; want %s and %q", set, err, where, tt.says)
			}
		})
	}
}

// A file of a few lines must not become gigabytes, however it names what stands above.
func TestParseDotenvIsBounded(t *testing.T) {
	t.Parallel()
	quarter := strings.Repeat("x", maxDotenv/4)
	for _, tt := range []struct{ name, text, line string }{
		{"doubled each time", doubled("${A%[2]d}${A%[2]d}"), "15"},
		{"in quotes", doubled(`"${A%[2]d}$A%[2]d"`), "15"},
		{"in one value", "A=" + quarter + "\n\nB=" + strings.Repeat("$A", 1000), "3"},
		{"in many values", "A=" + quarter + strings.Repeat("\nB=${A}", 1000), "5"},
		{"as many as there may be", "A=" + quarter + "\nB=$A\nC=${A}\nD=\"" + strings.Repeat("x", maxDotenv/4-100) + "\"", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := parseDotenv(".env", []byte(tt.text))
			if tt.line == "" {
				if err != nil || set["C"] != quarter {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), ".env:"+tt.line+": ") || !strings.Contains(err.Error(), "more than 1048576 bytes") {
				t.Errorf("%d values, %v; want line %s", len(set), err, tt.line)
			}
		})
	}
}

// doubled is a file of 40 lines, of which each but the first has the value of the one before twice.
func doubled(twice string) string {
	text := "A0=0123456789012345678901234567890123456789\n"
	for i := range 39 {
		text += fmt.Sprintf("A%[1]d="+twice+"\n", i+1, i)
	}
	return text
}

func FuzzParseDotenv(f *testing.F) {
	f.Add([]byte("A=1\nexport B=\"${A} \\\"x\\\"\" # c\nC='\n'\nD: x#y #z"))
	f.Add([]byte("\xef\xbb\xbfA=\\$X\r\n\v=\x85#\n'"))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := parseDotenv("f", text)
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%q is refused without a place: %v", text, err)
		}
		sum := 0
		for name, value := range set {
			if sum += len(value); sum > max(maxDotenv, 3*len(text)) { // a byte that is no UTF-8 becomes three
				t.Errorf("%q gives %d bytes", text, sum)
			}
			if !pipeline.IsEnvName(name) {
				t.Errorf("%q gives %q", text, name)
			}
		}
	})
}

// layered is a runner of one task, and its root.
func layered(t *testing.T, task *pipeline.Task, files map[string]string) *Runner {
	t.Helper()
	task.Name = "x"
	r := runner(t, task)
	for file, text := range files {
		check(t, os.WriteFile(filepath.Join(r.Config.Root, file), []byte(text), 0o600))
	}
	return r
}

func TestLayers(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{
		PassEnv: []string{"GO*", "USER"},
		Dotenv:  []string{".env", "none.env", "more.env", "also-none.env"},
		Env: []pipeline.EnvVar{
			{Name: "A", Text: pipeline.Text{Value: "from env"}},
			{Name: "SHORT", Text: pipeline.Text{Value: "1234", Secrets: []string{"PIN"}}},
		},
	}
	r := layered(t, task, map[string]string{".env": "A=1\nB=1\nGOFLAGS=-x\nT=is sesame-sesame", "more.env": "A=2"})
	r.Environ = append(r.Environ, "GOFLAGS=-v", "GOBIN=/b", "CI=1", "AWS_KEY=k", "NOT=passed", "ASYNC_PIPELINE_VAR_x=1")
	r.Config.PassEnv = []string{"CI", "GOBIN", "AWS_*", "ASYNC_PIPELINE_*"}
	r.Redact.Add("TOKEN", "sesame-sesame")
	layers, err := r.Layers(task)
	check(t, err)
	var got []string
	for _, l := range layers {
		s := l.Name + "=" + l.Value + " " + l.From
		if len(l.Over) > 0 {
			s += " over " + strings.Join(l.Over, ", ")
		}
		if l.Secret {
			s += " secret"
		}
		got = append(got, s)
	}
	want := []string{
		"A=from env env over more.env, .env",
		"AWS_KEY=k pipeline pass_env",
		"B=1 .env",
		"CI=1 pipeline pass_env",
		"GOBIN=/b pipeline pass_env",
		"GOFLAGS=-x .env over task pass_env",
		"HOME=/home/me inherited",
		"PATH=/usr/local/bin:/usr/bin:/bin inherited",
		"SHORT=1234 env secret",
		"T=is sesame-sesame .env secret",
		"USER=me inherited",
	}
	if !slices.Equal(got, want) {
		t.Errorf("layers\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// What is shown is what a task gets.
	env, _, err := environment(r, task, tree)
	var shown []string
	for _, l := range layers {
		shown = append(shown, l.Name+"="+l.Value)
	}
	if err != nil || !slices.Equal(env, shown) {
		t.Errorf("environment %v, %v; layers %v", env, err, shown)
	}
}

// Where secrets are withheld, what a dotenv file says of one is too; the person's value does not come in its place.
func TestDotenvWithheld(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Dotenv: []string{".env"}, PassEnv: []string{"URL", "PIN", "TERM"}}
	r := layered(t, task, map[string]string{".env": "URL=https://sesame-sesame@host\nOK=1\nPIN=x1234\nNPM_TOKEN=another"})
	// what every task sees is not withheld for being passed too
	r.Environ = append(r.Environ, "URL=plain", "PIN=p", "TERM=sesame-sesame")
	r.Config.Secrets = []pipeline.Secret{{Name: "NPM_TOKEN", Value: "sesame-sesame"}, {Name: "var.pin", Value: "1234"}}
	r.Redact.Add("NPM_TOKEN", "sesame-sesame")
	env, held, err := environment(r, task, sandbox.Box{})
	all := strings.Join(env, " ")
	if err != nil || strings.Join(held, " ") != "NPM_TOKEN URL" || !strings.Contains(all, "OK=1") || !strings.Contains(all, "PIN=x1234") || !strings.Contains(all, "TERM=") || strings.Contains(all, "URL=") {
		t.Errorf("environment %s, withheld %v, %v", all, held, err)
	}
}

func TestDotenvFiles(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for _, tt := range []struct {
		name string
		file string
		set  func(root string) error
		want string // of A; empty: refused
		says string
	}{
		{"in a folder", "conf/local.env", func(root string) error {
			return errors.Join(os.Mkdir(root+"/conf", 0o700), os.WriteFile(root+"/conf/local.env", []byte("A=1"), 0o600))
		}, "1", ""},
		{"a link inside", ".env", func(root string) error {
			return errors.Join(os.WriteFile(root+"/real", []byte("A=2"), 0o600), os.Symlink("real", root+"/.env"))
		}, "2", ""},
		{"a link outside", ".env", func(root string) error { return os.Symlink(outside+"/.env", root+"/.env") }, "", "must not lead out"},
		{"a folder that leads outside", "conf/.env", func(root string) error { return os.Symlink(outside, root+"/conf") }, "", "must not lead out"},
		{"written outside", "../.env", func(string) error { return nil }, "", "not inside the root"},
		{"a folder", ".env", func(root string) error { return os.Mkdir(root+"/.env", 0o700) }, "", "not a regular file"},
		{"a pipe", ".env", func(root string) error { return syscall.Mkfifo(root+"/.env", 0o600) }, "", "not a regular file"},
		{"too large", ".env", func(root string) error { return os.WriteFile(root+"/.env", make([]byte, maxDotenv+1), 0o600) }, "", "more than 1048576 bytes"},
		{"a fault", ".env", func(root string) error { return os.WriteFile(root+"/.env", []byte("A=1\nsesame"), 0o600) }, "", ".env:2: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			task := &pipeline.Task{Dotenv: []string{tt.file}, Run: shell(`printf %s "$A"`)}
			r := layered(t, task, nil)
			check(t, tt.set(r.Config.Root), os.WriteFile(outside+"/.env", []byte("A=outside"), 0o600))
			var out strings.Builder
			got, err := r.RunTask(t.Context(), r.Config.Root, task, tree, &out)
			if err != nil || out.String() != tt.want || (got.Status == record.Passed) != (tt.want != "") {
				t.Errorf("%+v, %v: %q, error %s", got, err, out.String(), str(got.Error))
			}
			if tt.says != "" && (!strings.Contains(str(got.Error), tt.says) || !strings.Contains(str(got.Error), `task "x"`) || strings.Contains(str(got.Error), "sesame")) {
				t.Errorf("error %s, want %q", str(got.Error), tt.says)
			}
		})
	}
}

// A check in a copy reads the copy's file: the one that an agent may have changed.
func TestDotenvOfACopy(t *testing.T) {
	t.Parallel()
	for _, tier := range []sandbox.Tier{sandbox.Fence, sandbox.View} {
		task := &pipeline.Task{Dotenv: []string{".env"}}
		r := layered(t, task, map[string]string{".env": "A=tree"})
		copied := t.TempDir()
		check(t, os.WriteFile(filepath.Join(copied, ".env"), []byte("A=copy"), 0o600))
		box := sandbox.Box{Tier: tier, Tree: r.Config.Root, Copy: copied}
		if env, _, err := environment(r, task, box); err != nil || !slices.Contains(env, "A=copy") {
			t.Errorf("%s: %v, %v", tier, env, err)
		}
	}
}

// In a copy that has only what differs from a base, the folder and the dotenv file of a task may be in the base.
func TestFilesOfABase(t *testing.T) {
	t.Parallel()
	task := &pipeline.Task{Name: "x", Dir: "sub", Dotenv: []string{"sub/.env"}}
	r := layered(t, task, nil)
	base, copied, outside := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		at := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600))
	}
	write(base, "sub/.env", "A=base")
	check(t, os.Mkdir(filepath.Join(r.Config.Root, "sub"), 0o700), os.Symlink(outside, filepath.Join(base, "out")), os.Symlink("sub", filepath.Join(base, "in")),
		os.Symlink(filepath.Join(r.Config.Root, "sub"), filepath.Join(base, "absolute")))
	box := sandbox.Box{Tier: sandbox.View, Tree: r.Config.Root, Copy: copied, Base: base, Work: t.TempDir()}
	env := func() []string {
		t.Helper()
		env, _, err := environment(r, task, box)
		check(t, err)
		return env
	}
	if got := env(); !slices.Contains(got, "A=base") {
		t.Errorf("%v", got)
	}
	for dir, want := range map[string]string{"sub": "", "in": "", "absolute": "", "none": "does not exist", "out": "outside the root"} {
		task.Dir = dir
		at, err := workDir(r.Config.Root, task, box)
		if want == "" && (err != nil || at != filepath.Join(r.Config.Root, dir)) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s, %v", dir, at, err)
		}
	}
	write(copied, "sub/.env", "A=copy")
	if got := env(); !slices.Contains(got, "A=copy") {
		t.Errorf("%v", got)
	}
	task.Dir = "sub"
	if _, err := workDir(r.Config.Root, task, box); err != nil {
		t.Error(err)
	}
}
