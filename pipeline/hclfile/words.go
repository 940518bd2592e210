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
	free    bool    // any attribute may stand inside
	kinds   []*word // the blocks that its label chooses from
	inner   []*word
	example string // a whole file that has all of its attributes

	must  bool     // the block around it cannot be without it
	with  string   // the attribute beside which alone it may stand, and must if it must; empty: it stands by itself
	oneOf []string // of it and these attributes exactly one must stand
	later string   // what it needs that this version does not have; such a word is refused
}

// laterRoots are the values of the language that this version refuses.
var laterRoots = map[string]string{
	"run": "values of the run",
}

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
