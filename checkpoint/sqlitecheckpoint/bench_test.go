package sqlitecheckpoint_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// stepID returns the n-th id of a run. Later ids are greater.
func stepID(n int) string {
	return fmt.Sprintf("0197a6b0-%04x-7%03x-8000-%012x", n>>12&0xffff, n&0xfff, n)
}

// messageStep returns superstep n, which appends a message of 512 random bytes in hexadecimal.
func messageStep(thread string, n int) checkpoint.Checkpoint {
	text := make([]byte, 512)
	_, _ = rand.Read(text)
	c := checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: thread, ID: stepID(n)},
		Step:    n,
		Source:  checkpoint.Loop,
		Run:     "0197a6b0-7c1a-7e2f-8a3b-000000000001",
		Version: "v1",
		Control: []byte(`{"next":["agent"]}`),
		Settles: true,
		Changes: []checkpoint.Change{
			{Channel: "messages", Kind: 2, Data: fmt.Appendf(nil, `[{"role":"ai","content":"%x"}]`, text)},
			{Channel: "tokens", Kind: 1, Data: []byte("1024")},
		},
	}
	if n > 1 {
		c.Parent = stepID(n - 1)
	}
	return c
}

// A floor is the cheapest possible store on this driver. A superstep is a prepared INSERT of
// one row on one connection.
type floor struct {
	db   *sql.DB
	stmt *sql.Stmt
	path string
}

func newFloor(b *testing.B, sync sqlitecheckpoint.Synchronous) *floor {
	b.Helper()
	f := &floor{path: filepath.Join(b.TempDir(), "floor.db")}
	db, err := sql.Open("sqlite", "file:"+f.path+"?_pragma=journal_mode(WAL)&_pragma=synchronous("+sync.String()+")")
	require.NoError(b, err)
	db.SetMaxOpenConns(1)
	f.db = db
	_, err = db.Exec(`CREATE TABLE step (id INTEGER PRIMARY KEY, thread TEXT NOT NULL, data BLOB NOT NULL)`)
	require.NoError(b, err)
	f.stmt, err = db.Prepare(`INSERT INTO step (thread, data) VALUES (?, ?)`)
	require.NoError(b, err)
	return f
}

func (f *floor) put(b *testing.B, c *checkpoint.Checkpoint) {
	b.Helper()
	_, err := f.stmt.Exec(c.Thread, c.Changes[0].Data)
	require.NoError(b, err)
}

// BenchmarkPut alternates between Put and the floor. It compares their times and the sizes
// of their files. The time of Put must not grow with the thread: compare the results of
// -benchtime=100x and 10000x.
func BenchmarkPut(b *testing.B) {
	for _, sync := range []sqlitecheckpoint.Synchronous{sqlitecheckpoint.Normal, sqlitecheckpoint.Full} {
		b.Run(sync.String(), func(b *testing.B) { benchmarkPut(b, sync) })
	}
}

func benchmarkPut(b *testing.B, sync sqlitecheckpoint.Synchronous) {
	ctx := context.Background()
	path := filepath.Join(b.TempDir(), "store.db")
	store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{Synchronous: sync})
	require.NoError(b, err)
	f := newFloor(b, sync)
	var ours, floors time.Duration
	n, head := 0, ""
	for b.Loop() {
		b.StopTimer()
		n++
		c := messageStep("thread", n)
		start := time.Now()
		f.put(b, &c)
		floors += time.Since(start)
		b.StartTimer()
		start = time.Now()
		require.NoError(b, store.Put(ctx, c, head))
		ours += time.Since(start)
		head = c.ID
	}
	b.StopTimer()
	require.NoError(b, store.Close())
	require.NoError(b, f.db.Close())
	steps := float64(n)
	b.ReportMetric(float64(floors.Nanoseconds())/steps, "floor-ns/op")
	b.ReportMetric(float64(ours)/float64(floors), "x-floor")
	b.ReportMetric(float64(size(b, path))/steps, "B/step")
	b.ReportMetric(float64(size(b, path))/float64(size(b, f.path)), "x-floor-bytes")
}

func size(b *testing.B, path string) int64 {
	b.Helper()
	info, err := os.Stat(path)
	require.NoError(b, err)
	return info.Size()
}

