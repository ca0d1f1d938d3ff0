package memory_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
)

// The cases of RFC 7396, appendix A, in which document and patch are objects, and cases with
// numbers that a float64 would change.
func TestPatchMergesAsRFC7396Says(t *testing.T) {
	t.Parallel()
	n := newMemory(t, memory.Options{}).Profile(ann)
	for i, test := range []struct{ document, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{``, `{"a":{"b":null}}`, `{"a":{}}`},
		{`{"a":1.50,"b":12345678901234567890}`, `{"c":"<&>"}`, `{"a":1.50,"b":12345678901234567890,"c":"<&>"}`},
		{`{"a":[null]}`, `{"b":[null]}`, `{"a":[null],"b":[null]}`},
	} {
		key := fmt.Sprint(i)
		if test.document != "" {
			_, err := n.Put(t.Context(), key, json.RawMessage(test.document), memory.PutOptions{})
			require.NoError(t, err)
		}
		item, err := n.Patch(t.Context(), key, json.RawMessage(test.patch), 0)
		require.NoError(t, err)
		assert.Equal(t, test.want, string(item.Value))
		again, err := n.Patch(t.Context(), key, json.RawMessage(test.patch), item.Version)
		require.NoError(t, err)
		assert.Equal(t, test.want, string(again.Value), "a second time")
		_, err = n.Patch(t.Context(), key, json.RawMessage(test.patch), item.Version)
		require.ErrorIs(t, err, memory.ErrConflict)
	}
	for _, patch := range []string{`[]`, ``, `{"a"}`, `null`, "{\"a\":\"\xff\"}", `{"a":"\u0000"}`} {
		_, err := n.Patch(t.Context(), "other", json.RawMessage(patch), 0)
		require.ErrorIs(t, err, memory.ErrInvalid, patch)
	}
	_, err := n.Get(t.Context(), "other")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

// Concurrent patches of one value are all applied.
func TestPatchesAtOnce(t *testing.T) {
	t.Parallel()
	n := newMemory(t, memory.Options{}).Profile(ann)
	var writers sync.WaitGroup
	for i := range 20 {
		writers.Go(func() {
			_, err := n.Patch(t.Context(), "settings", fmt.Appendf(nil, `{"f%d":%d}`, i, i), 0)
			assert.NoError(t, err)
		})
	}
	writers.Wait()
	fields, _, err := memory.GetValue[map[string]int](t.Context(), n, "settings")
	require.NoError(t, err)
	assert.Len(t, fields, 20)
}
