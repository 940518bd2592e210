package checkfile

// A project's own test runner: a program that the command names, and that tells by its exit code whether others are
// right. It is the check whatever it is called, and so are the files beside it and the data that only it reads.

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/lang"
	"github.com/async-pipeline/async-pipeline/internal/lazily"
)

const (
	maxRunnerData  = 64 << 10 // bytes; larger data is not read for the names in it
	maxRunnerFiles = 200      // of data that are read, and sources of production that are searched
	maxRunnerSteps = 3        // data that names data
)

var (
	// verdicts are what a runner prints, reports what it may print too; so does a program that reads a language.
	verdicts = lazily.Regexp(`["'\x60](?:[^"'\x60\n]*[^\w"'\x60\n])?(?:FAIL(?:ED|URE|URES)?|PASS(?:ED)?|not ok|MISMATCH)\b`)
	reports  = lazily.Regexp(`["'\x60][^"'\x60\n]*(?:\b[Ee]xpected\b[^"'\x60\n]*\b(?:got|but|actual)\b|\b[Ww]ant(?:ed)?\b[^"'\x60\n]*\bgot\b|\b[Gg]ot\b[^"'\x60\n]*\b(?:want|wanted|expected)\b)`)
	ends     = lazily.Regexp(`\bexit\s*\(|\bexitCode\s*=|\bSystemExit\b|\bos\.Exit\b|\babort\s*\(|\b(?:die|exit)\b|\bthrow\s|\braise\s|\bpanic\(|\bassert\b`)
	options  = lazily.Regexp(`\bsys\.argv\b|\bargparse\b|\bclick\b|\bprocess\.argv\b|\bparseArgs\b|\bos\.Args\b|\bflag\.\w+\(|@ARGV\b|\bARGV\b|\bstdin\b|\binput\s*\(`)

	// failsItself is what a function or macro does that tests assert with.
	failsItself = lazily.Regexp(`\braise\s+AssertionError\b|\bthrow\s+new\s+(?:assert\.)?AssertionError\b|` +
		`#[ \t]*define[ \t]+\w+\([^)\n]*\)(?:[^\n]*\\\r?\n)*[^\n]*[^#\w]#\w+(?:[^\n]*\\\r?\n)*[^\n]*(?:\bexit\s*\(|\babort\s*\(|\breturn\s+1|\+\+)`)
	failsRun = lazily.Regexp(`\bthrow\s+new\s+Error\b|\bexit\s*\(\s*1\s*\)|\bexitCode\s*=\s*1\b`)
	quoted   = lazily.Regexp(`["'\x60]([\w./*-]{2,128})["'\x60]`)

	// productFolders are those of the program, where a file beside the runner may be what it tries.
	productFolders = lazily.Words("src lib app pkg source sources")
)

// asserter reports whether a source looks like what tests assert with.
func asserter(src []byte) bool {
	has := func(words ...string) bool { // most sources have none of them: this is quick
		return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(src, []byte(word)) })
	}
	return has("AssertionError", "define") && failsItself().Match(src) ||
		has("FAIL", "PASS", "not ok", "MISMATCH") && verdicts().Match(src) && failsRun().Match(src)
}

// text returns the sources of a unit.
func (n *finder) text(u *unit) []byte {
	var all []byte
	for _, p := range u.paths {
		all = append(append(all, n.search(p)...), '\n')
	}
	return all
}

// search returns the text of a file, which it reads once; nil: it cannot be read, or too much was.
func (n *finder) search(p string) []byte {
	src, known := n.searched[p]
	if !known && n.read != nil && n.reads < maxReads {
		n.reads++
		if text, err := n.read(p); err == nil && len(text) <= maxReadSize {
			src = text
		}
		n.searched[p] = src
	}
	return src
}

// isRunner reports whether a program that a command starts tries other sources of the tree and tells what came of it.
// A program that reads its arguments is one only where it prints verdicts on sources of another folder.
func (n *finder) isRunner(p string) bool {
	key := n.key(p)
	known, ok := n.runners[key]
	u := n.seen.units[key]
	if ok || u == nil || n.imported(p) {
		return known
	}
	src := n.text(u)
	strong, outside, asked := verdicts().Match(src), n.triesOutside(u, src), options().Match(src)
	n.runners[key] = ends().Match(src) && (outside && (strong || !asked && reports().Match(src)) ||
		strong && !asked && len(u.uses) > 0)
	return n.runners[key]
}

// triesOutside reports whether u imports or names a source that is not in its folder or below.
func (n *finder) triesOutside(u *unit, src []byte) bool {
	outside := func(p string) bool { return u.dir != "." && u.dir != n.seen.sub && !strings.HasPrefix(p, u.dir+"/") }
	if slices.ContainsFunc(u.uses, func(v *unit) bool { return outside(v.key) }) {
		return true
	}
	return slices.ContainsFunc(quoted().FindAllSubmatch(src, -1), func(m [][]byte) bool {
		p := path.Join(n.seen.sub, string(m[1]))
		return n.seen.Has(p) && lang.ByPath(p) != "" && outside(p)
	})
}

