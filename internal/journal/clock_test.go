package journal

import (
	"slices"
	"testing"
	"time"
)

func TestInOrder(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 3, 40, 0, 900e6, time.FixedZone("", 3600))
	names := []string{"20261121T024001Z-0000", "20200101T000000Z-0001", "20991231T235959Z-ffff", "20261121T024000Z-ffff", "20200101T000000Z-0000"}
	InOrder(names, now)
	want := []string{"20261121T024001Z-0000", "20991231T235959Z-ffff", "20200101T000000Z-0000", "20200101T000000Z-0001", "20261121T024000Z-ffff"}
	if !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	// When its time has come it stands where its name says.
	InOrder(names, now.Add(time.Second))
	if names[0] != "20991231T235959Z-ffff" || names[4] != "20261121T024001Z-0000" {
		t.Errorf("a second later: %q", names)
	}
}
