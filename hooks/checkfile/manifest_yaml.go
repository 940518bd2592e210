package checkfile

// pnpm-workspace.yaml.

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// splitWorkspace splits pnpm-workspace.yaml at its top keys: all but the list of packages and the catalogs are
// settings. It splits no file of several documents, with a key twice, in the form of JSON, or with an alias: a part
// of that may mean another one.
func splitWorkspace(src string) ([]piece, bool) {
	var file yaml.Node
	if err := yaml.Unmarshal([]byte(src), &file); err != nil || strings.HasPrefix(src, "%") ||
		strings.Contains("\n"+src, "\n---") || strings.Contains("\n"+src, "\n...") {
		return nil, false
	}
	lines := slices.Collect(strings.Lines(src))
	begins := map[int]string{} // the key that begins in a line
	if len(file.Content) > 0 {
		top := file.Content[0]
		if top.Kind != yaml.MappingNode || top.Style&yaml.FlowStyle != 0 || hasAlias(top) {
			return nil, false
		}
		for i := 0; i < len(top.Content); i += 2 {
			begins[top.Content[i].Line] = top.Content[i].Value
		}
		if len(begins)*2 != len(top.Content) {
			return nil, false
		}
	}
	var list []piece
	for i, text := range lines {
		if name, ok := begins[i+1]; ok || len(list) == 0 {
			list = append(list, piece{name: name, line: i + 1, is: workspaceMeaning(name)})
		}
		last := &list[len(list)-1]
		last.text += text
		last.value = strings.TrimSpace(last.text)
	}
	names := map[string]bool{}
	for _, name := range begins {
		names[name] = true
	}
	return list, len(names) == len(begins)
}

func workspaceMeaning(name string) int {
	switch name {
	case "", "packages":
		return plain
	case "catalog", "catalogs":
		return dependency
	}
	return decides
}

func hasAlias(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, hasAlias)
}
