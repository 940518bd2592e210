package checkfile

// Manifests of lines: go.mod, requirements.txt, pnpm-workspace.yaml.

import "strings"

var goModMeaning = map[string]int{
	"replace": decides, "exclude": decides, "ignore": decides, "godebug": decides,
	"require": dependency, "go": dependency, "toolchain": dependency, "tool": dependency,
}

// splitGoMod splits go.mod. Source of the form: https://go.dev/ref/mod#go-mod-file-grammar
func splitGoMod(src string) ([]piece, bool) {
	var list []piece
	block, line := "", 0
	for text := range strings.Lines(src) {
		line++
		said, comment, _ := strings.Cut(text, "//")
		said = strings.Join(strings.Fields(said), " ")
		p := piece{section: block, text: text, line: line}
		switch {
		case said == "":
		case said == ")":
			block = ""
		case block == "" && strings.HasSuffix(said, "("):
			block = strings.TrimSpace(strings.TrimSuffix(said, "("))
		default:
			directive, rest := block, said
			if block == "" {
				directive, rest, _ = strings.Cut(said, " ")
			}
			what, _, _ := strings.Cut(rest, "=>")
			if directive == "require" || directive == "replace" {
				what, _, _ = strings.Cut(rest, " ") // the module, whichever version
			}
			p.name = directive
			if directive != "go" && directive != "toolchain" && directive != "module" {
				p.name += " " + strings.TrimSpace(what)
			}
			p.is = goModMeaning[directive]
			p.value = rest
			if p.is == decides {
				p.section, p.alone = "", directive+" "+rest+"\n"
			} else if strings.TrimSpace(comment) == "indirect" {
				p.value += " // indirect"
			}
		}
		list = append(list, p)
	}
	return list, block == ""
}

// splitRequirements splits a requirements file: options decide where packages come from.
func splitRequirements(src string) ([]piece, bool) {
	var list []piece
	line := 0
	for text := range strings.Lines(src) {
		line++
		said, _, _ := strings.Cut(strings.TrimSpace(text), " #")
		said = strings.TrimSpace(said)
		p := piece{text: text, line: line, value: said}
		switch {
		case said == "" || said[0] == '#':
		case said[0] == '-' || said[0] == '.' || said[0] == '/' || strings.HasSuffix(said, `\`):
			p.name, _, _ = strings.Cut(said, "=")
			p.is = decides
		default:
			end := strings.IndexAny(said, " <>=!~;[@")
			if end < 0 {
				end = len(said)
			}
			p.name, p.is = strings.ToLower(said[:end]), dependency
		}
		list = append(list, p)
	}
	return list, true
}

// splitWorkspace splits pnpm-workspace.yaml at its top keys: all but the list of packages and the catalogs are settings.
func splitWorkspace(src string) ([]piece, bool) {
	var list []piece
	line, entry := 0, -1
	seen := map[string]bool{}
	for text := range strings.Lines(src) {
		line++
		p := piece{text: text, line: line}
		switch trimmed := strings.TrimSpace(text); {
		case trimmed == "" || trimmed[0] == '#':
		case strings.HasPrefix(text, "---"):
			return nil, false
		case strings.IndexByte(" \t-", text[0]) < 0:
			name, value, ok := strings.Cut(trimmed, ":")
			if !ok || strings.ContainsAny(name, "{[&*!|>%@`") {
				return nil, false
			}
			p.name, p.value, p.is = strings.Trim(name, `"' `), strings.TrimSpace(value), decides
			switch p.name {
			case "packages":
				p.is = plain
			case "catalog", "catalogs":
				p.is = dependency
			}
			if seen[p.name] {
				return nil, false
			}
			seen[p.name] = true
			entry = len(list)
		case entry < 0:
			return nil, false
		default: // goes on
			p.name, p.is, p.value = list[entry].name, list[entry].is, strings.TrimRight(text, " \t\r\n")
		}
		list = append(list, p)
	}
	return list, true
}
