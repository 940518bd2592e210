package hclfile

// Format gives src, a PIPELINE.hcl, in canonical form; what it says is not changed. The error is a pipeline.Errors with the
// faults of its syntax: what cannot be read is not formatted.
func Format(path string, src []byte) ([]byte, error) { panic("door") }
