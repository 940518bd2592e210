package detect

import yamllib "go.yaml.in/yaml/v4"

// readYAML returns what is under a key at the top of a YAML file of the folder, or nil. It adds a note for a file that cannot
// be read. Aliases are not followed, so none can grow.
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
