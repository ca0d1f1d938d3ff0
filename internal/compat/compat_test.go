package compat_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// The test reads and resumes threads that version 0.1 has stored. Finished tasks and side
// effects do not run again.
func TestReadsAndResumesThreadsOfVersion01(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures() {
		t.Run(f.name(), func(t *testing.T) {
			t.Parallel()
			want := f.expectations(t)
			store := f.open(t)
			for i := range scenarios {
				sc := &scenarios[i]
				if !f.holds(sc) {
					continue
				}
				t.Run(sc.name, func(t *testing.T) {
					require.Contains(t, want, sc.name)
					got, err := observe(t.Context(), sc, &world{store: store, durability: f.durability})
					require.NoError(t, err)
					compare(t, want[sc.name], got)
				})
			}
		})
	}
}

// compare compares the parts of expectations separately, so that the message of a failure
// is short.
func compare(t *testing.T, want, got *expectation) {
	t.Helper()
	got = throughJSON(t, got) // JSON makes empty values nil
	assert.Equal(t, want.Before, got.Before, "the snapshot")
	assert.Equal(t, want.Inside, got.Inside, "the snapshots of subgraphs")
	assert.Equal(t, want.History, got.History, "the history")
	assert.Equal(t, want.Stored, got.Stored, "the stored checkpoints")
	if !assert.Len(t, got.After, len(want.After)) {
		return
	}
	for i := range want.After {
		assert.Equal(t, want.After[i], got.After[i], "after action %d", i)
	}
}

func throughJSON(t *testing.T, x *expectation) *expectation {
	t.Helper()
	data, err := json.Marshal(x)
	require.NoError(t, err)
	out := &expectation{}
	require.NoError(t, json.Unmarshal(data, out))
	return out
}
