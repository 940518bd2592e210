package checkfile

// JSON manifests: package.json, composer.json, deno.json.

import (
	"encoding/json"
	"slices"
	"strings"
)

// What top keys of a manifest mean: first those that the check's runner, or the package manager for it, reads; then
// those that name dependencies.
var (
	nodeMeaning = meaningOf(`
		scripts imports jest mocha ava nyc c8 tap vitest karma babel overrides resolutions pnpm config
		eslintConfig eslintIgnore prettier stylelint lint-staged husky pre-commit xo standard standardx
		semistandard tsd wireit nx turbo size-limit commitlint cypress playwright jasmine swc ts-node testling
		remarkConfig simple-git-hooks pre-push cspell knip depcheck bundlewatch craco packageExtensions
		patchedDependencies`, `
		dependencies devDependencies peerDependencies optionalDependencies bundleDependencies
		bundledDependencies peerDependenciesMeta dependenciesMeta packageManager volta engines`)
	composerMeaning = meaningOf(
		"scripts config repositories autoload-dev minimum-stability", "require require-dev conflict replace provide")
	denoMeaning = meaningOf(
		"tasks test lint fmt bench compilerOptions nodeModulesDir vendor lock links patch", "imports")
)

// A member is one of a JSON object, with the places of its text.
type member struct {
	key   string
	lead  string // the text between the comma or bracket before it and the key
	text  string // of key and value
	value string
	from  int // where the text begins
}

// members returns those of the object that src[at] opens, and where it is closed. src must be valid.
func members(src string, at int) (list []member, closed int) {
	d := json.NewDecoder(strings.NewReader(src[at:]))
	_, _ = d.Token() // its bracket
	after := at + 1  // the bracket, or the value before
	for d.More() {
		from := after + strings.IndexByte(src[after:], '"')
		if comma := strings.IndexByte(src[after:from], ','); comma >= 0 {
			after += comma + 1
		}
		m := member{from: from, lead: src[after:from]}
		key, _ := d.Token()
		m.key, _ = key.(string)
		var value json.RawMessage
		_ = d.Decode(&value)
		after = at + int(d.InputOffset())
		m.text, m.value = src[from:after], string(value)
		list = append(list, m)
	}
	_, _ = d.Token()
	return list, at + int(d.InputOffset()) - 1
}

// object returns the members of the object that src is, and where its brackets are. ok is false for any other text,
// and for one with a key twice. An empty src is a file that is not there.
func object(src string) (list []member, open, closed int, ok bool) {
	if src == "" {
		return nil, 0, 0, true
	}
	if open = strings.IndexByte(src, '{'); open < 0 || strings.TrimLeft(src[:open], " \t\r\n") != "" ||
		!json.Valid([]byte(src)) {
		return nil, 0, 0, false
	}
	list, closed = members(src, open)
	return list, open, closed, !twice(list)
}

// twice reports whether a key is there twice.
func twice(list []member) bool {
	seen := map[string]bool{}
	for _, m := range list {
		if seen[m.key] {
			return true
		}
		seen[m.key] = true
	}
	return false
}

// jsonKind returns the kind of JSON manifests. They are restored by their top keys.
func jsonKind(means meaning) *manifestKind {
	return &manifestKind{
		split: func(src string) ([]piece, bool) { return splitJSON(src, means) },
		restore: func(base, after string, back map[string]bool) (string, bool) {
			keys := map[string]bool{}
			for name := range back {
				top, _, _ := strings.Cut(name, ".")
				keys[top] = true
			}
			return restoreJSON(base, after, keys)
		},
	}
}

// splitJSON splits at the top keys, and one level below for objects that are not part of production.
func splitJSON(src string, means meaning) ([]piece, bool) {
	top, _, _, ok := object(src)
	if !ok {
		return nil, false
	}
	var list []piece
	line, counted, names := 1, 0, 0
	add := func(name string, m member) {
		line += strings.Count(src[counted:m.from], "\n")
		counted = m.from
		list = append(list, piece{name: name, value: compact(m.value), line: line, is: means(name, false)})
	}
	for _, m := range top {
		if m.value[0] != '{' || means(m.key, true) == plain {
			add(m.key, m)
			continue
		}
		below, _ := members(src, m.from+len(m.text)-len(m.value))
		if twice(below) {
			return nil, false
		}
		if len(below) == 0 {
			add(m.key, m)
		}
		for _, b := range below {
			if names += len(m.key) + len(b.key); names > maxPieceText {
				return nil, false
			}
			add(m.key+"."+b.key, b)
		}
	}
	return list, true
}

// compact returns a JSON value without its formatting.
func compact(value string) string {
	var v any
	if json.Unmarshal([]byte(value), &v) != nil {
		return value
	}
	b, err := json.Marshal(v)
	if err != nil {
		return value
	}
	return string(b)
}

// restoreJSON returns after with the members of keys as base has them, and all else byte by byte.
func restoreJSON(base, after string, keys map[string]bool) (string, bool) {
	old, _, _, okOld := object(base)
	now, open, closed, okNow := object(after)
	if !okOld || !okNow || after == "" || len(old)+len(now) > maxRestored {
		return "", false
	}
	was := map[string]member{}
	for _, m := range old {
		was[m.key] = m
	}
	var out []member
	for _, m := range now {
		if keys[m.key] {
			o, ok := was[m.key]
			if !ok {
				continue
			}
			m.text = o.text
		}
		out = append(out, m)
	}
	has := func(key string) int { return slices.IndexFunc(out, func(m member) bool { return m.key == key }) }
	for i, m := range old {
		if !keys[m.key] || has(m.key) >= 0 {
			continue
		}
		at := 0
		for _, before := range old[:i] {
			if n := has(before.key); n >= 0 {
				at = n + 1
			}
		}
		out = slices.Insert(out, at, m)
	}
	var b strings.Builder
	b.WriteString(after[:open+1])
	for i, m := range out {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(m.lead + m.text)
	}
	tail := after[open+1 : closed]
	if len(now) > 0 {
		last := now[len(now)-1]
		tail = after[last.from+len(last.text) : closed]
	}
	b.WriteString(tail + after[closed:])
	return b.String(), true
}
