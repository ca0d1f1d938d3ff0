package pgcheckpoint_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// putIn puts checkpoint n into a namespace of thread t. A parent of 0 means that the
// checkpoint is the first of the namespace.
func putIn(t *testing.T, store checkpoint.Store, namespace string, n, parent int) {
	t.Helper()
	c := step("t", n)
	c.Namespace, c.Parent = namespace, ""
	if parent > 0 {
		c.Parent = stepID(parent)
	}
	require.NoError(t, store.Put(t.Context(), c, c.Parent))
}

// numbers returns the numbers of the checkpoints of thread t in a namespace, newest first.
func numbers(t *testing.T, store checkpoint.Store, namespace string) []int {
	t.Helper()
	list := []int{}
	for c, err := range store.List(t.Context(), checkpoint.Query{Thread: "t", Namespace: namespace}) {
		require.NoError(t, err)
		list = append(list, c.Step)
	}
	return list
}

func TestPruneRemovesCallsOfSubgraphsWhole(t *testing.T) {
	t.Parallel()
	call := "sub:1@" + stepID(1)
	nested := call + "/inner:1@" + stepID(2)
	open := "sub:1@" + stepID(10)
	type put struct {
		namespace string
		n, parent int
	}
	puts := []put{
		{"", 1, 0},
		{call, 2, 0},
		{nested, 3, 0},
		{nested, 4, 3},
		{call, 5, 2},
		{"~memory", 6, 0},
		{"~memory/inner@" + stepID(6), 7, 0},
		{"", 10, 1},
		{open, 11, 0},
		{open, 12, 11},
	}
	all := map[string][]int{
		"": {10, 1}, call: {5, 2}, nested: {4, 3}, "~memory": {6}, "~memory/inner@" + stepID(6): {7}, open: {12, 11},
	}
	for name, test := range map[string]struct {
		policy checkpoint.PrunePolicy
		tag    checkpoint.Key
		writes checkpoint.Key
		want   map[string][]int
	}{
		"a call whose checkpoint is removed": {
			policy: checkpoint.PrunePolicy{KeepLast: 1},
			want:   map[string][]int{"": {10}, "~memory": {6}, "~memory/inner@" + stepID(6): {7}, open: {12}},
		},
		"the checkpoint of the call is kept by number": {policy: checkpoint.PrunePolicy{KeepLast: 2}, want: all},
		"the checkpoint of the call is kept by a question": {
			policy: checkpoint.PrunePolicy{KeepLast: 1, KeepPending: true},
			writes: checkpoint.Key{Thread: "t", ID: stepID(1)},
			// Checkpoint 2 is removed, so the nested call that was made at it is removed too.
			want: map[string][]int{"": {10, 1}, call: {5}, "~memory": {6}, "~memory/inner@" + stepID(6): {7}, open: {12}},
		},
		"a tag keeps its checkpoint only": {
			policy: checkpoint.PrunePolicy{KeepLast: 1},
			tag:    checkpoint.Key{Thread: "t", Namespace: nested, ID: stepID(4)},
			want:   map[string][]int{"": {10}, nested: {4}, "~memory": {6}, "~memory/inner@" + stepID(6): {7}, open: {12}},
		},
	} {
		for scope, threads := range map[string][]string{"all threads": nil, "this thread": {"t"}} {
			t.Run(name+", "+scope, func(t *testing.T) {
				t.Parallel()
				store := newPlace(t).open(t)
				for _, p := range puts {
					putIn(t, store, p.namespace, p.n, p.parent)
				}
				if test.tag.ID != "" {
					require.NoError(t, store.Tag(t.Context(), test.tag, "kept"))
				}
				if test.writes.ID != "" {
					require.NoError(t, store.PutWrites(t.Context(), test.writes, []checkpoint.Write{write("a")}))
				}
				policy := test.policy
				policy.Threads = threads
				n, err := store.Prune(t.Context(), policy)
				require.NoError(t, err)
				kept := 0
				for namespace := range all {
					assert.ElementsMatch(t, test.want[namespace], numbers(t, store, namespace), "namespace %q", namespace)
					kept += len(test.want[namespace])
				}
				assert.Equal(t, len(puts)-kept, n)
				n, err = store.Prune(t.Context(), policy)
				require.NoError(t, err)
				assert.Zero(t, n, "a second time")
			})
		}
	}
}

// Prune removes the checkpoints of a call if the checkpoint at which the call was made does
// not exist, as after DeleteRuns.
func TestPruneRemovesCallsWithoutTheirCheckpoint(t *testing.T) {
	t.Parallel()
	store := newPlace(t).open(t)
	putIn(t, store, "", 1, 0)
	putIn(t, store, "sub@"+stepID(9), 2, 0)
	putIn(t, store, "sub@", 3, 0)
	n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{KeepLast: 100})
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	wantSteps(t, store, "t", 1)
}

// Prune removes all checkpoints of a call, even if they do not fit into one batch.
func TestPruneRemovesLongCalls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it stores 1,200 checkpoints")
	}
	store := newPlace(t).open(t)
	putIn(t, store, "", 1, 0)
	const steps = 1200
	for n := range steps {
		parent := n + 1
		if n == 0 {
			parent = 0
		}
		putIn(t, store, "sub@"+stepID(1), n+2, parent)
	}
	putIn(t, store, "", steps+2, 1)
	n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{KeepLast: 1})
	require.NoError(t, err)
	assert.Equal(t, steps+1, n)
	assert.Equal(t, []int{steps + 2}, numbers(t, store, ""))
	wantSteps(t, store, "t", 1)
}
