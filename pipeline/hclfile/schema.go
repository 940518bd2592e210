package hclfile

// A Schema describes one block of the language for editors and the reference page. It is generated from the decoder's
// own table.
type Schema struct {
	Name          string      `json:"name"`            // empty for the whole file
	Label         string      `json:"label,omitempty"` // what the block's label is: NAME, or the kind that is described, as it is written: "agent"
	Doc           string      `json:"doc"`
	Required      bool        `json:"required"` // the block around it cannot be without it
	Repeats       bool        `json:"repeats"`  // more than one may stand in the same place
	AnyAttributes bool        `json:"any_attributes,omitempty"`
	Attributes    []Attribute `json:"attributes"`
	Blocks        []Schema    `json:"blocks"`
}

// An Attribute is one NAME = VALUE.
type Attribute struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // in words of the language: string, number, bool, duration, list(string), list(task), …
	Required bool   `json:"required"`
	Default  string `json:"default,omitempty"` // as it would be written
	Doc      string `json:"doc"`

	With  string   `json:"with,omitempty"`   // it may stand beside this attribute only; Required holds there
	OneOf []string `json:"one_of,omitempty"` // exactly one of these attributes and this one must stand
}

// Language is the schema of PIPELINE.hcl, without the words that this version refuses.
func Language() Schema {
	s := describe(&language)
	s.Doc = "A pipeline: " + Name + "."
	return s
}

func describe(w *word) Schema {
	s := Schema{
		Name: w.name, Label: w.label, Doc: w.doc, Required: w.must, Repeats: w.name != "" && !w.once, AnyAttributes: w.free,
		Attributes: []Attribute{}, Blocks: []Schema{},
	}
	for _, i := range w.inner {
		switch {
		case i.later != "":
		case !i.block:
			s.Attributes = append(s.Attributes, Attribute{i.name, i.typ, i.must, i.def, i.doc, i.with, i.oneOf})
		case i.kinds != nil:
			for _, kind := range i.kinds {
				k := describe(kind)
				k.Name, k.Label = i.name, `"`+kind.name+`"`
				s.Blocks = append(s.Blocks, k)
			}
		default:
			s.Blocks = append(s.Blocks, describe(i))
		}
	}
	return s
}
