package sqlitecheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

func put(t *testing.T, store checkpoint.Store, c checkpoint.Checkpoint, head string) {
	t.Helper()
	require.NoError(t, store.Put(context.Background(), c, head))
}

// SQLite treats every text of a caller as a value, and never as a part of a query.
func TestTextsCannotInjectSQL(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := open(t, filepath.Join(t.TempDir(), "weft.db"), options)
	put(t, store, follower("witness", "w", ""), "")
	hostile := []string{
		`'; DROP TABLE cp_step; --`, `" OR 1=1 --`, `') OR ('1'='1`, `x' UNION SELECT 1,2,3,4,5,6,7,8,9,10 --`, `%`, `_`, `\`,
		`$.a"]') OR 1=1 --`, `?1`, `:name`, "@p", `null`, `NULL`, "a\x00b", "\x00", `x'00'`, `[cp_step]`, "`cp_step`",
		"\xff\xfe", "\u202e", `1e309`, `0x10`, `123`, "a\nb", `;`, `/*`, strings.Repeat("'", 1000),
	}
	for _, s := range hostile {
		c := follower(s, s, "")
		c.Namespace, c.Run, c.Version, c.Source = s, s, s, checkpoint.Source(s)
		c.Metadata = map[string]string{s: s}
		put(t, store, c, "")
		write := checkpoint.Write{Task: s, Channel: s, Data: []byte(s)}
		require.NoError(t, store.PutWrites(ctx, c.Key, []checkpoint.Write{write}), "%q: put writes", s)
		got, err := store.Get(ctx, c.Key)
		require.Equal(t, nil, err)
		assert.Equal(t, c.Key, got.Key, "%q", s)
		assert.Equal(t, s, got.Run, "%q", s)
		assert.Equal(t, s, got.Version, "%q", s)
		assert.Equal(t, s, string(got.Source), "%q", s)
		assert.Equal(t, s, got.Metadata[s], "%q", s)
		assert.Len(t, got.Writes, 1, "%q", s)
		assert.Equal(t, s, got.Writes[0].Task, "%q", s)
		assert.Equal(t, s, got.Writes[0].Channel, "%q", s)
		q := checkpoint.Query{
			Thread: s, Namespace: s, Source: checkpoint.Source(s), Run: s, Metadata: map[string]string{s: s}, Limit: 2,
		}
		assert.Equal(t, 1, count(t, store, q))
		q.Metadata[s+"'"] = s
		assert.Equal(t, 0, count(t, store, q))
		assert.Equal(t, 0, count(t, store, checkpoint.Query{Thread: "witness", Metadata: map[string]string{s: s}}))
	}
	for _, s := range hostile {
		require.NoError(t, store.DeleteRuns(ctx, s, s), "%q: delete run", s)
		require.NoError(t, store.DeleteThread(ctx, s), "%q: delete", s)
	}
	var left []string
	for info, err := range store.ListThreads(ctx, "") {
		require.NoError(t, err)
		left = append(left, info.ID)
	}
	assert.Equal(t, "[witness]", fmt.Sprint(left), "threads that are left")
}

func count(t *testing.T, store checkpoint.Store, q checkpoint.Query) int {
	t.Helper()
	n := 0
	for _, err := range store.List(context.Background(), q) {
		require.NoError(t, err)
		n++
	}
	return n
}

// A filter of metadata may have any number of pairs.
func TestListFiltersByManyMetadataPairs(t *testing.T) {
	t.Parallel()
	store := open(t, sqlitecheckpoint.Memory, options)
	c := follower("t", "a", "")
	c.Metadata = map[string]string{}
	const pairs = 600
	for i := range pairs {
		c.Metadata[fmt.Sprint("key ", i)] = fmt.Sprint(i)
	}
	put(t, store, c, "")
	filter := map[string]string{}
	for i := range pairs {
		filter[fmt.Sprint("key ", i)] = fmt.Sprint(i)
		if i > 150 && i < pairs-1 {
			continue
		}
		n := count(t, store, checkpoint.Query{Thread: "t", Metadata: filter})
		require.EqualValues(t, 1, n, "%d pairs", len(filter))
	}
	filter["key 7"] = "8"
	assert.Equal(t, 0, count(t, store, checkpoint.Query{Thread: "t", Metadata: filter}))
}

