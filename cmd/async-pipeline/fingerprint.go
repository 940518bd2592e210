package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/async-pipeline/async-pipeline/internal/redact"
	"github.com/async-pipeline/async-pipeline/pipeline"
	"github.com/async-pipeline/async-pipeline/pipeline/record"
)

// nodes are the selected tasks for graph.json.
func nodes(g *pipeline.Graph, secrets *redact.Set) ([]record.Node, error) {
	var list []record.Node
	for _, t := range g.Tasks() {
		print, err := fingerprint(t, secrets)
		if err != nil {
			return nil, err
		}
		list = append(list, record.Node{Name: t.Name, DependsOn: append([]string{}, g.DependsOn(t.Name)...), Fingerprint: print})
	}
	return list, nil
}

// fingerprint is a digest of a task as written: all that it does, not where it stands in the file, and no secret value,
// which a digest could be made to tell.
func fingerprint(t *pipeline.Task, secrets *redact.Set) (string, error) {
	at := *t
	at.Pos = pipeline.Pos{}
	at.OnFail = append([]pipeline.Hook{}, t.OnFail...)
	for i := range at.OnFail {
		at.OnFail[i].Pos = pipeline.Pos{}
	}
	b, err := json.Marshal(at)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(secrets.Bytes(b))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
