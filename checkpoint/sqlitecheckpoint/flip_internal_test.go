package sqlitecheckpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// flipColumns lists the tables with their primary keys and their other columns.
var flipColumns = []struct {
	table, keys string
	columns     string
}{
	{"cp_thread", "key", "id created missing"},
	{"cp_namespace", "key", "thread name"},
	{"cp_origin", "key", "thread digest run version"},
	{"cp_label", "origin name", "value"},
	{"cp_step", "key", "namespace parent id step source origin time whole control changes snapshot base seal"},
	{"cp_mark", "thread id", "key"},
	{"cp_pending", "step task number", "data"},
}

// lookupColumns has the columns by which rows are found. If one of them is damaged, a lookup
// may miss the row, but it must not return another row instead.
var lookupColumns = []string{
	"cp_thread.key", "cp_thread.id", "cp_namespace.key", "cp_namespace.thread", "cp_namespace.name",
	"cp_step.key", "cp_step.id", "cp_pending.step",
}

// If any bit of a row is flipped, each lookup returns an error or the same result as before. Flipping all bits takes
// minutes with the race detector, so the test flips every 11th bit of a value. With WEFT_FAULTS=1, it flips all bits.
func TestEveryFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	f := newFlipper(t)
	each, flips := 11, 0
	if os.Getenv("WEFT_FAULTS") == "1" {
		each = 1
	}
	for _, c := range flipColumns {
		keys := strings.Fields(c.keys)
		for _, column := range append(slices.Clone(keys), strings.Fields(c.columns)...) {
			for _, row := range f.rows(c.table, append(slices.Clone(keys), column)) {
				flips += f.flipAll(c.table, column, keys, row, each)
			}
		}
	}
	t.Logf("%d flips", flips)
	assert.Greater(t, flips*each, 10_000)
}

// A flipper flips each bit of the rows of a store, one at a time, and compares the results of
// all lookups with want.
type flipper struct {
	*testing.T
	store *Store
	want  map[string][]string // the lines of the undamaged store, by lookup
	all   map[string]bool     // the lines of all lookups
}

func newFlipper(t *testing.T) *flipper {
	t.Helper()
	ctx := context.Background()
	store, err := Open(ctx, Memory, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	heads := map[string]string{}
	put := func(namespace, id string, change func(c *checkpoint.Checkpoint)) {
		in := "t/" + namespace
		c := checkpoint.Checkpoint{
			Key:    checkpoint.Key{Thread: "t", Namespace: namespace, ID: id},
			Parent: heads[in], Step: len(heads), Source: checkpoint.Loop, Run: "r1", Version: "v",
			Metadata: map[string]string{"k": "v"}, Control: []byte("x"),
			Changes: []checkpoint.Change{{Channel: "c", Kind: 1, Data: []byte(id)}},
		}
		if change != nil {
			change(&c)
		}
		require.NoError(t, store.Put(ctx, c, heads[in]))
		heads[in] = id
	}
	put("", "a", nil)
	put("", "0197a6b0-0000-7028-8000-000000000028", func(c *checkpoint.Checkpoint) { c.Source = checkpoint.Edited })
	put("", "b", func(c *checkpoint.Checkpoint) {
		c.Snapshot = []checkpoint.Change{{Channel: "c", Data: []byte("s")}}
	})
	put("", "c", func(c *checkpoint.Checkpoint) { c.Parent, c.Source, c.Run = "a", checkpoint.Fork, "r2" })
	put("~s", "d", nil)
	put("", "e", func(c *checkpoint.Checkpoint) { c.Run = "r2" })
	put("~s", "f", nil)
	require.NoError(t, store.DeleteRuns(ctx, "t", "none"))
	require.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: "e"}, []checkpoint.Write{
		{Task: "x", Index: -1, Channel: "$q", Kind: 3, Data: []byte("w")}, {Task: "y", Channel: "c"},
	}))
	require.NoError(t, store.CopyThread(ctx, "t", "u"))
	_, err = store.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{"u"}})
	require.NoError(t, err)
	f := &flipper{T: t, store: store, all: map[string]bool{}}
	f.want = map[string][]string{}
	for name, l := range f.lookups() {
		lines, err := l()
		require.NoError(t, err, name)
		f.want[name] = lines
		for _, line := range lines {
			f.all[line] = true
		}
	}
	return f
}

