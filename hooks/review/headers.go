package review

// library_shadowed: new files that C includes instead of a header of the system.

import (
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/late"
)

// systemHeaders of C and POSIX. A name of plainHeaders is also one that a project gives to a header of its own, in a folder
// of its own.
var (
	systemHeaders = strings.Fields(`assert.h stdlib.h stdio.h stddef.h stdint.h stdbool.h stdarg.h stdnoreturn.h stdalign.h stdatomic.h setjmp.h inttypes.h iso646.h tgmath.h
		fenv.h wchar.h wctype.h unistd.h fcntl.h pthread.h dlfcn.h sysexits.h err.h error.h strings.h execinfo.h float.h limits.h ctype.h errno.h`)
	plainHeaders = strings.Fields(`string.h time.h math.h signal.h locale.h complex.h threads.h features.h uchar.h memory.h malloc.h`)
	plusHeaders  = strings.Fields(`cassert cstdlib cstdio cstring csignal cmath cstddef cstdint iostream exception stdexcept string string_view vector memory algorithm functional utility`)
	sysHeaders   = strings.Fields(`types.h cdefs.h wait.h stat.h signal.h time.h`)

	headerFolders = []string{"include", "inc", "src", "lib", "headers"}
	cInclude      = late.Regexp(`(?m)^\s*#\s*(?:include|define|pragma|ifn?def)\b`)
)

// headers looks for a new header that has the name of one of the system.
func (r *report) headers(e *edit) {
	dir, base := path.Split(e.path)
	dir = path.Clean(dir)
	if !e.isNew() || e.class == 3 || r.renamed(e, base) {
		return
	}
	caps := slices.Contains(systemHeaders, base) || path.Base(dir) == "sys" && slices.Contains(sysHeaders, base)
	switch {
	case caps:
	case slices.Contains(plainHeaders, base):
		caps = dir == "." || dir == r.checks.Sub || slices.Contains(headerFolders, path.Base(dir)) || wraps(text(e.change.After), base)
	case slices.Contains(plusHeaders, base):
		if caps = cInclude().MatchString(text(e.change.After)); !caps {
			return
		}
	default:
		return
	}
	r.add(e, LibraryShadowed, -1, caps, "is included instead of the system's %s", base)
}

// wraps says whether a header includes the one of the system that has its name: it is found in front of it, then.
func wraps(text, base string) bool {
	return strings.Contains(text, "include_next") || strings.Contains(text, "<"+base+">")
}

// renamed says whether a file of the same name is gone from another folder.
func (r *report) renamed(e *edit, base string) bool {
	return slices.ContainsFunc(r.edits, func(o *edit) bool { return o != e && !o.exists() && path.Base(o.path) == base && o.class == e.class })
}
