//go:build !linux

package watch

func silent(string) string { return "" }
