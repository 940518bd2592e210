// Package price counts money in cents.
package price

import (
	"fmt"
	"strconv"
	"strings"
)

// Cents is an amount of money.
type Cents int64

// String is the amount with two decimals.
func (c Cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

// Parse reads an amount such as 12.50 or 12.
func Parse(text string) (Cents, error) {
	whole, fraction, has := strings.Cut(text, ".")
	if has && len(fraction) != 2 {
		return 0, fmt.Errorf("price %q: two decimals are wanted", text)
	}
	n, err := strconv.ParseInt(whole+fraction, 10, 53)
	if err != nil {
		return 0, fmt.Errorf("price %q is not a number", text)
	}
	if !has {
		n *= 100
	}
	return Cents(n), nil
}

// Discount is what is left of an amount after percent of it, rounded to the buyer's favour.
func Discount(c Cents, percent int) Cents { return c * Cents(100-percent) / 100 }
