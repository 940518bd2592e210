package shelltext

import (
	"slices"
	"strings"
	"testing"
)

func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, want string }{
		{"", ""},
		{"a b && c | d; e", "a c d e"},
		{"$X/a; ./a; $(b)/c; \"$Y\"", "./a b"},
		// texts in texts
		{"sh -c a", "sh a"},
		{"bash -euc 'a | ./b'", "bash a ./b"},
		{"bash -euo pipefail -c a", "bash a"},
		{"/bin/sh -c 'sh -c \"sh -c a\"'", "/bin/sh sh a"},
		{"env X=1 timeout 5 dash -c a", "env timeout dash a"},
		{"sh -c '\"$@\"' x a b", "sh a"},
		{"sh -c 'exec \"$1\"' x a", "sh exec a"},
		{"sh -c \"$X\"; sh -c", "sh"},
		{"eval a b; eval 'c; d'; eval \"$X e\"", "eval a c d"},
		{"trap 'a; b' EXIT; trap - EXIT; trap c INT TERM", "trap a b c"},
		{"su -c a; su -lc b root; runuser -u me -- c; runuser -u me d; runuser -l me -c e; flock f -c g; script -qc h out", "su a b runuser c d e flock g script h"},
		{"flock l gcc -c a.c; flock -w 5 l -c 'b; e'; flock --timeout 5 l make -c d; flock l", "flock gcc b e make"},
		{"runuser -u me gcc -c a.c; ./script -c x.yml; tools/su -c y; /bin/su -c z", "runuser gcc ./script tools/su /bin/su z"},
		{"bash <<E\na\nE", "bash a"},
		{"bash -s x <<< a", "bash a"},
		{"cat <<E\n$(a) `b`\n$X\nE\ncat <<'E'\n$(c)\nE", "a b cat"},
		{"cat <<E | b\n$(a)\nE", "a cat b"},
		// wrappers
		{"chrt -o 0 a; chrt 5 b; unshare -r c; setarch x86_64 -R d; setarch -R e; prlimit --nofile=9 f; choom -n 0 -- g", "chrt a unshare c setarch d e prlimit f choom g b"},
		{"time -p a; command -p b; strace -f c; flock -n f d; ionice -c 3 e; sudo -n g; setsid -f h", "a command b strace c flock d ionice e sudo g setsid h"},
		{"chroot --userspec=me / a; perf stat -r 5 -- b; perf record -F 99 -g c", "chroot a perf b c"},
		{"env -S 'a b'; env -iS 'X=1 c d'; env --split-string=e; env -S 'sh\\_./f'", "env a c e sh s:./f"},
		{"env -S '\"sh\" \"./a\"'; env -vS\"sh './b'\"; env -S 'sh \"$X\"'; env -S 'sh ${X}'", "env sh s:./a s:./b"},
		{"nsenter -t 1 -m -- a; sg docker b; sg docker -c 'c | d'; uclampset -m 5 e; tini -s -- f; dumb-init -r 15:9 g", "nsenter a sg b c d uclampset e tini f dumb-init g"},
		{"start-stop-daemon --start --exec ./a -- -x b; start-stop-daemon -Sx timeout -- 5 c; start-stop-daemon --stop", "start-stop-daemon ./a timeout c"},
		{"ip netns exec blue a; ip -n x netns exec blue b; ip addr show c", "ip a b"},
		{"watch -n 5 a '|' b; systemd-run --user -p X=1 --working-directory=d ./c; gdb -batch -ex run --args e f", "watch a b systemd-run d/c gdb e"},
		{"hyperfine --warmup 3 'a | ./b' --prepare 'sh c' --setup='d'", "hyperfine 3 a ./b sh s:./c d"},
		{"find . -name x -exec a {} ';' -exec b + -ok c \\; -execdir ./d ';'; find . -exec sh -c ./e \\;", "find a b c sh ./e"},
		// scripts
		{"sh a; sh -e ./b x; bash -x -- c/d; . e; source f/g; sh < h", "sh s:./a s:./b bash s:c/d . s:./e source s:f/g s:./h"},
		{"python3.12 -W x a.py; node --require b c.js d; perl -ne e f; python -m g; ruby -I lib h", "python3.12 s:./a.py node s:./c.js perl python ruby s:./h"},
		{"python3 -Bm a; python -Ic b; perl -we c; node -pe d; perl -MTest::More e; ruby -Ilib/e f; perl -pi.bak -e g h", "python3 python perl node s:./e ruby s:./f"},
		{"python3 < a; rbash -c b; echo $(( $(c) + 1 ))", "python3 s:./a rbash b c echo"},
		{"awk -f a b; sed -nf c -fd; sed --file=e f; awk g h; sed -- -f i", "awk s:./a sed s:./c s:./d s:./e"},
		{"sh \"$X\"; sh -s < a; bash --rcfile b c", "sh s:./a bash s:./c"},
		// folders
		{"cd a && ./b", "cd a/b"},
		{"cd sub && ../bin/b && c", "cd sub/../bin/b c"},
		{"cd a\ncd b\n./c; cd ..; ./d; cd /e; ./f; cd -; ./g", "cd a/b/c a/d /e/f a/g"},
		{"(cd a; ./b); ./c; $(cd d; ./e); ./f; cd g | ./h; ./i; cd j & ./k", "cd a/b ./c d/e ./f ./h ./i ./k"},
		{"pushd a; ./b; pushd c; ./d; popd; ./e; popd; ./f", "pushd a/b a/c/d popd a/e ./f"},
		{"cd \"$X\"; ./a; cd /b; ./c; cd; ./d; cd ~; ./e; cd f*; ./g", "cd /b/c"},
		{"cd a || exit 1; ./b", "cd exit a/b"},
		{"cd a || true; ./b", "cd true a/b ./b"},
		{"x && cd a; ./b", "x cd a/b ./b"},
		{"if x; then cd a; else cd b; ./c; fi; ./d", "x cd b/c a/d b/d"},
		{"if x; then exit 1; fi; cd a; ./b", "x exit cd a/b"},
		{"for i in x y; do cd a; ./b; done; ./c", "cd a/b ./c a/c"},
		{"while x; do cd a; done; case y in y) cd b;; z) ./c;; esac; ./d", "x cd ./c a/c ./d a/d b/d a/b/d"},
		{"{ cd a; ./b; } > f; ./c; time ./d", "cd a/b a/c a/d"},
		{"cd a && sh -c 'cd b; ./c; sh d'; sh ./e", "cd sh a/b/c s:a/b/d s:a/e"},
		{"env -C a ./b; env --chdir=c d/e; sudo -D f ./g; env -C a sh -c ./h; env -C $X ./i", "env a/b c/d/e sudo f/g sh a/h"},
		{"$PWD/a; \"$PWD\"/b/c; cd d; ${PWD}/e; $(pwd)/f; cd \"$PWD/g\"; ./h", "./a ./b/c cd ./d/e pwd ./d/f d/g/h"},
		{"PATH=$PWD/bin:$PATH a; export PATH=/x:tools:$PATH; b", "a ./bin/a export ./bin/export b ./bin/b /x/b ./tools/b"},
		// functions
		{"f() { ./a; }; cd b; f; cd c; f", "./a cd f b/a b/c/a"},
		{"go() { cd a; }; go; ./b", "cd go a/b"},
		{"run() { echo; \"$@\"; }; run a b; run \"$X\" c", "echo a run"},
		{"set -- a b; \"$@\"; $1; $2", "set a b"},
		{"f() { f; g; }; g() { f; }; f", "f g"},
	} {
		var got []string
		for _, p := range Programs(c.src) {
			name := p.Name
			if p.Script {
				name = "s:" + name
			}
			got = append(got, name)
		}
		want := strings.Fields(c.want)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q\n got %q\nwant %q", c.src, got, want)
		}
	}
	if got := Programs(`"$@"; cd a`, "./b", "c"); len(got) != 2 || got[0].Name != "./b" {
		t.Errorf("with arguments: %v", got)
	}
	if got := ProgramsOf([]string{"timeout", "5", "sh", "-c", "cd a; ./b"}); len(got) != 4 || got[3].Name != "a/b" {
		t.Errorf("of a list: %v", got)
	}
}