// A loop over List may call the store, even if the store has only one connection.
func TestLoopOverListMayWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, path := range []string{sqlitecheckpoint.Memory, filepath.Join(t.TempDir(), "weft.db")} {
		store := open(t, path, options)
		const n = 150
		for i := range n {
			put(t, store, messageStep("t", i+1), headOf(i))
		}
		seen := 0
		for c, err := range store.List(ctx, checkpoint.Query{Thread: "t"}) {
			require.NoError(t, err)
			require.Equal(t, stepID(n-seen), c.ID, path)
			put(t, store, messageStep("t", n+seen+1), stepID(n+seen))
			_, err := store.Get(ctx, c.Key)
			require.NoError(t, err)
			seen++
		}
		assert.Equal(t, n, seen)
	}
}

func headOf(i int) string {
	if i == 0 {
		return ""
	}
	return stepID(i)
}

// A superstep writes one page of the database. Some supersteps write one more, because a
// page is full or cp_mark gets an entry.
func TestStepWritesOnePage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	store := open(t, path, options)
	put(t, store, small(1), "")
	before := walSize(t, path)
	const steps = 192
	for n := 2; n < steps+2; n++ {
		put(t, store, small(n), stepID(n-1))
	}
	const frame = 4096 + 24
	pages := (walSize(t, path) - before) / frame
	assert.GreaterOrEqual(t, pages, int64(steps), "pages for %d steps", steps)
	assert.LessOrEqual(t, pages, int64(steps*13/10), "pages for %d steps", steps)
}

func small(n int) checkpoint.Checkpoint {
	c := follower("t", stepID(n), headOf(n-1))
	c.Settles = true
	return c
}

func walSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	return info.Size()
}

// When the database is full, writes return ErrFull. Stored checkpoints can be read, and a
// removal makes room.
func TestFullDatabaseCanBeReadAndPruned(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "weft.db")
	store := open(t, path, sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal, MaxSize: 400 << 10})
	put(t, store, messageStep("other", 1), "")
	n := fill(t, store)
	require.GreaterOrEqual(t, n, 50)
	c, err := store.Get(ctx, checkpoint.Key{Thread: "t"})
	require.NoError(t, err)
	require.Equal(t, stepID(n), c.ID, "when full")
	require.Len(t, c.Lineage, n, "when full")
	k := checkpoint.Key{Thread: "other", ID: stepID(1)}
	large := []checkpoint.Write{{Task: "a", Data: make([]byte, 64<<10)}}
	assert.ErrorIs(t, store.PutWrites(ctx, k, large), sqlitecheckpoint.ErrFull)
	require.NoError(t, store.DeleteThread(ctx, "t"), "delete when full")
	require.NoError(t, store.PutWrites(ctx, k, large), "put writes after that")
	again := fill(t, store)
	assert.GreaterOrEqual(t, again, n/2, "steps that fit after the removal")
}

// fill puts steps until the database is full, and returns their number.
func fill(t *testing.T, store *sqlitecheckpoint.Store) int {
	t.Helper()
	for n := 0; ; n++ {
		err := store.Put(context.Background(), messageStep("t", n+1), headOf(n))
		if err == nil {
			continue
		}
		require.ErrorIs(t, err, sqlitecheckpoint.ErrFull)
		for _, want := range []string{"weft.db", `thread "t"`, stepID(n + 1)} {
			require.ErrorContains(t, err, want)
		}
		return n
	}
}

