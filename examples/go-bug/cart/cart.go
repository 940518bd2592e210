// Package cart adds up what a customer buys.
package cart

// An Item is one line of a cart. Price is in cents.
type Item struct {
	Name  string
	Price int
	Count int
}

// Total is what all items cost together, in cents. From ten pieces of an item on, one in ten is free.
func Total(items []Item) int {
	total := 0
	for _, item := range items {
		free := 0
		if item.Count > 10 {
			free = item.Count / 10
		}
		total += item.Price * (item.Count - free)
	}
	return total
}