// followRunner adds what only a runner loads: sources beside it, and data.
func (n *finder) followRunner(p string) {
	u := n.seen.units[n.key(p)]
	if u == nil || !n.isRunner(p) || n.done["runner parts "+u.key] {
		return
	}
	n.done["runner parts "+u.key] = true
	group := []*unit{u}
	var src []byte
	for i := 0; i < len(group); i++ {
		text := n.text(group[i])
		src = append(src, text...)
		if i == 0 && (!n.triesOutside(u, text) || slices.Contains(productFolders(), path.Base(u.dir))) {
			break // what it tries may be beside it
		}
		for _, v := range slices.Concat(group[i].uses, n.namedBeside(group[i], text)) {
			if (v.dir == u.dir || strings.HasPrefix(v.dir, u.dir+"/")) && !slices.Contains(group, v) && !n.imported(v.key) {
				group = append(group, v)
				for _, file := range v.paths {
					n.files[file] = true
				}
			}
		}
	}
	n.runnerData(group, src, 0)
}

// namedBeside returns the sources beside u, or below, that src names: import_module("compare"), path.join(dir, "compare").
func (n *finder) namedBeside(u *unit, src []byte) (found []*unit) {
	for _, m := range quoted().FindAllSubmatch(src, -1) {
		for _, ext := range []string{"", ".py", ".js", ".mjs", ".cjs", ".ts"} {
			if p := path.Join(u.dir, string(m[1])+ext); strings.HasPrefix(p, u.dir+"/") && n.seen.Has(p) && lang.ByPath(p) != "" {
				found = append(found, n.seen.units[n.key(p)])
			}
		}
	}
	return slices.DeleteFunc(found, func(v *unit) bool { return v == nil })
}

// runnerData adds the data that src names and production does not, and what that names in turn.
func (n *finder) runnerData(group []*unit, src []byte, depth int) {
	for _, m := range quoted().FindAllSubmatch(src, -1) {
		lit := strings.TrimRight(string(m[1]), "/")
		for _, dir := range []string{group[0].dir, n.seen.sub, "."} {
			p := path.Join(dir, lit)
			switch {
			case p == "." || strings.HasPrefix(p, "../"):
			case strings.Contains(lit, "*"):
				if path.Dir(p) != "." && n.seen.allData(p) && !n.productionSays(group, path.Dir(p)) {
					n.globs = append(n.globs, p)
				}
			case n.seen.onlyData(p) && !n.files[p+"/"] && !n.productionSays(group, p):
				n.files[p+"/"] = true
				for _, file := range n.seen.data {
					if strings.HasPrefix(file, p+"/") {
						n.runnerDatum(group, file, depth)
					}
				}
			case n.seen.Has(p) && isData(p) && path.Ext(p) != "" && !n.files[p] && !n.productionSays(group, p):
				n.files[p] = true
				n.runnerDatum(group, p, depth)
			}
		}
	}
}

// runnerDatum follows the names in one file of data.
func (n *finder) runnerDatum(group []*unit, p string, depth int) {
	if depth >= maxRunnerSteps || !slices.Contains([]string{".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".txt", ".conf"}, path.Ext(p)) || n.runnerReads >= maxRunnerFiles {
		return
	}
	n.runnerReads++
	src := n.search(p)
	if len(src) > maxRunnerData {
		return
	}
	if path.Ext(p) != ".json" { // words without quotes
		src = []byte("'" + strings.Join(strings.Fields(string(src)), "' '") + "'")
	}
	n.runnerData(group, src, depth+1)
}

// productionSays reports whether a source of production, besides a runner and what is beside it, names a file or folder.
func (n *finder) productionSays(group []*unit, p string) bool {
	base := path.Base(p)
	looked := 0
	for _, u := range n.seen.order {
		if !u.production() || slices.Contains(group, u) || n.files[u.key] || looked >= maxRunnerFiles {
			continue
		}
		for _, file := range u.paths {
			if looked++; namesIt(n.search(file), base) {
				return true
			}
		}
	}
	return n.seen.usedByProduction(p)
}

// namesIt reports whether a source has a name in a string or a path.
func namesIt(src []byte, name string) bool {
	for from := 0; ; {
		at := bytes.Index(src[from:], []byte(name))
		if at < 0 {
			return false
		}
		at += from
		end := at + len(name)
		if at > 0 && end < len(src) && strings.IndexByte("\"'`/ ", src[at-1]) >= 0 && strings.IndexByte("\"'`/", src[end]) >= 0 {
			return true
		}
		from = end
	}
}
