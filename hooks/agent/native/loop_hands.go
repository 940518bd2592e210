package native

import (
	"context"

	"github.com/async-pipeline/async-pipeline/hooks/agent"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// realHands are the tools on the copy of a request.
func realHands(r agent.Request) (hands, error) {
	w, err := newWork(&r)
	if err != nil {
		return hands{}, err
	}
	h := hands{
		effect:  w.effectOf,
		call:    func(ctx context.Context, c model.Call) outcome { return w.call(ctx, c) },
		invalid: w.invalid,
		early: func() refusing {
			e := &early{w: w}
			return func(before []model.Call, name, args string) (string, bool) {
				if _, ok := firstPath(args); !ok {
					return "", false
				}
				o, _ := e.refuse(before, name, args)
				return o.text, true
			}
		},
		close:    func() { _ = w.close() }, // of a folder that was only read through
		commands: w.commands,
	}
	for _, t := range tools(r.ReadOnly) {
		h.specs = append(h.specs, t.spec)
	}
	return h, nil
}
