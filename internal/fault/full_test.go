//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// longLineGraph returns a graph that appends 8 kB to its state in each superstep.
func longLineGraph(t *testing.T, store checkpoint.Store, steps int) *graph.Graph {
	t.Helper()
	b := graph.New("longLineGraph", trail, turns)
	b.Node("talk", func(ctx context.Context, v state.View) (state.Update, error) {
		line := make([]byte, 0, 8<<10)
		for n := 0; len(line) < 8<<10; n++ { // such products hardly compress
			line = fmt.Appendf(line, "%x.", uint64(n+1)*uint64(turns.Get(v)+7)*0x9e3779b97f4a7c15)
		}
		return state.Update{trail.Put(string(line)), turns.Put(1)}, nil
	})
	b.Edge(graph.Start, "talk")
	b.Branch("talk", func(v state.View) (string, error) {
		if turns.Get(v) < steps {
			return "talk", nil
		}
		return graph.End, nil
	}, "talk", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: store, MaxSteps: steps})
	require.NoError(t, err)
	return g
}

// runFull runs threads until the store returns the error full. Then it calls makeRoom and
// resumes the failed thread.
func runFull(t *testing.T, store checkpoint.Store, full error, makeRoom func()) {
	t.Helper()
	const steps = 40
	g := longLineGraph(t, store, steps)
	ctx := t.Context()
	threads := 0
	var err error
	for err == nil && threads < 50 {
		threads++
		_, err = g.Thread(fmt.Sprint("t", threads)).Invoke(ctx, graph.Begin())
	}
	require.ErrorIs(t, err, full, "after %d threads", threads)
	// Every acknowledged step can be read.
	stored := 0
	for n := range threads {
		snap, err := g.Thread(fmt.Sprint("t", n+1)).Snapshot(ctx)
		if errors.Is(err, checkpoint.ErrNotFound) && n == threads-1 {
			continue
		}
		require.NoError(t, err)
		if stored += turns.Get(snap); n < threads-1 {
			assert.Equal(t, steps, turns.Get(snap), "steps of thread %d", n+1)
		}
	}
	makeRoom()
	last := g.Thread(fmt.Sprint("t", threads))
	snap, err := startOrResume(ctx, last)
	require.NoError(t, err, "resume after space was freed")
	assert.Equal(t, steps, trail.Len(snap), "lines")
	assert.Equal(t, steps, turns.Get(snap), "turns")
	corrupt := 0
	for n := range threads {
		if _, err := g.Thread(fmt.Sprint("t", n+1)).Snapshot(ctx); !errors.Is(err, checkpoint.ErrNotFound) && !assert.NoError(t, err) {
			corrupt++
		}
	}
	t.Logf("F10: full in thread %d, with %d steps stored and readable; the thread resumed after space was freed; %d corrupt threads", threads, stored, corrupt)
}

// F10 on SQLite: the database file has reached its maximum size.
func TestF10ResumesAfterAFullSQLiteFile(t *testing.T) {
	begin(t)
	store, err := sqlitecheckpoint.Open(t.Context(), filepath.Join(t.TempDir(), "weft.db"),
		sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal, MaxSize: 1 << 20})
	require.NoError(t, err)
	defer func() { assert.NoError(t, store.Close(), "close") }()
	runFull(t, store, sqlitecheckpoint.ErrFull, func() {
		assert.NoError(t, store.DeleteThread(t.Context(), "t1"), "delete")
	})
}

// F10 on PostgreSQL: the volume of the tables is full.
func TestF10ResumesAfterAFullTablespace(t *testing.T) {
	begin(t)
	dir := pgtest.Volume(t, "size=3m,mode=0777")
	filler := filepath.Join(dir, "filler")
	require.NoError(t, os.WriteFile(filler, make([]byte, 512<<10), 0o666))
	server := newServer(t)
	space := filepath.Join(dir, "tables")
	require.NoError(t, os.Mkdir(space, 0o700))
	require.NoError(t, server.Chown(space))
	pgtest.Do(t, server.URL(), fmt.Sprintf(`CREATE TABLESPACE small LOCATION '%s'`, space))
	pgtest.Do(t, server.URL(), `ALTER ROLE postgres SET default_tablespace = small`)
	store := open(t, server.URL(), pgcheckpoint.Options{})
	runFull(t, store, pgcheckpoint.ErrFull, func() { assert.NoError(t, os.Remove(filler), "make room") })
	where := pgtest.Ask[string](t, server.URL(), `SELECT spcname FROM pg_tablespace s JOIN pg_class c ON c.reltablespace = s.oid WHERE c.oid = 'weft.cp_step'::regclass`)
	assert.Equal(t, "small", where, "tablespace of the tables")
	pgtest.Do(t, server.URL(), `CREATE EXTENSION IF NOT EXISTS amcheck`)
	for _, index := range []string{"cp_step_pkey", "cp_thread_pkey", "cp_write_pkey"} {
		pgtest.Do(t, server.URL(), fmt.Sprintf(`SELECT bt_index_check('weft.%s')`, index))
	}
}

// F10 on PostgreSQL: the volume of the server, with its write-ahead log, is full. The server
// may crash. After a restart with free space, every acknowledged step can be read.
func TestF10FullServerKeepsAcknowledgedSteps(t *testing.T) {
	begin(t)
	dir := pgtest.Volume(t, "size=160m,mode=0777")
	filler := filepath.Join(dir, "filler")
	server := newServerIn(t, dir, "min_wal_size=32MB", "max_wal_size=32MB", "shared_buffers=16MB")
	store := open(t, server.URL(), pgcheckpoint.Options{Patience: -1})
	// Leave some space for the first steps.
	var room int64 = 20 << 20
	if free := freeSpace(t, dir); free > room {
		require.NoError(t, os.WriteFile(filler, make([]byte, free-room), 0o666))
	}
	acknowledged, head := 0, ""
	var err error
	for n := 0; ; n++ {
		c := step("t", stepID(n+1), head, fmt.Sprint(n))
		c.Control = incompressible(n, 64<<10)
		if err = store.Put(t.Context(), c, head); err != nil {
			break
		}
		head, acknowledged = c.ID, n+1
		require.LessOrEqual(t, n, 2000, "steps on a small volume")
	}
	down := ""
	if conn, err := net.Dial("tcp", server.Addr()); err != nil {
		down = " and crashed"
	} else {
		assert.NoError(t, conn.Close(), "close")
	}
	t.Logf("F10: the volume of the server was full%s: %v", down, err)
	assert.NoError(t, os.Remove(filler), "make room")
	assert.NoError(t, server.Stop(fault.Immediate), "stop")
	require.NoError(t, server.Start(t.Context()))
	again := open(t, server.URL(), pgcheckpoint.Options{})
	got, err := again.Get(t.Context(), checkpoint.Key{Thread: "t"})
	require.NoError(t, err)
	n := len(got.Lineage)
	require.Contains(t, []int{acknowledged, acknowledged + 1}, n, "steps; %d were acknowledged", acknowledged)
	assert.NoError(t, again.Put(t.Context(), step("t", stepID(n+1), got.ID, fmt.Sprint(n)), got.ID), "the next step")
	wantChain(t, again, "t", n+1)
	t.Logf("F10: %d steps were acknowledged, and %d are there after the restart", acknowledged, n)
}

// incompressible returns random bytes, which no compression makes smaller.
func incompressible(seed, size int) []byte {
	b := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = source.Read(b) // never fails
	return b
}

func freeSpace(t *testing.T, dir string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &s))
	return int64(s.Bavail) * int64(s.Bsize)
}
