//go:build unix

package pgruns_test

import (
	"bytes"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server/runs"
)

// An insertion whose answer was lost takes effect once, and returns no error. If another call has inserted the id, it
// returns an error.
func TestInsertionWithoutAnAnswerSucceeds(t *testing.T) {
	t.Parallel()
	direct := pgtest.DirectURL(t)
	u, err := url.Parse(direct)
	require.NoError(t, err)
	proxy, err := fault.NewProxy(u.Host)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, proxy.Close()) })
	u.Host = proxy.Addr()
	schema := pgtest.Schema(t)
	store := open(t, u.String(), schema)
	insert := func(r runs.Record) error {
		var asked, cut atomic.Bool
		proxy.Intercept(func(d fault.Direction, data []byte) fault.Action {
			if d == fault.ToServer && bytes.Contains(data, []byte(r.ID)) {
				asked.Store(true)
			}
			if d == fault.ToClient && asked.Load() && !cut.Swap(true) { // the record is stored
				return fault.Action{Cut: fault.Before}
			}
			return fault.Action{}
		})
		defer proxy.Intercept(nil)
		err := store.Insert(t.Context(), r)
		assert.True(t, cut.Load(), "the answer was lost")
		return err
	}
	at := time.Now()
	ann := runs.Record{Kind: runs.Run, ID: "run-of-ann", Parent: "t", Owner: "ann", Created: at}
	require.NoError(t, insert(ann))
	got, err := store.Get(t.Context(), runs.Run, ann.ID)
	require.NoError(t, err)
	assert.Equal(t, int64(1), got.Revision)
	for name, other := range map[string]runs.Record{
		"owner": {Kind: runs.Run, ID: ann.ID, Parent: "t", Owner: "bob", Created: at},
		"time":  {Kind: runs.Run, ID: ann.ID, Parent: "t", Owner: "ann", Created: at.Add(time.Second)},
	} {
		require.ErrorIs(t, insert(other), runs.ErrExists, name)
	}
	require.ErrorIs(t, store.Insert(t.Context(), ann), runs.ErrExists)
}
