package rules

import "github.com/async-pipeline/async-pipeline/internal/redact"

// secrets are the forms of keys and tokens.
var secrets = keyRules()

func keyRules() (all []Rule) {
	for _, f := range redact.KeyForms {
		all = append(all, Rule{
			ID: "secret/" + f.ID, Kind: Secret, In: Everywhere, On: Line, Say: "looks like " + f.Like,
			Pattern: f.Pattern,
			Match:   []string{f.Match}, NoMatch: []string{f.NoMatch},
		})
	}
	return all
}
