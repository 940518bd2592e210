package loopguard

// What makes two rounds the same: signatures of calls, digests of texts, and the two forms of a repetition.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/async-pipeline/async-pipeline/internal/lazily"
	"github.com/async-pipeline/async-pipeline/internal/model"
)

// signature returns the calls of a round without their order. Two long arguments of one beginning and one length
// still differ.
func signature(r Round) string {
	parts := make([]string, len(r.Calls))
	for i, c := range r.Calls {
		parts[i] = c.Name + ":" + short(c.Args)
	}
	slices.Sort(parts)
	return strings.Join(parts, "|")
}

func short(args string) string {
	if len(args) <= 128 {
		return args
	}
	return fmt.Sprintf("%s…%d:%s", args[:64], len(args), sum(args))
}

// outputs returns the results of a round's calls.
func outputs(r Round) string {
	parts := make([]string, len(r.Calls))
	for i, c := range r.Calls {
		parts[i] = fmt.Sprintf("%s:%s:%v:%s", c.Name, short(c.Args), c.Code.Failed(), sum(timeless(c.Result)))
	}
	slices.Sort(parts)
	return sum(strings.Join(parts, "|"))
}

var (
	tookTime = lazily.Regexp(` after [0-9][0-9.a-zµ]*`)
	outputNo = lazily.Regexp(`output:[0-9]+`)
	fleeting = lazily.Regexp(`[0-9]+(?:\.[0-9]+)? ?(?:ns|µs|us|ms|s|sec|seconds?|min|minutes?)\b|` +
		`[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?|[0-9]{6,}|\b(?:0x)?[0-9a-f]{7,}\b`)
)

// timeless returns a result without what differs between two runs of a command that gave the same: the time it took,
// in the first line, and the number under which its output is kept.
func timeless(s string) string {
	first, rest, _ := strings.Cut(s, "\n")
	return outputNo().ReplaceAllString(tookTime().ReplaceAllString(first, "")+"\n"+rest, "")
}

// failurePrint is the same for results of failures that differ only in durations, times of day, and long numbers and ids, as
// temporary folders have them. Short numbers may show that a command gets further.
func failurePrint(s string) string {
	return sum(outputNo().ReplaceAllString(fleeting().ReplaceAllString(s, "#"), ""))
}

// textPrint is the same for texts that differ only in case, in space, and after their first 500 characters.
func textPrint(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if unicode.IsSpace(r) {
			continue
		}
		b.WriteRune(unicode.ToLower(r))
		if n++; n == 500 {
			break
		}
	}
	return sum(b.String())
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// consecutive reports whether the last n are the same.
func consecutive(list []string, n int) bool {
	return len(list) >= n && len(slices.Compact(slices.Clone(list[len(list)-n:]))) == 1
}

// periodic reports whether the last window are at most n different ones, each at least twice.
func periodic(list []string, n, window int) bool {
	if len(list) < window {
		return false
	}
	count := map[string]int{}
	for _, s := range list[len(list)-window:] {
		count[s]++
	}
	once := slices.Contains(slices.Collect(maps.Values(count)), 1)
	return len(count) <= n && !once
}

func lastOf(list []string, n int) []string {
	if len(list) > n {
		return slices.Clone(list[len(list)-n:])
	}
	return list
}

// Canonical returns arguments as JSON with sorted keys and trimmed strings, without fields that only name a request.
// What is not JSON is kept.
func Canonical(args json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	err := dec.Decode(&v)
	if raw, wrong := json.Marshal(plain(v)); err == nil && wrong == nil {
		return string(raw)
	}
	return string(args)
}

func plain(v any) any {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			switch strings.ToLower(strings.ReplaceAll(key, "_", "")) {
			case "requestid", "traceid", "nonce":
				delete(v, key)
				continue
			}
			v[key] = plain(v[key])
		}
	}
	return v
}

// Target returns the first argument that names what a call is about.
func Target(args json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(args, &fields) != nil {
		return ""
	}
	for _, key := range strings.Fields("url href query search pattern path filePath command cmd argv") {
		switch v := fields[key].(type) {
		case string:
			if v = strings.TrimSpace(v); v != "" {
				return v
			}
		case []any:
			if len(v) > 0 {
				return fmt.Sprintf("%q", v)
			}
		}
	}
	return ""
}

// Key returns the same for calls of one tool with the same arguments.
func Key(c model.Call) string { return c.Name + " " + sum(Canonical(c.Args)) }
