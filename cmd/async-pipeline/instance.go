package main

import (
	"strings"

	"github.com/async-pipeline/async-pipeline/pipeline"
)

// unquoted gives the arguments of a verb with the names of instances whole again: a shell takes the quotes out of
// test["linux"], and run knows test[linux] too.
func unquoted(args []string) []string {
	whole := make([]string, len(args))
	for i, arg := range args {
		whole[i] = arg
		base, rest, ok := strings.Cut(arg, "[")
		key, closed := strings.CutSuffix(rest, "]")
		if ok && closed && base != "" && key != "" && !strings.HasPrefix(key, `"`) {
			whole[i] = pipeline.InstanceName(base, key)
		}
	}
	return whole
}
