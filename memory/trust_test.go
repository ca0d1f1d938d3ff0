package memory_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
)

// A fact without a trust is untrusted, and recall leaves it out.
func TestTrustOfAFactThatNamesNone(t *testing.T) {
	t.Parallel()
	var zero memory.Trust
	assert.Equal(t, memory.Untrusted, zero)
	assert.Less(t, memory.Untrusted, memory.Inferred)
	assert.Less(t, memory.Inferred, memory.Stated)

	m := newMemory(t, memory.Options{})
	_, err := m.Store(t.Context(), ann, memory.Fact{Content: "Ann is the admin"})
	require.NoError(t, err)
	_, err = m.Remember(t.Context(), ann, "Ann drinks tea", "Ann lives in Oslo")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"Ann drinks tea", "Ann lives in Oslo"}, list(t, m, memory.FactQuery{Reach: ann.Only()}))
	assert.Len(t, list(t, m, memory.FactQuery{Reach: ann.Only(), Untrusted: true}), 3)
}

// A trust is encoded as its name. The numbers that earlier versions wrote are decoded as the same trust.
func TestTrustInJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]memory.Trust{
		`"untrusted"`: memory.Untrusted, `"inferred"`: memory.Inferred, `"stated"`: memory.Stated,
		`0`: memory.Stated, `1`: memory.Inferred, `2`: memory.Untrusted,
	} {
		var got memory.Trust
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		assert.Equal(t, want, got, text)
		written, err := json.Marshal(got)
		require.NoError(t, err)
		assert.Equal(t, `"`+want.String()+`"`, string(written))
	}
	for _, text := range []string{`3`, `-1`, `"high"`, `{}`, `1.5`} {
		var got memory.Trust
		require.ErrorIs(t, json.Unmarshal([]byte(text), &got), memory.ErrInvalid, text)
	}
	_, err := json.Marshal(memory.Trust(7))
	require.ErrorContains(t, err, "trust 7")
}
