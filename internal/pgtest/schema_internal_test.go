package pgtest

import (
	"testing"
	"time"
)

func TestLeft(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(leftAfter + time.Minute)
	for name, want := range map[string]bool{
		newName():              true,
		"weft_test_1_x":        true,
		"weft_test_9999999999": false,
		"weft_test_":           false,
		"weft_1_x":             false,
		"public":               false,
	} {
		if got := left(name, later); got != want {
			t.Errorf("%s: got %t want %t", name, got, want)
		}
	}
	if name := newName(); left(name, time.Now()) {
		t.Errorf("%s was just made, and is not left behind", name)
	}
}
