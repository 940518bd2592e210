package shelltext

import "strings"

// Quote returns s as one word of a shell text, in quotes where it needs them.
func Quote(s string) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@"
	if s != "" && strings.Trim(s, bare) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
