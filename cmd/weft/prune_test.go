package main

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

func TestPruneRefusesAThreadThatDoesNotExist(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ place, m *terminal) {
		for _, args := range [][]string{{"-dry-run"}, nil} {
			code, out, errs := m.call(append([]string{"threads", "prune", "order-1", "order-9", "-keep-last", "1", "-db", "threads.db"}, args...)...)
			assert.Equal(t, exitFailed, code)
			assert.Empty(t, out)
			assert.Contains(t, errs, `there is no thread "order-9"`)
		}
		_, out, _ := m.call("threads", "prune", "order-1", "-keep-last", "1", "-db", "threads.db")
		assert.Equal(t, "Removed 2 checkpoints.\n", out, "the refused commands have removed nothing")
	})
}

func TestDoctorCountsTheCheckpointsThatPruneHasLeft(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	code, out, errs := newTerminal(t, nil).call("threads", "prune", "order-1", "-keep-last", "1", "-db", file)
	require.Equal(t, exitDone, code, errs)
	require.Equal(t, "Removed 2 checkpoints.\n", out)
	var stored int
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM cp_step").Scan(&stored))
	require.NoError(t, db.Close())
	d := &doctor{address: address{db: file}}
	assert.Empty(t, faultsOf(t, d))
	assert.Equal(t, fmt.Sprintf("4 threads of 4 read, with %d checkpoints", stored), d.textOf("data"))
}

// A thread that a run holds or that has a tag is not idle.
func TestTheDryRunKnowsWhichThreadsAreIdle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place, m *terminal) {
		lease, err := p.store.(checkpoint.Leaser).Lease(t.Context(), "order-4")
		require.NoError(t, err)
		defer func() { assert.NoError(t, lease.Release(context.WithoutCancel(t.Context()))) }()
		dry, did := "THREAD   REMOVE  STAY\norder-1  3       0\nThis would remove 3 checkpoints of 1 thread.\n", "Removed 3 checkpoints, and deleted 1 thread.\n"
		tagger, ok := p.store.(interface {
			Tag(ctx context.Context, k checkpoint.Key, tag string) error
		})
		if ok {
			c, err := p.store.Get(t.Context(), checkpoint.Key{Thread: "order-1"})
			require.NoError(t, err)
			require.NoError(t, tagger.Tag(t.Context(), c.Key, "kept"))
			dry, did = "This would remove 0 checkpoints of 0 threads.\n", "Removed 0 checkpoints, and deleted 0 threads.\n"
		}
		args := []string{"threads", "prune", "-all", "-keep-last", "5", "-delete-idle", "1ms", "-db", "threads.db"}
		_, out, errs := m.call(append(args, "-dry-run")...)
		assert.Equal(t, dry, out, errs)
		_, out, errs = m.call(args...)
		assert.Equal(t, did, out, errs)
	})
}
