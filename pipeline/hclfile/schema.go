package hclfile

// A Schema is one block of the language as editors and the reference page are told of it: generated from the decoder's own
// table, so what it says is what is read.
type Schema struct {
	Name       string      `json:"name"`            // empty for the whole file
	Label      string      `json:"label,omitempty"` // what the block's label is: NAME, or one of its kinds
	Doc        string      `json:"doc"`
	Repeats    bool        `json:"repeats"` // more than one may stand in the same place
	Attributes []Attribute `json:"attributes"`
	Blocks     []Schema    `json:"blocks"`
}

// An Attribute is one NAME = VALUE.
type Attribute struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // in words of the language: string, number, bool, duration, list(string), list(task), …
	Required bool   `json:"required"`
	Default  string `json:"default,omitempty"` // as it would be written
	Doc      string `json:"doc"`
}

// Language is the schema of PIPELINE.hcl, without the words that this version refuses.
func Language() Schema { panic("door") }

// Reference is docs/language.md, made of the same table.
func Reference() []byte { panic("door") }
