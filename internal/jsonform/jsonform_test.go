package jsonform_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/jsonform"
)

func TestMarshalAndUnmarshal(t *testing.T) {
	t.Parallel()
	type hidden struct {
		X any
		y int
	}
	_, err := jsonform.Marshal(hidden{y: 1})
	assert.ErrorIs(t, err, jsonform.ErrRoundTrip)
	_, err = jsonform.Marshal[any](int64(1))
	assert.ErrorIs(t, err, jsonform.ErrRoundTrip)
	data, err := jsonform.Marshal(int64(math.MaxInt64))
	require.NoError(t, err)
	v, err := jsonform.Unmarshal[int64](data)
	assert.NoError(t, err)
	assert.Equal(t, int64(math.MaxInt64), v)
	_, err = jsonform.Unmarshal[bool](data)
	assert.ErrorIs(t, err, jsonform.ErrStored)
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

func TestDecodeReadsIntegersLikeEncodingJSON(t *testing.T) {
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
	assert.Equal(t, wantErr != nil, err != nil, "%q as %T", text, want)
	if err == nil {
		assert.Equal(t, want, got, "%q as %T", text, want)
	}
}
