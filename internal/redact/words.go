package redact

// Short values, which are only removed where they are words by themselves: as a part of a word, such as of a digest,
// they are most likely something else.

import (
	"bytes"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// minPart is the length of the shortest value, in bytes, that is also removed inside a word and in encodings.
const minPart = 6

// common are texts that passwords are made of and that are also in nearly any text: without them little could be read
// or proposed. A short one is never removed, and a longer one only if it was declared as a secret.
var common = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(`
		true false null none nil undefined yes enabled disabled default auto always never optional required
		string number text value name user users username login email host hostname localhost server client
		root admin administrator guest anonymous nobody public private read write test tests testing demo example
		sample dummy fake mock changeme change_me placeholder todo xxxx xxxxx xxxxxx redacted
		pass password passwd passphrase secret secrets token tokens apikey api_key api-key keyring keychain file
		basic bearer oauth oauth2 plain digest header cookie session agent model main master prod production
		staging development local dev-only http https postgres postgresql mysql mariadb mongo mongodb redis rabbitmq
		oracle sqlite elastic minio kafka docker github gitlab google openai anthropic gemini claude codex copilot`) {
		all[w] = true
	}
	return all
})

// Common reports whether a text is a word that nearly any text may have, and no secret by itself.
func Common(text string) bool { return common()[strings.ToLower(text)] }

// userInfo matches the name and the password in a URL.
var userInfo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/?#@:"'<>]*):([^\s/?#"'<>]+)@`)
})

// InURLs returns what is secret of the URLs in a text: each password by itself, if it is no common word, and together
// with the name before it, as an Authorization header has both.
func InURLs(text string) (found []string) {
	if !strings.Contains(text, "://") {
		return nil
	}
	for _, m := range userInfo().FindAllStringSubmatch(text, -1) {
		user, password := m[1], m[2]
		plain, err := url.PathUnescape(password)
		if err != nil {
			plain = password
		}
		if len(plain) < MinLen || Common(plain) {
			found = append(found, user+":"+password+"@")
			continue
		}
		found = append(found, password, plain)
		if u, err := url.PathUnescape(user); err == nil {
			found = append(found, u+":"+plain)
		}
	}
	return found
}

// words finds short values. It never changes.
type words struct {
	names   map[string]string // by the text that is searched for
	texts   []string          // the longest first
	first   [256]bool         // bytes with which a text begins
	longest int
}

func newWords(names map[string]string) *words {
	w := &words{names: names, texts: slices.Sorted(maps.Keys(names))}
	slices.SortStableFunc(w.texts, func(a, b string) int { return len(b) - len(a) })
	for _, t := range w.texts {
		w.first[t[0]] = true
		w.longest = max(w.longest, len(t))
	}
	return w
}

// A wordCursor is a place in a stream: the bytes before it, as many as a text may have and one more.
type wordCursor struct{ seen []byte }

// scan reads b, whose first byte has the offset base, from the cursor on, tells found of each place where a text is a
// word, and moves the cursor to the end of b. A text at the end of b is a word only if the stream ends there, as last
// tells. A found that says false ends it. scan returns how many bytes before the end may still become a word.
func (w *words) scan(c *wordCursor, b []byte, base int64, last bool, found func(sp span, name string) bool) (held int) {
	if w == nil {
		return 0
	}
	all := append(c.seen, b...)
	base -= int64(len(c.seen))
	known := len(c.seen) // a word that ends before this offset was found before
	for i := range all {
		if !w.first[all[i]] || i > 0 && joins(all[i-1], all[i]) {
			continue
		}
		for _, t := range w.texts {
			end := i + len(t)
			switch {
			case end >= len(all):
				if !strings.HasPrefix(t, string(all[i:])) {
					continue
				}
				if !last || end > len(all) {
					held = max(held, len(all)-i)
					continue
				}
			case end < known || joins(all[end-1], all[end]) || !bytes.HasPrefix(all[i:], []byte(t)):
				continue
			}
			if !found(span{base + int64(i), base + int64(end)}, w.names[t]) {
				return 0
			}
			break
		}
	}
	c.seen = slices.Clone(all[max(0, len(all)-w.longest-1):])
	return held
}

// joins reports whether two bytes beside each other are in one word.
func joins(a, b byte) bool { return inWord(a) && inWord(b) }

// inWord reports whether a byte is part of a word: a letter or digit of ASCII, or of any other character.
func inWord(c byte) bool { return alphanumeric(c) || c == '_' || c >= 0x80 }

// insert adds sp to spans, which are in order and do not overlap.
func insert(spans []span, sp span) []span {
	at, _ := slices.BinarySearchFunc(spans, sp.from, func(s span, from int64) int {
		if s.to <= from {
			return -1
		}
		return 1
	})
	end := at
	for ; end < len(spans) && spans[end].from < sp.to; end++ {
		sp = span{min(sp.from, spans[end].from), max(sp.to, spans[end].to)}
	}
	return slices.Replace(spans, at, end, sp)
}
