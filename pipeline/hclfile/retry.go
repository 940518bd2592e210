package hclfile

import (
	"github.com/async-pipeline/async-pipeline/pipeline"
)

// retry reads the retry block of a task.
func (r *reading) retry(b *block) pipeline.Retry { return pipeline.Retry{} }

// dotenv reads the names of a task's files of variables.
func (r *reading) dotenv(b *block) []string { return nil }
