package jsonform_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/weft-go/weft/internal/jsonform"
)

func TestMarshal(t *testing.T) {
	t.Parallel()
	type hidden struct {
		X any
		y int
	}
	if _, err := jsonform.Marshal(hidden{y: 1}); !errors.Is(err, jsonform.ErrRoundTrip) {
		t.Errorf("a field that is lost: got %v, want %v", err, jsonform.ErrRoundTrip)
	}
	if _, err := jsonform.Marshal[any](int64(1)); !errors.Is(err, jsonform.ErrRoundTrip) {
		t.Errorf("an int in an any: got %v, want %v", err, jsonform.ErrRoundTrip)
	}
	data, err := jsonform.Marshal(int64(math.MaxInt64))
	if err != nil {
		t.Fatal(err)
	}
	if v, err := jsonform.Unmarshal[int64](data); err != nil || v != math.MaxInt64 {
		t.Errorf("got %d, %v", v, err)
	}
	if _, err := jsonform.Unmarshal[bool](data); !errors.Is(err, jsonform.ErrStored) {
		t.Errorf("a number as a bool: got %v, want %v", err, jsonform.ErrStored)
	}
}

func ExampleMarshal() {
	data, err := jsonform.Marshal(map[string]int{"cups": 12})
	fmt.Println(string(data), err)
	cups, err := jsonform.Unmarshal[map[string]int](data)
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
	got, err := jsonform.Unmarshal[T]([]byte(text))
	if (err != nil) != (wantErr != nil) || err == nil && got != want {
		t.Errorf("%q as %T: got %v, %v want %v, %v", text, want, got, err, want, wantErr)
	}
}
