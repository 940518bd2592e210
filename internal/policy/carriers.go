package policy

// Programs that carry out what their arguments say, in ways that are not told apart here: a pattern with a * in it would allow
// any command at all.

import (
	"path"
	"strings"
	"sync"
)

const (
	isShell   = "is a shell"
	isWrapper = "starts other programs"
)

var carriers = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, name := range strings.Fields("sh ash bash dash rbash zsh ksh mksh pdksh yash fish csh tcsh rc es elvish nu xonsh pwsh powershell cmd busybox toybox sash " +
		"expect tclsh wish m4 guile sbcl jshell iex irb ghci osascript") {
		all[name] = isShell
	}
	for _, name := range strings.Fields("sudo sudoedit doas su gosu su-exec runuser runcon newgrp sg login pkexec numactl setpriv setarch linux32 linux64 i386 x86_64 prlimit uclampset choom " +
		"watch xargs parallel rush flock script unshare nsenter chroot fakeroot fakechroot proot bwrap firejail systemd-run cgexec faketime proxychains proxychains4 torsocks " +
		"ccache sccache distcc icecc bear scan-build intercept-build wine qemu-x86_64 qemu-aarch64 xcrun arch caffeinate sandbox-exec launchctl open xdg-open " +
		"capsh cpulimit hyperfine strace ltrace gdb lldb valgrind perf rr heaptrack tini dumb-init catatonit chronic retry sponge " +
		"ld.so ld-linux.so ld-linux-x86-64.so ld-linux-aarch64.so ld-musl-x86_64.so ld-musl-aarch64.so " +
		"bc dc gnuplot sqlite3 psql mysql mariadb mongosh ftp sftp ssh scp mosh rsh telnet socat nc ncat netcat at batch crontab screen tmux zellij dtach abduco entr watchexec nodemon direnv dbus-run-session dbus-launch ssh-agent catchsegv " +
		"ed ex vi vim nvim view emacs nano less more most docker podman nerdctl kubectl vagrant command exec eval builtin coproc source nix nix-shell nix-build start-stop-daemon run-parts") {
		all[name] = isWrapper
	}
	return all
})

// carrier says what kind of carrier a program is; empty: none.
func carrier(name string) string {
	for _, n := range names(name) {
		if kind := carriers()[n]; kind != "" {
			return kind
		}
	}
	return ""
}

// names are those under which a program may be known: without its folder, in small letters, for some file systems do not tell
// them apart, without .exe and the version behind it (python3.12, ld-linux.so.2), without the g that GNU's have on other systems.
func names(name string) []string {
	base := strings.TrimSuffix(strings.ToLower(path.Base(name)), ".exe")
	all := []string{base}
	if short := strings.TrimRight(strings.TrimRight(base, "0123456789."), "-"); short != "" && short != base {
		all = append(all, short)
	}
	for _, n := range all {
		if short, ok := strings.CutPrefix(n, "g"); ok && short != "" {
			all = append(all, short)
		}
	}
	return all
}
