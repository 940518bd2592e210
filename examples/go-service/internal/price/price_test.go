package price

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]Cents{"12.50": 1250, "12": 1200, "0.01": 1} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("Parse(%q) = %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "1.5", "1.005"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %d", text, got)
		}
	}
}

func TestDiscount(t *testing.T) {
	if got := Discount(999, 10); got != 899 {
		t.Errorf("Discount = %d", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("12.50")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := Parse(text); err == nil && c.String() == "" {
			t.Error("no text")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		_, _ = Parse("12.50")
	}
}