// Damage that SQLite itself detects is reported as ErrCorrupt.
func TestDamagedFileIsReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	store := open(t, path, options)
	for i := range 50 {
		put(t, store, messageStep("t", i+1), headOf(i))
	}
	require.NoError(t, store.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := 30 * 4096; at < len(b); at += 4096 {
		clear(b[at : at+100])
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
	_, err = open(t, path, options).Get(context.Background(), checkpoint.Key{Thread: "t"})
	assert.ErrorIs(t, err, checkpoint.ErrCorrupt)
}

// If a column other than a value is damaged, Get returns an error.
func TestDamagedColumnsAreReported(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	changes := map[string]string{
		"id":        `UPDATE cp_step SET id = 'other' WHERE key & 4294967295 = 2`,
		"step":      `UPDATE cp_step SET step = step + 1 WHERE key & 4294967295 = 2`,
		"source":    `UPDATE cp_step SET source = 1 WHERE key & 4294967295 = 2`,
		"time":      `UPDATE cp_step SET time = time + 1 WHERE key & 4294967295 = 2`,
		"parent":    `UPDATE cp_step SET parent = 0 WHERE key & 4294967295 = 2`,
		"control":   `UPDATE cp_step SET control = x'00' WHERE key & 4294967295 = 2`,
		"origin":    `UPDATE cp_step SET origin = 99 WHERE key & 4294967295 = 2`,
		"run":       `UPDATE cp_origin SET run = 'other'`,
		"label":     `UPDATE cp_label SET value = 'other'`,
		"namespace": `UPDATE cp_step SET namespace = 99 WHERE key & 4294967295 = 2`,
		"base":      `UPDATE cp_step SET base = x'0102' WHERE key & 4294967295 = 2`,
		"ancestor":  `DELETE FROM cp_step WHERE key & 4294967295 = 1`,
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "weft.db")
			store := open(t, path, options)
			for _, id := range []string{"a", "b"} {
				c := follower("t", id, "")
				c.Namespace, c.Metadata = "ns", map[string]string{"k": "v"}
				head := ""
				if id == "b" {
					c.Parent, head = "a", "a"
				}
				put(t, store, c, head)
			}
			require.NoError(t, store.Close())
			_, err := rawDB(t, path).Exec(change)
			require.NoError(t, err)
			again := open(t, path, options)
			_, err = again.Get(ctx, checkpoint.Key{Thread: "t", Namespace: "ns", ID: "b"})
			// If a column of the lookup is damaged, the checkpoint is not found.
			assert.True(t, errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrNotFound), "got error %v", err)
		})
	}
}

// CopyThread and Prune handle a thread that needs several batches, in a store with more threads
// than it caches.
func TestLongThreadIsCopiedAndPrunedCompletely(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := open(t, sqlitecheckpoint.Memory, options)
	const steps = 4500
	for n := 1; n <= steps; n++ {
		put(t, store, small(n), headOf(n-1))
		put(t, store, follower(fmt.Sprint("other ", n), "a", ""), "")
	}
	require.NoError(t, store.CopyThread(ctx, "t", "copy"))
	removed, err := store.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{"copy"}})
	require.NoError(t, err)
	require.Equal(t, steps-1, removed)
	for _, thread := range []string{"t", "copy"} {
		c, err := store.Get(ctx, checkpoint.Key{Thread: thread})
		require.NoError(t, err, thread)
		require.Len(t, c.Lineage, steps, thread)
		for i, d := range c.Lineage {
			require.Equal(t, stepID(i+1), d.ID, "%s: delta %d", thread, i)
			require.Equal(t, d.ID, string(d.Changes[0].Data), "%s: delta %d", thread, i)
		}
	}
	assert.Equal(t, 1, count(t, store, checkpoint.Query{Thread: "copy"}))
}

// A call that waits for a lock of another process ends soon after its context.
func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	store := open(t, path, options)
	put(t, store, follower("t", "a", ""), "")
	_, err := rawDB(t, path).Exec(`BEGIN IMMEDIATE`)
	require.NoError(t, err)
	k := checkpoint.Key{Thread: "t", ID: "a"}
	calls := map[string]func(ctx context.Context) error{
		"put":        func(ctx context.Context) error { return store.Put(ctx, follower("t", "b", "a"), "a") },
		"put writes": func(ctx context.Context) error { return store.PutWrites(ctx, k, []checkpoint.Write{{Task: "a"}}) },
		"delete":     func(ctx context.Context) error { return store.DeleteThread(ctx, "t") },
		"prune": func(ctx context.Context) error {
			_, err := store.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{"t"}})
			return err
		},
		"copy":        func(ctx context.Context) error { return store.CopyThread(ctx, "t", "u") },
		"delete runs": func(ctx context.Context) error { return store.DeleteRuns(ctx, "t", "run") },
	}
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		start := time.Now()
		require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
		assert.Less(t, time.Since(start), 2*time.Second, name)
		cancel()
	}
}

