package loopguard

// What makes two rounds the same: signatures of calls, digests of texts, and the two forms of a repetition.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

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
	tookTime = regexp.MustCompile(` after [0-9][0-9.a-zµ]*`)
	outputNo = regexp.MustCompile(`output:[0-9]+`)
)

// timeless returns a result without what differs between two runs of a command that gave the same: the time it took,
// in the first line, and the number under which its output is kept.
func timeless(s string) string {
	first, rest, _ := strings.Cut(s, "\n")
	return outputNo.ReplaceAllString(tookTime.ReplaceAllString(first, "")+"\n"+rest, "")
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

// consecutive reports whether the last n are the same. An n below 1 counts as 1.
func consecutive(list []string, n int) bool {
	n = max(n, 1)
	if len(list) < n {
		return false
	}
	last := list[len(list)-n:]
	return !slices.ContainsFunc(last, func(s string) bool { return s != last[0] })
}

// periodic reports whether the last 2n are at most n different ones, each at least twice. An n below 1 counts as 1.
func periodic(list []string, n int) bool { return periodicFor(list, n, 2*max(n, 1)) }

func periodicFor(list []string, n, window int) bool {
	n = max(n, 1)
	if len(list) < window {
		return false
	}
	count := map[string]int{}
	for _, s := range list[len(list)-window:] {
		count[s]++
	}
	if len(count) > n {
		return false
	}
	for _, times := range count {
		if times < 2 {
			return false
		}
	}
	return true
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
	if dec.Decode(&v) != nil {
		return string(args)
	}
	raw, err := json.Marshal(plain(v))
	if err != nil {
		return string(args)
	}
	return string(raw)
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
	for _, key := range []string{
		"url", "href", "query", "search", "pattern", "path", "filePath", "command", "cmd",
		"argv",
	} {
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

func Key(c model.Call) string { return c.Name + " " + sum(Canonical(c.Args)) }
