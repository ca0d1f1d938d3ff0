//go:build unix

package fault_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

var update = flag.Bool("update", false, "rewrite testdata; only for a format that was never released")

// goldenTables lists the tables. A table follows the tables that its foreign keys refer to.
var goldenTables = []string{"cp_thread", "cp_space", "cp_origin", "cp_step", "cp_write", "cp_tag"}

// F12: every later version must read rows of the first version, and add steps to their
// threads. Its migrations must succeed on tables with such rows.
func TestF12ReadsRowsOfTheFirstVersion(t *testing.T) {
	begin(t)
	ctx := t.Context()
	const folder = "testdata/v1"
	o := newSchema(t)
	store, pool := openPool(t, pgtest.DirectURL(t), o)
	if *update {
		fillGolden(t, store)
		for _, table := range goldenTables {
			var b bytes.Buffer
			copyTable(t, pool, &b, nil, fmt.Sprintf("COPY %s.%s TO STDOUT WITH (HEADER)", o.Schema, table))
			assert.NoError(t, os.WriteFile(filepath.Join(folder, table+".txt"), b.Bytes(), 0o644), table)
		}
		assert.NoError(t, os.WriteFile(filepath.Join(folder, "want.txt"), []byte(dumpStore(t, store)), 0o644), "spell")
	}
	pgtest.Do(t, pgtest.DirectURL(t), fmt.Sprintf("TRUNCATE %s.cp_thread RESTART IDENTITY; TRUNCATE %[1]s.cp_space, %[1]s.cp_origin, %[1]s.cp_step, %[1]s.cp_write, %[1]s.cp_tag", o.Schema))
	for _, table := range goldenTables {
		b, err := os.ReadFile(filepath.Join(folder, table+".txt"))
		require.NoError(t, err)
		b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
		header, rows, _ := bytes.Cut(b, []byte("\n"))
		// Later versions may have more columns.
		columns := strings.Join(strings.Split(string(header), "\t"), ", ")
		copyTable(t, pool, nil, bytes.NewReader(rows), fmt.Sprintf("COPY %s.%s (%s) FROM STDIN", o.Schema, table, columns))
	}
	want, err := os.ReadFile(filepath.Join(folder, "want.txt"))
	require.NoError(t, err)
	assert.Equal(t, string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))), dumpStore(t, store))
	head, err := store.Get(ctx, checkpoint.Key{Thread: "chat"})
	require.NoError(t, err)
	c := step("chat", stepID(99), head.ID, "later")
	assert.NoError(t, store.Put(ctx, c, head.ID), "the next step")
	removed, err := store.Repair(ctx, "chat")
	require.NoError(t, err)
	assert.Zero(t, removed, "checkpoints that Repair removed")
}

func copyTable(t *testing.T, pool *pgxpool.Pool, to *bytes.Buffer, from *bytes.Reader, sql string) {
	t.Helper()
	conn, err := pool.Acquire(context.Background())
	require.NoError(t, err)
	defer conn.Release()
	if to != nil {
		_, err = conn.Conn().PgConn().CopyTo(context.Background(), to, sql)
	} else {
		_, err = conn.Conn().PgConn().CopyFrom(context.Background(), from, sql)
	}
	require.NoError(t, err, "%s", sql)
}

// fillGolden stores a thread that uses every feature of the storage format.
func fillGolden(t *testing.T, store *pgcheckpoint.Store) {
	t.Helper()
	ctx := context.Background()
	head := ""
	for n := range 40 {
		c := step("chat", stepID(n+1), head, fmt.Sprint("line ", n))
		c.Step, c.Version, c.Control = n, "v1", fmt.Appendf(nil, "control %d", n)
		c.Run = fmt.Sprint("run ", n/10)
		c.Metadata = map[string]string{"user": "ada", "turn": fmt.Sprint(n / 10)}
		switch n {
		case 5:
			c.Snapshot = []checkpoint.Change{{Channel: "c", Kind: 7, Data: []byte("all")}, {Channel: "nil"}}
		case 12:
			c.Parent, c.Source = stepID(8), checkpoint.Fork
		case 20:
			c.Source = checkpoint.Edited
		case 21:
			c.Source, c.Control = "another source", nil
		case 30:
			c.ID = "an id in text"
		case 33:
			c.Changes[0].Data = bytes.Repeat([]byte("something long. "), 100)
		}
		assert.NoError(t, store.Put(ctx, c, head), "put")
		head = c.ID
	}
	sub := step("chat", "sub 1", "", "below")
	sub.Namespace, sub.Source = "sub/1", checkpoint.Input
	assert.NoError(t, store.Put(ctx, sub, ""), "put")
	assert.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: "chat", ID: head}, []checkpoint.Write{
		{Task: "a", Index: -1, Channel: "$answer", Kind: 1, Data: []byte("yes")},
		{Task: "b", Index: 2, Channel: "lines", Kind: 2, Data: bytes.Repeat([]byte("pending "), 100)},
	}), "writes")
	assert.NoError(t, store.Tag(ctx, checkpoint.Key{Thread: "chat", ID: stepID(3)}, "milestone"), "tag")
	_, err := store.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{"chat"}, KeepLast: 30})
	assert.NoError(t, err, "prune")
}

// dumpStore returns the contents of the thread chat as text, without times.
func dumpStore(t *testing.T, store *pgcheckpoint.Store) string {
	t.Helper()
	var b strings.Builder
	var all []checkpoint.Checkpoint
	for c, err := range store.List(t.Context(), checkpoint.Query{Thread: "chat", AllNamespaces: true}) {
		require.NoError(t, err)
		all = append(all, c)
	}
	for _, listed := range slices.Backward(all) {
		c, err := store.Get(t.Context(), listed.Key)
		require.NoError(t, err)
		lineage := ""
		for _, d := range c.Lineage {
			lineage += fmt.Sprintf(" %s/%s/%t", d.ID, d.Source, d.Snapshot)
			for _, change := range d.Changes {
				lineage += fmt.Sprintf(" %s:%d:%.40s", change.Channel, change.Kind, change.Data)
			}
		}
		fmt.Fprintf(&b, "%q %q %q %q step %d %s run %q version %q meta %v control %q snapshot %d\n", c.Thread, c.Namespace, c.ID, c.Parent,
			c.Step, c.Source, c.Run, c.Version, c.Metadata, c.Control, len(c.Snapshot))
		fmt.Fprintf(&b, " %s\n", lineage)
		for _, w := range c.Writes {
			fmt.Fprintf(&b, "  write %s %d %s %d %.40s\n", w.Task, w.Index, w.Channel, w.Kind, w.Data)
		}
	}
	return b.String()
}
