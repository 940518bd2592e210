package hclfile

// A word is one attribute or block of the language. The table in language.go is the only list of them: decoding,
// suggestions, refusals, Words, Language and Reference all read it. To add an attribute, add its word to the table
// and to the example of its block, a field to package pipeline, and a line to the decoder of the block; tests compare
// the table with the examples and the documentation.
type word struct {
	name  string
	doc   string // what it is for, in one sentence or a few
	block bool

	// Of an attribute.
	typ string // of its value, in words of the language: see types; in JSON it says which texts are references
	def string // its default as it would be written, or ""

	// Of a block.
	label   string  // what its label is, or ""
	once    bool    // a second one in the same place is a fault
	free    bool    // any attribute is allowed inside
	kinds   []*word // the blocks that its label chooses from
	inner   []*word
	example string // a whole file that has all of its attributes

	must  bool     // the block around it cannot be without it
	with  []string // the attributes that it belongs to: without one of them it is refused, and must is checked with the first
	oneOf []string // exactly one of it and these attributes or blocks must be written
	later string   // what it needs that this version does not have; such a word is refused
}

// inputsType is the type of inputs.
const inputsType = "list(glob) or auto"

// laterRoots are the values of the language that this version refuses.
var laterRoots = map[string]string{"run": "values of the run"}

// Words lists every attribute and block that is accepted, each with its way from the top of the file, such as
// "task.on_fail.agent.budget.attempts". What is refused by name is not in it.
func Words() []string {
	var all []string
	var walk func(before string, in []*word)
	walk = func(before string, in []*word) {
		for _, w := range in {
			if w.later != "" {
				continue
			}
			all = append(all, before+w.name)
			walk(before+w.name+".", w.kinds)
			walk(before+w.name+".", w.inner)
		}
	}
	walk("", language.inner)
	return all
}

// find returns the word of that name, or nil.
func find(in []*word, name string) *word {
	for _, w := range in {
		if w.name == name {
			return w
		}
	}
	return nil
}

// names lists words for a suggestion, without those that this version refuses.
func names(in []*word) []string {
	var all []string
	for _, w := range in {
		if w.later == "" {
			all = append(all, w.name)
		}
	}
	return all
}

// whereIs returns the way to a block that contains the word, for words in the wrong place, or "".
func whereIs(name string) string {
	var look func(way string, in []*word) string
	look = func(way string, in []*word) string {
		for _, w := range in {
			if w.name == name && way != "" {
				return way
			}
			next := w.name
			if way != "" {
				next = way + " → " + w.name
			}
			if at := look(next, w.kinds); at != "" {
				return at
			}
			if at := look(next, w.inner); at != "" {
				return at
			}
		}
		return ""
	}
	return look("", language.inner)
}

// A Schema describes one block of the language for editors and the reference page. It is generated from the decoder's
// own table.
type Schema struct {
	Name          string      `json:"name"`            // empty for the whole file
	Label         string      `json:"label,omitempty"` // what the block's label is: NAME, or the kind that is described, as it is written: "agent"
	Doc           string      `json:"doc"`
	Required      bool        `json:"required"` // the block around it cannot be without it
	Repeats       bool        `json:"repeats"`  // more than one is allowed in the same place
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

	With  []string `json:"with,omitempty"`   // it is allowed with these attributes only; Required applies to the first
	OneOf []string `json:"one_of,omitempty"` // exactly one of these attributes or blocks and this one must be written
}

// Language is the schema of PIPELINE.hcl, without the words that this version refuses.
func Language() Schema {
	s := describe(&language)
	s.Doc = "A pipeline: " + Name + "."
	return s
}

func describe(w *word) Schema {
	s := Schema{
		Name: w.name, Label: w.label, Doc: w.doc, Required: w.must, Repeats: w.name != "" && !w.once,
		AnyAttributes: w.free,
		Attributes:    []Attribute{}, Blocks: []Schema{},
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
