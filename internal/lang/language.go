// Package lang describes programming languages: their files, comments and strings, imports, and what they call tests.
// A language is one value in a file of its own; all has the list.
package lang

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Language describes the sources of one language. Extensions and names are in lower case.
type Language struct {
	Name     string
	Exts     []string // of its files; their imports are read
	Also     []string // more extensions, of files whose imports are not read
	Files    []string // files without such an extension: patterns of path.Match
	Programs []string // its interpreters, as a #! line names them, without a version
	Settings bool     // it configures programs: a change of it is no change of a program's code
	Syntax   Syntax

	Tests       []string // names of its tests, with or without extension: patterns of path.Match
	TestFolders []string // folders that hold its tests, besides those of every language
	NoTests     string   // a folder in which no runner searches for tests, "src/main"
	SrcTest     bool     // src/test may be production: a command called test

	// Imports returns the files of the tree that the source at p imports, as far as simple scanning finds them, and
	// whether one of its imports is a library for tests.
	Imports     func(l *Language, ix *Index, p string, src []byte) (files []string, testing bool)
	TestLibrary func() *regexp.Regexp // matches a source that imports a library for tests
	HasTest     func() *regexp.Regexp // matches a source that has a test: others only have the name of one
	Unit        func(p string) string // returns the name of what is imported as one, where that is not a file
	BareWords   bool                  // words without quotes may be names of files
}

// all lists the languages. Where two claim a name, the first has it.
var all = slices.Concat([]*Language{
	&golang, &python, &javascript, &c, &shell, &perl, &ruby, &jvm, &php, &rust, &assembly,
	&makefile, &docker, &yaml, &json, &toml, &ini, &hcl, &gomod,
}, others)

// index finds languages by the extension of a file, the name of an interpreter, and their own name.
var index = sync.OnceValue(func() (x struct{ read, seen, program, name map[string]*Language }) {
	x.read, x.seen, x.program, x.name = map[string]*Language{}, map[string]*Language{}, map[string]*Language{},
		map[string]*Language{}
	for _, l := range all {
		x.name[l.Name] = l
		for _, ext := range l.Exts {
			x.seen[ext] = l
			if !l.Settings {
				x.read[ext] = l
			}
		}
		for _, ext := range l.Also {
			x.seen[ext] = l
		}
		for _, program := range l.Programs {
			x.program[program] = l
		}
	}
	return x
})

// ByPath returns the name of the programming language of a file whose imports can be read, "" for others. It goes by
// the extension alone.
func ByPath(p string) string { return source(p).Name }

// Of returns the name of the language that a text is written in, "" where it is unknown. It goes by the name of the
// file, then by its #! line.
func Of(p, text string) string {
	base := strings.ToLower(path.Base(p))
	if l := index().seen[path.Ext(base)]; l != nil {
		return l.Name
	}
	for _, l := range all {
		if slices.ContainsFunc(l.Files, func(pattern string) bool { return Matches(pattern, base) }) {
			return l.Name
		}
	}
	if line, ok := strings.CutPrefix(text[:min(len(text), 200)], "#!"); ok {
		line, _, _ = strings.Cut(line, "\n")
		for _, word := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune("/ \t\r", c) }) {
			if l := index().program[strings.TrimRight(word, "0123456789.")]; l != nil {
				return l.Name
			}
		}
	}
	return ""
}

// IsCode reports whether a language is one of programs, not of settings.
func IsCode(language string) bool {
	l := index().name[language]
	return l != nil && !l.Settings
}

// source returns the language of a file whose imports can be read; the zero value for others.
func source(p string) *Language {
	return cmp.Or(index().read[strings.ToLower(path.Ext(p))], &unknown)
}

var unknown Language

// Unit returns the name of what p is imported as a part of: p itself, or the Go package, or the C source of a header.
func Unit(p string) string {
	if l := source(p); l.Unit != nil {
		return l.Unit(p)
	}
	return p
}

// Imports returns the files of the tree that the source at p imports, and whether it imports a library for tests.
// What simple scanning cannot resolve is left out.
func Imports(ix *Index, p string, src []byte) (files []string, testing bool) {
	l := source(p)
	if l.Imports != nil {
		files, testing = l.Imports(l, ix, p, src)
	}
	return files, testing || l.TestLibrary != nil && l.TestLibrary().Match(src)
}

// HasTest reports whether a source that is called like a test may be one.
func HasTest(p string, src []byte) bool {
	l := source(p)
	return l.HasTest == nil || l.HasTest().Match(src)
}

// BareWords reports whether words without quotes may be names of files in the source at p, as in a shell.
func BareWords(p string) bool { return source(p).BareWords }
