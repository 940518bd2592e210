package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRead(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"listen": ":1", "currency": "EUR", "max_items": 5}`: true,
		`{"listen": ":1", "currency": "EU", "max_items": 5}`:  false,
		`{"listen": "", "currency": "EUR", "max_items": 5}`:   false,
		`{`: false,
	} {
		path := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