// damages are statements that damage the thread b.
var damages = map[string]string{
	"newest":   `UPDATE cp_step SET parent = parent + 1 WHERE step = 3 AND key / 4294967296 = (SELECT key FROM cp_thread WHERE id = 'b')`,
	"older":    `UPDATE cp_step SET changes = x'0102' WHERE step = 2 AND key / 4294967296 = (SELECT key FROM cp_thread WHERE id = 'b')`,
	"format":   `UPDATE cp_step SET changes = x'63' || changes WHERE step = 2 AND key / 4294967296 = (SELECT key FROM cp_thread WHERE id = 'b')`,
	"writes":   `UPDATE cp_pending SET data = zeroblob(length(data)) WHERE step / 4294967296 = (SELECT key FROM cp_thread WHERE id = 'b')`,
	"row":      `UPDATE cp_thread SET created = created + 1 WHERE id = 'b'`,
	"no steps": `DELETE FROM cp_step WHERE key / 4294967296 = (SELECT key FROM cp_thread WHERE id = 'b')`,
}

// damagedStore returns a store of five threads of three checkpoints. All wait for an answer, and b is
// damaged.
func damagedStore(t *testing.T, name string) *sqlitecheckpoint.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weft.db")
	store := open(t, path, options)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		for i, parent := range []string{"", "1", "2"} {
			c := follower(id, strconv.Itoa(i+1), parent)
			c.Step = i + 1
			put(t, store, c, parent)
		}
		require.NoError(t, store.PutWrites(t.Context(), checkpoint.Key{Thread: id, ID: "3"}, []checkpoint.Write{
			{Task: "ask~1", Index: -1, Channel: "$ask", Data: []byte(`[{"kind":"question","node":"ask"}]`)},
		}))
	}
	_, err := rawDB(t, path).Exec(damages[name])
	require.NoError(t, err)
	return store
}

// A damaged thread is listed with its id alone, and the other threads also with their times.
func TestAListOfThreadsGoesOnAfterADamagedOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"newest", "row", "no steps"} {
		store := damagedStore(t, name)
		var seen []string
		for info, err := range store.ListThreads(t.Context(), "") {
			seen = append(seen, info.ID)
			assert.Equal(t, info.ID == "b", errors.Is(err, checkpoint.ErrCorrupt), "%s: %s: %v", name, info.ID, err)
			assert.Equal(t, info.ID == "b", info.Updated.IsZero(), "%s: %s", name, info.ID)
		}
		assert.Equal(t, []string{"a", "b", "c", "d", "e"}, seen, name)
	}
}

// A thread whose pending writes are damaged is listed without a node, and the other threads with their nodes.
func TestAListByStatusGoesOnAfterADamagedThread(t *testing.T) {
	t.Parallel()
	store := damagedStore(t, "writes")
	list := func(q checkpoint.StatusQuery) (found []string, faults int) {
		q.Status = checkpoint.Paused
		for s, err := range store.ListStatus(t.Context(), q) {
			found = append(found, s.Node+"/"+s.Thread)
			assert.Equal(t, s.Thread == "b", errors.Is(err, checkpoint.ErrFormat), "%v", err)
			if err != nil {
				assert.ErrorContains(t, err, `thread "b"`)
				faults++
			}
		}
		return found, faults
	}
	found, faults := list(checkpoint.StatusQuery{})
	assert.Equal(t, []string{"/b", "ask/a", "ask/c", "ask/d", "ask/e"}, found)
	assert.Equal(t, 1, faults)
	found, _ = list(checkpoint.StatusQuery{Limit: 2})
	assert.Equal(t, []string{"/b", "ask/a"}, found)
	found, _ = list(checkpoint.StatusQuery{Limit: 2, Node: "ask", After: checkpoint.ThreadStatus{Thread: "b"}})
	assert.Equal(t, []string{"ask/a", "ask/c"}, found)
}

// Prune removes the old checkpoints of every thread except the damaged one. Its error names the damaged thread.
func TestADamagedThreadDoesNotStopPrune(t *testing.T) {
	t.Parallel()
	for name := range damages {
		if name == "writes" {
			continue // Prune does not read them
		}
		for _, threads := range [][]string{nil, {"a", "b", "c", "d", "e"}} {
			store := damagedStore(t, name)
			n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{Threads: threads, KeepLast: 1})
			if name == "no steps" && threads != nil {
				require.NoError(t, err)
				continue // there is nothing left to read
			}
			require.Error(t, err, name)
			fault, ok := errors.AsType[*checkpoint.ThreadError](err)
			require.True(t, ok, "%s: %v", name, err)
			assert.Equal(t, "b", fault.Thread)
			require.ErrorContains(t, err, `"b"`)
			assert.True(t, errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrFormat), "%s: %v", name, err)
			assert.Equal(t, 4*2, n, "%s %v", name, threads)
		}
	}
}
