package detect

import (
	"strings"

	tomllib "github.com/pelletier/go-toml/v2"
	yamllib "go.yaml.in/yaml/v4"
)

// maxTOML is the longest TOML file that is read, in bytes: the parser takes half a second for the worst file of
// this size, and half a minute for one of 1 MiB.
const maxTOML = 128 << 10

// A toml is a TOML file. Its keys are named by their way from the top: "tool.poetry.name".
type toml map[string]any

// readTOML reads a file of the folder. A file that is missing or cannot be read is empty; for the latter it adds a
// note.
func (d *detector) readTOML(f *folder, name string) toml {
	text := d.read(f, name)
	if len(text) > maxTOML {
		d.note("%s: not read: it is too long", at(f.path, name))
		return nil
	}
	var t toml
	if err := tomllib.Unmarshal([]byte(text), &t); err != nil {
		d.note("%s: not read: it is not valid TOML", at(f.path, name))
		return nil
	}
	return t
}

// find returns the value of a key, or nil.
func (t toml) find(name string) any {
	first, rest, deeper := strings.Cut(name, ".")
	if !deeper {
		return t[first]
	}
	inner, _ := t[first].(map[string]any)
	return toml(inner).find(rest)
}

// has reports whether there is a table or key of that name.
func (t toml) has(name string) bool { return t.find(name) != nil }

// text returns the text of a key, or "".
func (t toml) text(name string) string {
	s, _ := t.find(name).(string)
	return s
}

// texts returns the texts of a list.
func (t toml) texts(name string) []string {
	list, _ := t.find(name).([]any)
	var all []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// readYAML returns what is under a key at the top of a YAML file of the folder, or nil. It adds a note for a file
// that cannot be read. Aliases are not followed, so none can grow.
func (d *detector) readYAML(f *folder, name, key string) *yamllib.Node {
	var file yamllib.Node
	if err := yamllib.Unmarshal([]byte(d.read(f, name)), &file); err != nil {
		d.note("%s: not read: it is not valid YAML", at(f.path, name))
		return nil
	}
	if len(file.Content) == 0 {
		return nil
	}
	return yamlValue(file.Content[0], key)
}

// yamlValue returns the value of a key of a map, or nil.
func yamlValue(n *yamllib.Node, key string) *yamllib.Node {
	if n == nil || n.Kind != yamllib.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// yamlTexts returns the texts of a list; a text alone is a list of one.
func yamlTexts(n *yamllib.Node) []string {
	switch {
	case n == nil:
		return nil
	case n.Kind == yamllib.ScalarNode && n.Value != "":
		return []string{n.Value}
	case n.Kind != yamllib.SequenceNode:
		return nil
	}
	var all []string
	for _, e := range n.Content {
		if e.Kind == yamllib.ScalarNode && e.Value != "" {
			all = append(all, e.Value)
		}
	}
	return all
}
