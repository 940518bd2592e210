// Package config reads the settings of the shop.
package config

import (
	"encoding/json"
	"fmt"
	"os"
)

// A Config is what one environment sets.
type Config struct {
	Listen   string `json:"listen"`
	Currency string `json:"currency"`
	MaxItems int    `json:"max_items"`
}

// Read reads and checks a file.
func Read(path string) (Config, error) {
	var c Config
	b, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case c.Listen == "":
		return c, fmt.Errorf("%s: listen is empty", path)
	case len(c.Currency) != 3:
		return c, fmt.Errorf("%s: currency %q has not three letters", path, c.Currency)
	case c.MaxItems < 1:
		return c, fmt.Errorf("%s: max_items is %d", path, c.MaxItems)
	}
	return c, nil
}
