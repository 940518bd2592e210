package policy

import (
	"maps"
	"sync"
)

// A program is what is known of a program's arguments, or of those of one of its subcommands. Lists are separated by spaces; a
// flag that takes a value ends in =. A flag that is not listed is let through, and the word behind it may be its value.
type program struct {
	whole bool // a flag is one word behind one dash or two, no bundle of letters
	exact bool // long flags cannot be cut short
	camel bool // --global-setup is --globalSetup
	fold  bool // small and capital letters are the same
	loose bool // one dash before a long flag does as well

	clustered bool // the first word may be letters without a dash

	starts  string // flags, see effect
	early   string // the same, but only before the first word that is no flag
	module  string // the same, and their value is a program that what follows is for
	loads   string
	scripts string
	writes  string
	changes string
	takes   string // further flags that take a value
	alone   string // further flags that take none

	words    string             // subcommands that start a program or keep settings that do
	only     string             // all subcommands that do not
	below    map[string]program // what is known of a subcommand besides
	first    place              // what the first word that is no flag is
	skip     int                // words that stand before it
	vars     bool               // NAME=VALUE may stand before it
	stops    bool               // flags behind it are not the program's own
	files    bool               // words that are no flags are files to write
	operands string             // NAME=FILE writes a file
	assigns  bool               // NAME=VALUE sets what is put into commands
	expr     string             // what starts a program wherever it stands
	ends     string             // what stands behind it is not the program's own,
	then     string             // but this one's, where that is known
}

// programs is the table, by name.
var programs = sync.OnceValue(func() map[string]program {
	all := map[string]program{}
	for _, part := range []func() map[string]program{languages, builders, packagers, checkers, tools, wrappers} {
		maps.Copy(all, part())
	}
	return all
})

// others are further names of the same.
var others = map[string]string{
	"nodejs": "node", "pypy": "python", "luajit": "lua", "gcc": "cc", "g++": "cc", "c++": "cc", "clang": "cc", "clang++": "cc", "tcc": "cc", "cpp": "cc",
	"gradlew": "gradle", "mvnw": "mvn", "fdfind": "fd", "bsdtar": "tar", "yarnpkg": "yarn", "bunx": "npx", "pnpx": "npx", "uvx": "npx", "pipx": "pip",
	"py.test": "pytest", "mawk": "awk", "nawk": "awk", "gawk": "awk", "original-awk": "awk", "cp": "tee", "mv": "tee", "ln": "tee", "rm": "tee", "rmdir": "tee",
	"touch": "tee", "mkdir": "tee", "truncate": "tee", "install": "tee", "shred": "tee", "unlink": "tee", "chmod": "tee", "chown": "tee", "poetry": "pipenv",
	"pdm": "pipenv", "hatch": "pipenv", "rye": "pipenv", "tsx": "node", "ts-node": "node", "ninja-build": "ninja", "prettier": "eslint",
	"stylelint": "eslint", "cmake3": "cmake", "pdflatex": "latex", "xelatex": "latex", "lualatex": "latex", "latexmk": "latex", "tofu": "terraform", "nm": "ld", "ar": "ld", "objdump": "ld", "msbuild": "dotnet", "clang-check": "clang-tidy", "javac": "java", "kotlinc": "java",
}

// programOf is what is known of a program.
func programOf(name string) (program, bool) {
	for _, n := range names(name) {
		if p, ok := programs()[n]; ok {
			return p, true
		}
		if p, ok := programs()[others[n]]; ok {
			return p, true
		}
	}
	return program{}, false
}
