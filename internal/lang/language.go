// Package lang tells what a source looks like: its language, what of it is code, a string or a comment, what it imports, and how tests
// are called.
package lang

// What a file of the report is written in.

import (
	"path"
	"slices"
	"strings"
)

// isCode says whether a language is one of programs.
func IsCode(lang string) bool {
	switch lang {
	case "", "yaml", "json", "toml", "ini", "hcl", "make", "docker":
		return false
	}
	return true
}

// kindOf is the language of a text, by its name, else by its first line.
func KindOf(p, text string) string {
	base, ext := path.Base(p), strings.ToLower(path.Ext(p))
	switch lang := Language(p); lang {
	case "":
	case "other":
		return others[ext]
	default:
		return lang
	}
	lower := strings.ToLower(base)
	switch ext {
	case ".yml", ".yaml":
		return "yaml"
	case ".json", ".jsonc", ".json5":
		return "json"
	case ".toml":
		return "toml"
	case ".ini", ".cfg", ".conf", ".properties":
		return "ini"
	case ".mk", ".mak":
		return "make"
	case ".hcl", ".tf":
		return "hcl"
	case ".zsh", ".ksh", ".envrc", ".bashrc", ".profile", ".zshrc", ".bash_profile":
		return "shell"
	case ".kts", ".gradle":
		return "jvm"
	case ".pth", ".pyx":
		return "py"
	}
	switch {
	case slices.Contains([]string{"makefile", "gnumakefile", "bsdmakefile"}, lower) || strings.HasPrefix(lower, "makefile."):
		return "make"
	case lower == "dockerfile" || strings.HasPrefix(lower, "dockerfile.") || lower == "containerfile":
		return "docker"
	case strings.HasPrefix(lower, ".env") || lower == ".npmrc":
		return "ini"
	case lower == "go.mod" || lower == "go.work":
		return "gomod"
	}
	if line, ok := strings.CutPrefix(text[:min(len(text), 200)], "#!"); ok {
		line, _, _ = strings.Cut(line, "\n")
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == '/' || r == ' ' || r == '\t' || r == '\r' }) {
			switch strings.TrimRight(word, "0123456789.") {
			case "sh", "bash", "dash", "zsh", "ksh", "ash":
				return "shell"
			case "python", "pypy":
				return "py"
			case "node", "deno", "bun", "tsx":
				return "web"
			case "ruby":
				return "ruby"
			case "make":
				return "make"
			}
		}
	}
	return ""
}

// others are the comments of languages that are not looked into further.
var others = map[string]string{
	".cs": "c", ".swift": "c", ".dart": "c", ".ex": "hash", ".exs": "hash", ".r": "hash", ".jl": "hash", ".pl": "hash", ".pm": "hash", ".t": "hash",
	".lua": "dash", ".hs": "dash", ".clj": "lisp", ".erl": "percent",
}
