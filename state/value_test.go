package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

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

// Integers are read as encoding/json reads them.
func TestDecodeInteger(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "7", "-7", "127", "128", "-128", "-129", "255", "256", "-0", "00", "01", "-01", "-", "", " 1", "1 ", "+1", "1.0", "1e2", "null", `"1"`,
		"999999999999999999", "-999999999999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615", "1_0", "1x", "٣",
	} {
		decodesLikeJSON[int](t, text)
		decodesLikeJSON[int8](t, text)
		decodesLikeJSON[uint8](t, text)
		decodesLikeJSON[uint64](t, text)
		decodesLikeJSON[time.Duration](t, text)
	}
}

func decodesLikeJSON[T comparable](t *testing.T, text string) {
	t.Helper()
	var want T
	wantErr := json.Unmarshal([]byte(text), &want)
	got, err := state.Decode[T]([]byte(text))
	if (err != nil) != (wantErr != nil) || err == nil && got != want {
		t.Errorf("%q as %T: got %v, %v want %v, %v", text, want, got, err, want, wantErr)
	}
}
