package hclfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A block is one block of the file, checked against its word: only what the language has is in it.
type block struct {
	word   *word
	name   string    // its label
	at     hcl.Range // its type and label
	nameAt hcl.Range
	attrs  map[string]*hcl.Attribute
	blocks []*block // in file order
	faulty bool     // something in it was refused, so that what is missing may be what was meant

	misplaced []string // names that the table has, but not as a block, or not as an attribute
}

// A matcher compares the blocks of a file with the table of words.
type matcher struct{ *report }

// block matches a body with its word. It only sees bodies of the native syntax: JSON has become one before (json.go).
func (r *matcher) block(body hcl.Body, w *word) *block {
	b := &block{word: w, attrs: make(map[string]*hcl.Attribute)}
	native, ok := body.(*hclsyntax.Body)
	if !ok {
		return b
	}
	for _, a := range native.Attributes {
		b.attrs[a.Name] = a.AsHCLAttribute()
	}
	for _, a := range byPlace(b.attrs) {
		if !w.free && r.known(b, a.Name, a.NameRange, false) == nil {
			delete(b.attrs, a.Name)
		}
	}
	first := make(map[string]hcl.Range)
	for _, n := range native.Blocks {
		inner := r.known(b, n.Type, n.TypeRange, true)
		if inner == nil {
			continue
		}
		if at, ok := first[n.Type]; ok && inner.once {
			r.addf(n.TypeRange, fmt.Sprintf("The first is on line %d; write everything into that one.", at.Start.Line),
				"a second %s block", n.Type)
			continue
		}
		first[n.Type] = n.TypeRange
		if child := r.labelled(n, inner); child != nil {
			b.blocks = append(b.blocks, child)
		} else {
			b.faulty = true
		}
	}
	return b
}

// known returns the word for a name, or adds a fault and returns nil. A word that this version refuses is a fault
// too.
func (r *matcher) known(b *block, name string, at hcl.Range, isBlock bool) *word {
	w := find(b.word.inner, name)
	switch {
	case w == nil:
		r.unknown(b.word, name, at, isBlock)
	case w.later != "":
		r.addf(at, "Take it out.", "`%s` needs %s, which this version does not have", name, w.later)
	case w.block && !isBlock:
		r.addf(at, fmt.Sprintf("Write %s { … }, without the equals sign.", name), "%s is a block", name)
	case !w.block && isBlock:
		r.addf(at, fmt.Sprintf("Write %s = …, with an equals sign.", name), "%s is an attribute", name)
	default:
		return w
	}
	if w != nil {
		b.misplaced = append(b.misplaced, name)
	}
	b.faulty = true
	return nil
}

func (r *matcher) unknown(in *word, name string, at hcl.Range, isBlock bool) {
	what, where := "attribute", "at the top of the file"
	if isBlock {
		what = "block"
	}
	if in.name != "" {
		where = "in " + in.name
	}
	summary := fmt.Sprintf("there is no %s %q %s", what, name, where)
	one := find(in.inner, strings.TrimSuffix(name, "s"))
	plural := isBlock && one != nil && one.block // tasks is an attribute of job, but a block tasks is meant to be a task
	if way := whereIs(name); way != "" && way != in.name && !plural {
		r.add(at, summary, fmt.Sprintf("It belongs in %s.", way))
		return
	}
	otherwise := ""
	if len(in.inner) > 0 {
		otherwise = "There are: " + strings.Join(names(in.inner), ", ") + "."
	} else if in.free {
		otherwise = "Only attributes, NAME = VALUE, are allowed here."
	}
	r.wrongWord(at, summary, name, names(in.inner), otherwise)
}

// labelled matches a block whose labels are as its word wants them, or adds a fault and returns nil.
func (r *matcher) labelled(n *hclsyntax.Block, w *word) *block {
	label := w.label
	if w.kinds != nil {
		label = "KIND"
	}
	switch {
	case label == "" && len(n.Labels) > 0:
		r.addf(n.LabelRanges[0], fmt.Sprintf("Write %s { … }.", n.Type), "%s has no name", n.Type)
		return nil
	case label != "" && len(n.Labels) == 0 && w.kinds != nil:
		r.addf(n.TypeRange, "Write "+either(n.Type, w.kinds)+".", "%s does not say of what kind it is", n.Type)
		return nil
	case label == "PATH" && len(n.Labels) == 0:
		r.addf(n.TypeRange, fmt.Sprintf("Write %s %q { … }.", n.Type, "services/api/"+Name), "this %s names no file", n.Type)
		return nil
	case label != "" && len(n.Labels) == 0:
		r.addf(n.TypeRange, fmt.Sprintf("Write %s %q { … }.", n.Type, "name"), "this %s has no name", n.Type)
		return nil
	case len(n.Labels) > 1:
		r.addf(n.LabelRanges[1], "Take the others out.", "%s has one name only", n.Type)
		return nil
	}
	inner := w
	if w.kinds != nil {
		if inner = find(w.kinds, n.Labels[0]); inner == nil {
			r.wrongWord(n.LabelRanges[0], fmt.Sprintf("there is no %s %q", n.Type, n.Labels[0]), n.Labels[0],
				names(w.kinds),
				"Write "+either(n.Type, w.kinds)+".")
			return nil
		}
	}
	b := r.block(n.Body, inner)
	b.at = n.DefRange()
	if len(n.Labels) > 0 {
		b.name, b.nameAt = n.Labels[0], n.LabelRanges[0]
	}
	return b
}

func either(name string, kinds []*word) string {
	var all []string
	for _, k := range kinds {
		all = append(all, fmt.Sprintf("%s %q", name, k.name))
	}
	return strings.Join(all, " or ")
}

// of returns the inner blocks of one kind.
func (b *block) of(name string) []*block {
	var some []*block
	for _, c := range b.blocks {
		if c.word.name == name {
			some = append(some, c)
		}
	}
	return some
}

// byPlace returns attributes in the order of the file.
func byPlace(attrs map[string]*hcl.Attribute) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(a, b *hcl.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Byte, b.NameRange.Start.Byte)
	})
}
