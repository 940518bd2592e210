package main

import "github.com/async-pipeline/async-pipeline/pipeline"

// unquoted returns the arguments of a verb with the names of instances as records have them. A person types test:linux; a shell leaves
// test[linux] of test["linux"].
func unquoted(args []string) []string {
	whole := make([]string, len(args))
	for i, arg := range args {
		whole[i] = pipeline.RecordedName(arg)
	}
	return whole
}