func longThread(b *testing.B, n int) *sqlitecheckpoint.Store {
	b.Helper()
	ctx := context.Background()
	path := filepath.Join(b.TempDir(), "store.db")
	store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	require.NoError(b, err)
	b.Cleanup(func() { _ = store.Close() })
	head := ""
	for i := range n {
		c := messageStep("thread", i+1)
		require.NoError(b, store.Put(ctx, c, head))
		head = c.ID
	}
	return store
}

func BenchmarkGet10000(b *testing.B) {
	store := longThread(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		c, err := store.Get(context.Background(), checkpoint.Key{Thread: "thread"})
		require.NoError(b, err)
		require.Len(b, c.Lineage, 10_000)
	}
}

func BenchmarkGetByID(b *testing.B) {
	store := longThread(b, 1_000)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		_, err := store.Get(context.Background(), checkpoint.Key{Thread: "thread", ID: stepID(n%10 + 1)})
		require.NoError(b, err)
	}
}

func BenchmarkList10000(b *testing.B) {
	store := longThread(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range store.List(context.Background(), checkpoint.Query{Thread: "thread"}) {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, 10_000, n)
	}
}

// tickID returns the n-th id of a clock that ticks every 25 steps. Ids of the same tick are
// in random order.
func tickID(n int) string {
	sum := sha256.Sum256([]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	return fmt.Sprintf("0197b000-%04x-7000-8000-%04x%x", n/25, binary.BigEndian.Uint16(sum[:]), sum[2:6])
}

// BenchmarkPutOther measures supersteps that are not the usual next step of a thread.
func BenchmarkPutOther(b *testing.B) {
	for name, change := range map[string]func(c *checkpoint.Checkpoint, n int){
		"thread":    func(c *checkpoint.Checkpoint, n int) { c.Thread, c.Parent = fmt.Sprint(n), "" },
		"run":       func(c *checkpoint.Checkpoint, n int) { c.Run = fmt.Sprint(n) },
		"fork":      func(c *checkpoint.Checkpoint, n int) { c.Parent = stepID(max(n/2, 1)) },
		"odd id":    func(c *checkpoint.Checkpoint, n int) { c.ID, c.Parent = stepID(1<<24-n), stepID(1<<24-n+1) },
		"tick":      func(c *checkpoint.Checkpoint, n int) { c.ID, c.Parent = tickID(n), tickID(n-1) },
		"namespace": func(c *checkpoint.Checkpoint, n int) { c.Namespace = fmt.Sprint("sub/", n%2) },
	} {
		b.Run(name, func(b *testing.B) {
			store := longThread(b, 100)
			heads := map[string]string{"thread": stepID(100)}
			for n := 101; b.Loop(); n++ {
				c := messageStep("thread", n)
				change(&c, n)
				in := c.Thread + c.Namespace
				head := heads[in]
				if c.Namespace != "" || name == "odd id" || name == "tick" {
					c.Parent = head
				}
				require.NoError(b, store.Put(context.Background(), c, head))
				heads[in] = c.ID
			}
		})
	}
}

// BenchmarkParallelStep measures a superstep of two tasks. Each result is stored as a pending
// write when its task ends. The checkpoint of the superstep deletes both writes.
func BenchmarkParallelStep(b *testing.B) {
	store := longThread(b, 1)
	ctx := context.Background()
	head := stepID(1)
	for n := 2; b.Loop(); n++ {
		for _, task := range []string{"left", "right"} {
			w := []checkpoint.Write{{Task: task, Channel: "messages", Data: []byte("result")}}
			require.NoError(b, store.PutWrites(ctx, checkpoint.Key{Thread: "thread", ID: head}, w))
		}
		c := messageStep("thread", n)
		require.NoError(b, store.Put(ctx, c, head))
		head = c.ID
	}
}

func BenchmarkLease(b *testing.B) {
	ctx := context.Background()
	store := longThread(b, 1)
	for b.Loop() {
		lease, err := store.Lease(ctx, "thread")
		require.NoError(b, err)
		require.NoError(b, lease.Release(ctx))
	}
}

func BenchmarkPrune10000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		store := longThread(b, 10_000)
		b.StartTimer()
		n, err := store.Prune(context.Background(), checkpoint.PrunePolicy{})
		require.NoError(b, err)
		require.Equal(b, 9_999, n)
	}
}
