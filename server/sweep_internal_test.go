package server

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

var errSearch = errors.New("the search failed")

// A sweptStore fails searches for one kind of record. It stores the largest number of records that a search has returned.
type sweptStore struct {
	*memruns.Store
	fails   runs.Kind
	largest int
}

func (s *sweptStore) Search(ctx context.Context, q runs.Query) ([]runs.Record, int, error) {
	if q.Kind == s.fails && q.Parent == "" {
		return nil, 0, errSearch
	}
	found, n, err := s.Store.Search(ctx, q)
	s.largest = max(s.largest, len(found))
	return found, n, err
}

// If one part of a sweep fails, the other parts are executed. If one record cannot be read, the other records are
// handled.
func TestPartsOfASweepAreIndependent(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]runs.Kind{"nothing": "", "runs": runs.Run, "crons": runs.Cron} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &sweptStore{Store: memruns.New()}
			s := replicaOf(t, store, nil, nil)
			s.stop(errClosed) // so that only the test sweeps
			s.running.Wait()
			s.ctx, s.stop = context.WithCancelCause(t.Context())
			queue := s.o.Queue.(*heldQueue)
			waits, left, expired, due := threadRecord(uuid.New()), threadRecord(uuid.New()), threadRecord(uuid.New()), now()
			left.Status, expired.Expires = threadBusy, now().Add(-time.Minute)
			brokenRun := runRecord(uuid.New(), runData{})
			brokenRun.Data = json.RawMessage(`1`)
			require.NoError(t, store.Insert(
				t.Context(), waits, left, expired, brokenRun, runRecord(waits.ID, runData{}),
				runs.Record{Kind: runs.Cron, ID: uuid.New(), Data: json.RawMessage(`1`)},
				runs.Record{Kind: runs.Cron, ID: uuid.New(), Data: encoded(cronData{Next: &due})},
			))
			store.fails = fails
			require.Error(t, s.sweep(t.Context()))
			kinds := map[runs.JobKind]int{}
			for _, j := range queue.jobs {
				kinds[j.Kind]++
			}
			want := map[runs.JobKind]int{runs.JobThread: 1, runs.JobCron: 1}
			switch fails {
			case runs.Run:
				delete(want, runs.JobThread)
			case runs.Cron:
				delete(want, runs.JobCron)
			}
			assert.Equal(t, want, kinds)
			got, err := store.Get(t.Context(), runs.Thread, left.ID)
			require.NoError(t, err)
			assert.Equal(t, threadIdle, got.Status)
			_, err = store.Get(t.Context(), runs.Thread, expired.ID)
			require.ErrorIs(t, err, runs.ErrNotFound)
		})
	}
}

// A sweep reads runs in pages, and adds a job for each of their threads.
func TestSweepReadsRunsInPages(t *testing.T) {
	t.Parallel()
	store := &sweptStore{Store: memruns.New()}
	s := replicaOf(t, store, nil, nil)
	s.stop(errClosed)
	s.running.Wait()
	s.ctx, s.stop = context.WithCancelCause(t.Context())
	n := 2*sweepPage + 1
	for i := range n {
		r := runRecord(uuid.New(), runData{})
		if i%2 == 1 {
			r = runRecord(r.Parent, runData{After: now().Add(time.Hour)})
		}
		require.NoError(t, store.Insert(t.Context(), r))
	}
	require.NoError(t, s.sweep(t.Context()))
	assert.Len(t, s.o.Queue.(*heldQueue).jobs, n)
	assert.LessOrEqual(t, store.largest, sweepPage)
}
