package testreport

import (
	"path"
	"strings"
)

// PlainWords returns the words of the text of a shell that is one plain command; nil for another.
func PlainWords(shell string) []string {
	if !plainShell().MatchString(shell) {
		return nil
	}
	return strings.Fields(shell)
}

// AskNames returns the option that makes the runner of a command name each test, and where in argv it goes; "" where
// no such runner is known. pytest reads an environment variable, and go test is asked by AskGo.
func AskNames(argv []string) (at int, option string) {
	for i, word := range argv {
		switch name := path.Base(word); {
		case word == "unittest" && i > 0 && argv[i-1] == "-m":
			if i+1 < len(argv) && argv[i+1] == "discover" {
				return i + 2, "-v" // it is a command, and only the first argument can be one
			}
			return i + 1, "-v"
		case name == "jest":
			return i + 1, "--verbose"
		case name == "vitest":
			return len(argv), "--reporter=verbose"
		case name == "prove":
			return i + 1, "-v"
		}
	}
	return 0, ""
}
