package state_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/weft-go/weft/state"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	type hidden struct {
		X any
		y int
	}
	if _, err := state.Encode(hidden{y: 1}); !errors.Is(err, state.ErrRoundTrip) {
		t.Errorf("a field that is lost: got %v, want %v", err, state.ErrRoundTrip)
	}
	if _, err := state.Encode[any](int64(1)); !errors.Is(err, state.ErrRoundTrip) {
		t.Errorf("an int in an any: got %v, want %v", err, state.ErrRoundTrip)
	}
	data, err := state.Encode(int64(math.MaxInt64))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := state.Decode[int64](data); err != nil || v != math.MaxInt64 {
		t.Errorf("got %d, %v", v, err)
	}
	if _, err := state.Decode[bool](data); !errors.Is(err, state.ErrStored) {
		t.Errorf("a number as a bool: got %v, want %v", err, state.ErrStored)
	}
}

func ExampleEncode() {
	data, err := state.Encode(map[string]int{"cups": 12})
	fmt.Println(string(data), err)
	cups, err := state.Decode[map[string]int](data)
	fmt.Println(cups, err)
	// Output:
	// {"cups":12} <nil>
	// map[cups:12] <nil>
}
