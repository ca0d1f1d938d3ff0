package pgcheckpoint_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

func TestFindYieldsTheMatchingCheckpoints(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newPlace(t).open(t)
	const wild = `a"b'c\d$1?::text`
	for thread, meta := range map[string][]map[string]string{
		"a-1": {{"score": "9", "user": "ann"}, {"score": "10", "user": "ann"}},
		"a-2": {{"score": "100", "user": "bob"}, {"score": "none", "user": "bob"}},
		"b-1": {{wild: wild}, nil},
	} {
		for i, m := range meta {
			c := step(thread, i+1)
			c.Run, c.Metadata = fmt.Sprint("run", i), m
			require.NoError(t, store.Put(ctx, c, c.Parent))
		}
	}
	for name, c := range map[string]struct {
		search pgcheckpoint.Search
		want   []string
	}{
		"all":            {pgcheckpoint.Search{}, []string{"a-1/2", "a-1/1", "a-2/2", "a-2/1", "b-1/2", "b-1/1"}},
		"limit":          {pgcheckpoint.Search{Limit: 3}, []string{"a-1/2", "a-1/1", "a-2/2"}},
		"latest":         {pgcheckpoint.Search{Latest: true}, []string{"a-1/2", "a-2/2", "b-1/2"}},
		"prefix":         {pgcheckpoint.Search{Prefix: "b"}, []string{"b-1/2", "b-1/1"}},
		"literal prefix": {pgcheckpoint.Search{Prefix: "a_"}, nil},
		"text":           {where(pgcheckpoint.Text("user", pgcheckpoint.Equal, "ann")), []string{"a-1/2", "a-1/1"}},
		"other text":     {where(pgcheckpoint.Text("user", pgcheckpoint.NotEqual, "ann")), []string{"a-2/2", "a-2/1"}},
		"text order":     {where(pgcheckpoint.Text("score", pgcheckpoint.Less, "9")), []string{"a-1/2", "a-2/1"}},
		"number order":   {where(pgcheckpoint.Number("score", pgcheckpoint.Less, 10)), []string{"a-1/1"}},
		"number":         {where(pgcheckpoint.Number("score", pgcheckpoint.GreaterOrEqual, 10)), []string{"a-1/2", "a-2/1"}},
		"no number":      {where(pgcheckpoint.Number("user", pgcheckpoint.NotEqual, 10)), nil},
		"key":            {where(pgcheckpoint.Has("score")), []string{"a-1/2", "a-1/1", "a-2/2", "a-2/1"}},
		"wild":           {where(pgcheckpoint.Text(wild, pgcheckpoint.Equal, wild), pgcheckpoint.Has(wild)), []string{"b-1/1"}},
		"injected":       {where(pgcheckpoint.Text("user' OR '1'='1", pgcheckpoint.NotEqual, "")), nil},
		"both":           {where(pgcheckpoint.Has("user"), pgcheckpoint.Number("score", pgcheckpoint.Greater, 9)), []string{"a-1/2", "a-2/1"}},
		"latest of them": {pgcheckpoint.Search{Latest: true, Where: []pgcheckpoint.Condition{pgcheckpoint.Number("score", pgcheckpoint.Greater, 8)}}, []string{"a-1/2", "a-2/1"}},
	} {
		var got []string
		for found, err := range store.Find(ctx, c.search) {
			require.NoError(t, err, name)
			got = append(got, fmt.Sprintf("%s/%d", found.Thread, found.Step))
		}
		assert.Equal(t, c.want, got, name)
	}
	for name, search := range map[string]pgcheckpoint.Search{
		"limit":    {Limit: -1},
		"operator": where(pgcheckpoint.Text("user", 17, "ann")),
		"key":      where(pgcheckpoint.Has("a\x00")),
	} {
		n := 0
		for _, err := range store.Find(ctx, search) {
			n++
			wantErr(t, name, err, checkpoint.ErrInvalid)
		}
		assert.Equal(t, 1, n, name)
	}
}

func where(conditions ...pgcheckpoint.Condition) pgcheckpoint.Search {
	return pgcheckpoint.Search{Where: conditions}
}

// Find yields all matches of several pages. The caller can use the store between them.
func TestFindHoldsNoConnectionBetweenPages(t *testing.T) {
	t.Parallel()
	store := newPlace(t).open(t)
	for i := range 3 {
		putAll(t, store, fmt.Sprint("t", i), 150)
	}
	for _, search := range []pgcheckpoint.Search{{}, {Limit: 200}, {Latest: true}} {
		want := map[bool]int{true: 3, false: 450}[search.Latest]
		if search.Limit > 0 {
			want = search.Limit
		}
		n := 0
		for c, err := range store.Find(t.Context(), search) {
			require.NoError(t, err)
			if n%100 == 0 {
				newest(t, store, c.Thread)
			}
			n++
		}
		assert.Equal(t, want, n, search)
	}
}
