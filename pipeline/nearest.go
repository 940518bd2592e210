package pipeline

import "strings"

// Nearest returns the name that was probably meant by word, or "". It ignores case, dashes and underscores, so
// dependsOn is depends_on. Of two that are equally near it returns the first.
func Nearest(word string, names []string) string {
	const longest = 64 // nobody mistypes more, and the cost is a product of lengths
	w := plain(word)
	if w == "" || len(w) > longest {
		return ""
	}
	best, bestAt := "", max(1, len(w)/3)+1
	for _, name := range names {
		n := plain(name)
		if n == w {
			return name
		}
		if len(n) > longest || len(n) >= len(w)+bestAt || len(w) >= len(n)+bestAt {
			continue
		}
		if d := distance(w, n); d < bestAt && d < len(w) {
			best, bestAt = name, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// distance counts the letters to insert, remove, change or swap with their neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