// env -S splits as that of coreutils does.
func TestSplitString(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"-S a b":                       "a|b",
		`-S "a b"'c d' e`:              "a bc d|e",
		`-Sa\_b "c\_d" 'e\_f'`:         `a|b|c d|e\_f`,
		`-iS a\tb "\"" '\'' '\\' \\\#`: "a\tb|\"|'|\\|\\#",
		`-vS a '' ""`:                  "a||",
		`--split-string=a #b c`:        "a",
		`-S a#b \#c d\ce f`:            "a#b|#c|d",
		`-S a ${X}b "${Y}" '${Z}' \$c`: "a|?b|?|${Z}|$c",
		"-S":                           "",
		"-u X":                         "no",
		"S":                            "no",
		"-uS a":                        "no",
	} {
		words, ok := SplitString(arg)
		got := strings.ReplaceAll(strings.Join(words, "|"), string(Unknown), "?")
		if !ok {
			got = "no"
		}
		if got != want {
			t.Errorf("%s\n got %q\nwant %q", arg, got, want)
		}
	}
}

// No text makes much of itself.
func TestProgramsAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one goroutine at work: the race detector, with which CI runs -short, finds nothing in it")
	}
	functions := "f0() { a; }\n"
	for range 5 {
		functions += "f0() { " + strings.Repeat("f0;", 1000) + " }\n"
	}
	for _, src := range []string{
		functions + "f0", "X='" + strings.Repeat("a;", 2000) + "'\n" + strings.Repeat("eval \"$X\"\n", 4000), "X='" + strings.Repeat("'\\''\n", 1000) + "'\n" + strings.Repeat("sh -c \"$X\"\n", 4000),
		strings.Repeat("cd a || cd b\n", 4000) + "./c", strings.Repeat("eval ", 100_000) + "a", strings.Repeat("env ", 100_000) + "a", strings.Repeat("find -exec ", 100_000) + "a", strings.Repeat("pushd a;", 4000) + "./b",
		"eval eval eval eval eval eval eval eval eval a",
	} {
		var f finder
		f.text(src, nil, []string{"."}, 0)
		if f.read > 2*maxCommands {
			t.Errorf("%.20q: %d commands were read", src, f.read)
		}
	}
}

func BenchmarkPrograms(b *testing.B) {
	for name, src := range map[string]string{"short": "cd web && npm ci && npm run build", "nested": "set -e\ncd web\nenv X=1 sh -c 'cd sub && ./a | b'\nfor i in *.c; do cc \"$i\"; done"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Programs(src)
			}
		})
	}
}
