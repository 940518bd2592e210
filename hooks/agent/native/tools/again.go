package tools

// Calls of an older turn, carried out again in a new copy of the same base.

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/async-pipeline/async-pipeline/internal/model"
)

// Again carries out a call of an older turn that succeeded on the file at, below the top. A write need not follow a
// read: because it succeeded, the model was shown the file then.
func (w *Toolset) Again(ctx context.Context, c model.Call, at string) Outcome {
	if c.Name == toolWrite.name {
		if old, info, err := w.existing(at); err == nil && info != nil {
			w.know(at, sha256.Sum256(old))
		}
	}
	c.Args = w.moved(c.Args, at)
	return w.Call(ctx, c)
}

// moved returns arguments whose absolute path leads into this copy instead of the older one. Where the top of that
// copy was follows from the path and the file at, to which it led.
func (w *Toolset) moved(raw json.RawMessage, at string) json.RawMessage {
	given, err := members(raw)
	p, ok := str(given["path"])
	if err != nil || !ok || !filepath.IsAbs(p) {
		return raw
	}
	if _, ok := w.inCopy(p); ok {
		return raw
	}
	if top, ok := strings.CutSuffix(filepath.Clean(p), "/"+at); ok && !slices.Contains(w.tops, top) {
		w.tops = append(w.tops, top)
	}
	for _, top := range w.tops {
		rel, err := filepath.Rel(top, p)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		with := maps.Clone(given)
		with["path"] = must(json.Marshal(filepath.Join(w.top, rel)))
		return must(json.Marshal(with))
	}
	return raw
}