// lookups returns functions that read the threads in every way, by name.
func (f *flipper) lookups() map[string]func() ([]string, error) {
	ctx, lookups := context.Background(), map[string]func() ([]string, error){}
	lookups["threads"] = func() (lines []string, _ error) {
		for info, err := range f.store.ListThreads(ctx, "") {
			if err != nil {
				return lines, err
			}
			lines = append(lines, fmt.Sprintf("thread %+v", info))
		}
		return lines, nil
	}
	list := func(q checkpoint.Query) func() ([]string, error) {
		return func() (lines []string, _ error) {
			for c, err := range f.store.List(ctx, q) {
				if err != nil {
					return lines, err
				}
				lines = append(lines, spellLines(&c)...)
			}
			return lines, nil
		}
	}
	get := func(k checkpoint.Key) func() ([]string, error) {
		return func() ([]string, error) {
			c, err := f.store.Get(ctx, k)
			if err != nil {
				return nil, err
			}
			lines := spellLines(&c)
			return append(lines, fmt.Sprintf("%s: changes %v, snapshot %v, lineage %v", k.Thread+c.ID, c.Changes, c.Snapshot, c.Lineage)), nil
		}
	}
	for _, thread := range []string{"t", "u"} {
		lookups["all "+thread] = list(checkpoint.Query{Thread: thread, AllNamespaces: true, Writes: true})
		lookups["run "+thread] = list(checkpoint.Query{Thread: thread, Run: "r2", Metadata: map[string]string{"k": "v"}})
		lookups["source "+thread] = list(checkpoint.Query{Thread: thread, Source: checkpoint.Fork})
		for _, namespace := range []string{"", "~s"} {
			lookups["newest "+thread+namespace] = get(checkpoint.Key{Thread: thread, Namespace: namespace})
			lookups["list "+thread+namespace] = list(checkpoint.Query{Thread: thread, Namespace: namespace})
		}
	}
	for _, id := range []string{"a", "0197a6b0-0000-7028-8000-000000000028", "b", "c", "e"} {
		lookups["get "+id] = get(checkpoint.Key{Thread: "t", ID: id})
	}
	lookups["get d"] = get(checkpoint.Key{Thread: "t", Namespace: "~s", ID: "d"})
	return lookups
}

// spellLines returns a line for a checkpoint and one for each of its pending writes.
func spellLines(c *checkpoint.Checkpoint) []string {
	lines := []string{fmt.Sprintf("%q after %q: %d %q %q %q %v %q %s", c.Key, c.Parent, c.Step, c.Source, c.Run, c.Version, c.Metadata, c.Control, c.Time)}
	for _, w := range c.Writes {
		lines = append(lines, fmt.Sprintf("%q: write %v", c.Key, w))
	}
	return lines
}

func (f *flipper) rows(table string, columns []string) (rows [][]any) {
	f.Helper()
	err := f.store.db.Write(context.Background(), func(w *sqlitedb.Session) error {
		return w.Each(`SELECT `+strings.Join(columns, ", ")+` FROM `+table, nil, func(scan func(...any) error) (bool, error) {
			row := make([]any, len(columns))
			dest := make([]any, len(columns))
			for i := range row {
				dest[i] = &row[i]
			}
			err := scan(dest...)
			rows = append(rows, row)
			return true, err
		})
	})
	require.NoError(f, err)
	return rows
}

// flipAll flips the first bit of a value, and then every bit whose index is a multiple of each, one at a time. The
// argument row has the values of the keys, followed by the value.
func (f *flipper) flipAll(table, column string, keys []string, row []any, each int) (flips int) {
	f.Helper()
	value := row[len(keys)]
	for i, damaged := range flipped(value) {
		if i%each != 0 {
			continue
		}
		where, moved := slices.Clone(row[:len(keys)]), slices.Clone(row[:len(keys)])
		if i := slices.Index(keys, column); i >= 0 {
			moved[i] = damaged
		}
		if f.set(table, column, keys, damaged, where) != nil {
			continue // violates a constraint
		}
		flips++
		f.check(table+"."+column, fmt.Sprintf("%v: %v -> %v", where, value, damaged))
		require.NoError(f, f.set(table, column, keys, value, moved))
	}
	return flips
}

// flipped returns copies of a value, each with one bit flipped.
func flipped(value any) (list []any) {
	flip := func(b []byte) (list [][]byte) {
		for bit := range 8 * len(b) {
			c := slices.Clone(b)
			c[bit/8] ^= 1 << (bit % 8)
			list = append(list, c)
		}
		return list
	}
	switch v := value.(type) {
	case int64:
		for bit := range 64 {
			list = append(list, v^1<<bit)
		}
	case []byte:
		for _, b := range flip(v) {
			list = append(list, b)
		}
	case string:
		for _, b := range flip([]byte(v)) {
			list = append(list, string(b))
		}
	}
	return list
}

func (f *flipper) set(table, column string, keys []string, value any, where []any) error {
	return f.store.db.Write(context.Background(), func(w *sqlitedb.Session) error {
		f.store.names = names{}
		_, err := w.Exec(`UPDATE `+table+` SET `+column+` = ? WHERE `+strings.Join(keys, ` = ? AND `)+` = ?`, append([]any{value}, where...)...)
		return err
	})
}

func (f *flipper) check(column, what string) {
	f.Helper()
	lookup := slices.Contains(lookupColumns, column)
	for name, l := range f.lookups() {
		lines, err := l()
		switch {
		case errors.Is(err, checkpoint.ErrCorrupt), lookup && errors.Is(err, checkpoint.ErrNotFound):
		case err != nil:
			assert.ErrorIs(f, err, checkpoint.ErrCorrupt, "%s %s: %s", column, what, name)
		case !lookup && !slices.Equal(lines, f.want[name]):
			assert.Equal(f, f.want[name], lines, "%s %s: %s", column, what, name)
		}
		// If the newest row is not found, ListThreads describes the checkpoint before it.
		if column == "cp_step.key" && name == "threads" {
			continue
		}
		for _, line := range lines {
			assert.True(f, f.all[line], "%s %s: %s: %q was never stored", column, what, name, line)
		}
	}
}
