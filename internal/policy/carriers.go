package policy

// Programs that carry out what their arguments say: a pattern with a * in it would allow any command at all.

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
	for _, name := range strings.Fields("sh ash bash dash rbash zsh ksh mksh pdksh yash fish csh tcsh rc es elvish nu xonsh pwsh powershell busybox toybox sash") {
		all[name] = isShell
	}
	for _, name := range strings.Fields("env sudo sudoedit doas su runuser pkexec nice ionice chrt taskset numactl nohup setsid setpriv stdbuf unbuffer timeout time " +
		"watch xargs parallel flock script expect chroot unshare nsenter fakeroot proot bwrap firejail systemd-run strace ltrace gdb lldb valgrind perf rr " +
		"ld.so ld-linux.so ld-linux-x86-64.so ld-linux-aarch64.so ld-musl-x86_64.so ld-musl-aarch64.so ssh mosh at batch crontab screen tmux entr direnv dbus-run-session xvfb-run catchsegv " +
		"awk gawk mawk nawk sed gsed ed ex vi vim nvim emacs docker podman nerdctl kubectl command exec eval builtin coproc nix-shell start-stop-daemon run-parts") {
		all[name] = isWrapper
	}
	return all
})

// carrier says what kind of carrier a program is; empty: none.
func carrier(program string) string {
	base := path.Base(program)
	if kind := carriers()[base]; kind != "" {
		return kind
	}
	return carriers()[versionless(base)]
}

// versionless is the name of a program without the version behind it: python3.12, bash-5.2, ld-linux.so.2.
func versionless(base string) string {
	if short := strings.TrimRight(strings.TrimRight(base, "0123456789."), "-"); short != "" {
		return short
	}
	return base
}
