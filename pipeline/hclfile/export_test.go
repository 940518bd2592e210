package hclfile

import (
	"maps"
	"slices"
)

// Refused lists what the language has and this version has not.
func Refused() []string {
	all := slices.Collect(maps.Keys(laterRoots))
	var walk func(in []*word)
	walk = func(in []*word) {
		for _, w := range in {
			if w.later != "" {
				all = append(all, w.name)
			}
			walk(w.kinds)
			walk(w.inner)
		}
	}
	walk(language.inner)
	return all
}

// An Illustration is a file that shows a block, with all its attributes.
type Illustration struct {
	Block      string // its way from the top: task.retry
	File       string
	Attributes []Attribute
}

// Illustrations gives the example of every block.
func Illustrations() []Illustration {
	var all []Illustration
	var walk func(before string, in []*word)
	walk = func(before string, in []*word) {
		for _, w := range in {
			if w.later != "" || !w.block {
				continue
			}
			if w.kinds == nil {
				all = append(all, Illustration{before + w.name, w.example, describe(w).Attributes})
			}
			walk(before+w.name+".", w.kinds)
			walk(before+w.name+".", w.inner)
		}
	}
	walk("", language.inner)
	return all
}

// Sentence is sentence.
var Sentence = sentence

// TypeNames lists the types that the reference explains.
func TypeNames() []string {
	var all []string
	for _, t := range types {
		all = append(all, t.name)
	}
	return all
}
