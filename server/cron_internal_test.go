package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A cronlessStore fails the first time that a cron is changed.
type cronlessStore struct {
	*memruns.Store
	failed atomic.Bool
}

func (s *cronlessStore) Update(ctx context.Context, r runs.Record) (int64, error) {
	if r.Kind == runs.Cron && !s.failed.Swap(true) {
		return 0, errors.New("the connection was lost")
	}
	return s.Store.Update(ctx, r)
}

// If the job of a cron is executed again after the run of the cron has ended, the run is not started again.
func TestCronThatIsTriedAgainFiresOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, due, begun := &cronlessStore{Store: memruns.New()}, now(), 0
		cron := runs.Record{Kind: runs.Cron, ID: uuid.New(), Graph: "words", Data: encoded(cronData{
			Schedule: "0 0 1 1 *", Enabled: true, OnDone: "delete", Payload: json.RawMessage(`{"assistant_id":"words","input":{"words":"x"}}`), Next: &due,
		})}
		require.NoError(t, store.Insert(t.Context(), cron))
		queue := &heldQueue{}
		s := replicaOf(t, store, func(context.Context, state.View) (state.Update, error) {
			begun++
			return state.Update{words.Put("done")}, nil
		}, func(o *Options) { o.Queue = queue })
		job := runs.Job{Kind: runs.JobCron, Key: cron.ID, At: due}
		require.Error(t, s.work(t.Context(), job))
		work := func() {
			for _, j := range queue.take() {
				if j.Kind == runs.JobThread {
					require.NoError(t, s.work(t.Context(), j))
				}
			}
		}
		work()
		assert.Equal(t, 1, begun)
		time.Sleep(temporaryTime - time.Second)
		require.NoError(t, s.work(t.Context(), job))
		work()
		assert.Equal(t, 1, begun)

		time.Sleep(2 * time.Second)
		require.NoError(t, s.expire(t.Context()))
		_, n, err := store.Search(t.Context(), runs.Query{Kind: runs.Thread})
		require.NoError(t, err)
		assert.Zero(t, n, "the thread of the run stays")
	})
}
