//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// chatter is a graph that says something long in each superstep.
func chatter(t *testing.T, store checkpoint.Store, steps int) *graph.Graph {
	t.Helper()
	b := graph.New("chatter", trail, turns)
	b.Node("talk", func(ctx context.Context, v state.View) (state.Update, error) {
		line := make([]byte, 0, 8<<10)
		for n := 0; len(line) < 8<<10; n++ { // of no use to a compressor
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
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// runFull runs threads until there is no room, makes some, and lets them go on.
func runFull(t *testing.T, store checkpoint.Store, full error, makeRoom func()) {
	t.Helper()
	const steps = 40
	g := chatter(t, store, steps)
	ctx := t.Context()
	threads := 0
	var err error
	for err == nil && threads < 50 {
		threads++
		_, err = g.Thread(fmt.Sprint("t", threads)).Invoke(ctx, graph.Begin())
	}
	if !errors.Is(err, full) {
		t.Fatalf("after %d threads: got error %v want %v", threads, err, full)
	}
	// All that was stored can be read.
	stored := 0
	for n := range threads {
		snap, err := g.Thread(fmt.Sprint("t", n+1)).Snapshot(ctx)
		if errors.Is(err, checkpoint.ErrNotFound) && n == threads-1 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if stored += turns.Get(snap); n < threads-1 && turns.Get(snap) != steps {
			t.Errorf("thread %d has %d steps", n+1, turns.Get(snap))
		}
	}
	makeRoom()
	last := g.Thread(fmt.Sprint("t", threads))
	snap, err := goOn(ctx, last)
	if err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if n := trail.Len(snap); n != steps || turns.Get(snap) != steps {
		t.Errorf("got %d lines in %d turns", n, turns.Get(snap))
	}
	corrupt := 0
	for n := range threads {
		if _, err := g.Thread(fmt.Sprint("t", n+1)).Snapshot(ctx); err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			corrupt++
			t.Error(err)
		}
	}
	t.Logf("F10: full in thread %d, with %d steps stored and readable; ended with room again; %d corrupt threads", threads, stored, corrupt)
}

// F10 on SQLite: the file may not grow any more.
func TestF10FullSQLite(t *testing.T) {
	begin(t)
	store, err := sqlitecheckpoint.Open(t.Context(), filepath.Join(t.TempDir(), "weft.db"),
		sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal, MaxSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { wantNoErr(t, "close", store.Close()) }()
	runFull(t, store, sqlitecheckpoint.ErrFull, func() {
		wantNoErr(t, "delete", store.DeleteThread(t.Context(), "t1"))
	})
}

// volume mounts a file system of a few megabytes that anybody may write to. It reports
// false where that is not allowed.
func volume(t *testing.T, size string) (string, bool) {
	t.Helper()
	dir, err := os.MkdirTemp("", "weft-volume-")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size+",mode=0777", "weft", dir).CombinedOutput()
	if err != nil {
		t.Logf("NOT SHOWN HERE: no small volume can be mounted: %v: %s", err, strings.TrimSpace(string(out)))
		wantNoErr(t, "remove", os.Remove(dir))
		return "", false
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", "-l", dir).CombinedOutput()
		wantNoErr(t, "umount "+string(out), errors.Join(err, os.Remove(dir)))
	})
	return dir, true
}

// F10 on PostgreSQL: the tables are on a small volume.
func TestF10FullPostgres(t *testing.T) {
	begin(t)
	dir, ok := volume(t, "3m")
	if !ok {
		return
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 512<<10), 0o666); err != nil {
		t.Fatal(err)
	}
	server := newServer(t)
	space := filepath.Join(dir, "tables")
	if err := os.Mkdir(space, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := server.Own(space); err != nil {
		t.Fatal(err)
	}
	pgtest.Do(t, server.URL(), fmt.Sprintf(`CREATE TABLESPACE small LOCATION '%s'`, space))
	pgtest.Do(t, server.URL(), `ALTER ROLE postgres SET default_tablespace = small`)
	store := open(t, server.URL(), pgcheckpoint.Options{})
	runFull(t, store, pgcheckpoint.ErrFull, func() { wantNoErr(t, "make room", os.Remove(ballast)) })
	where := pgtest.Ask[string](t, server.URL(), `SELECT spcname FROM pg_tablespace s JOIN pg_class c ON c.reltablespace = s.oid WHERE c.oid = 'weft.cp_step'::regclass`)
	if where != "small" {
		t.Errorf("the tables are on %q", where)
	}
	pgtest.Do(t, server.URL(), `CREATE EXTENSION IF NOT EXISTS amcheck`)
	for _, index := range []string{"cp_step_pkey", "cp_thread_pkey", "cp_write_pkey"} {
		pgtest.Do(t, server.URL(), fmt.Sprintf(`SELECT bt_index_check('weft.%s')`, index))
	}
}

// F10, at worst: the whole server is on a small volume, with its log. Whether it goes
// down or not, what was acknowledged is there when it is up with room again.
func TestF10FullServer(t *testing.T) {
	begin(t)
	dir, ok := volume(t, "160m")
	if !ok {
		return
	}
	ballast := filepath.Join(dir, "ballast")
	server := newServerIn(t, dir, "min_wal_size=32MB", "max_wal_size=32MB", "shared_buffers=16MB")
	store := open(t, server.URL(), pgcheckpoint.Options{Patience: -1})
	// What is left is for the first steps.
	var room int64 = 20 << 20
	if free := freeSpace(t, dir); free > room {
		if err := os.WriteFile(ballast, make([]byte, free-room), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	acknowledged, head := 0, ""
	var err error
	for n := 0; ; n++ {
		c := step("t", stepID(n+1), head, fmt.Sprint(n))
		c.Control = noise(n, 64<<10)
		if err = store.Put(t.Context(), c, head); err != nil {
			break
		}
		head, acknowledged = c.ID, n+1
		if n > 2000 {
			t.Fatal("the volume does not get full")
		}
	}
	down := ""
	if conn, err := net.Dial("tcp", server.Addr()); err != nil {
		down = ", and went down"
	} else {
		wantNoErr(t, "close", conn.Close())
	}
	t.Logf("F10: the server got full%s: %v", down, err)
	wantNoErr(t, "make room", os.Remove(ballast))
	wantNoErr(t, "stop", server.Stop(fault.Immediate))
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := open(t, server.URL(), pgcheckpoint.Options{})
	got, err := again.Get(t.Context(), checkpoint.Key{Thread: "t"})
	if err != nil || len(got.Lineage) < acknowledged || len(got.Lineage) > acknowledged+1 {
		t.Fatalf("got %d steps, error %v want %d that were acknowledged", len(got.Lineage), err, acknowledged)
	}
	n := len(got.Lineage)
	wantNoErr(t, "go on", again.Put(t.Context(), step("t", stepID(n+1), got.ID, fmt.Sprint(n)), got.ID))
	wantChain(t, again, "t", n+1)
	t.Logf("F10: %d steps were acknowledged, and %d there when it was up again", acknowledged, n)
}

// noise is of no use to a compressor.
func noise(seed, size int) []byte {
	b := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = source.Read(b) // never fails
	return b
}

func freeSpace(t *testing.T, dir string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
