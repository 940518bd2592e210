// Package report writes what a run was in the formats of other tools. It reads nothing and writes nothing by itself.
package report
