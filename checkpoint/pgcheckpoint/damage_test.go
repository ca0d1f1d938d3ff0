package pgcheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// uncheckedColumns has the columns in which damage cannot always be detected. The
// documentation of the package describes the reasons.
var uncheckedColumns = []string{
	"cp_step.time", "cp_step.epoch", // epoch: read by Rollback only
	"cp_write.thread", "cp_write.seq",
	// If the thread or number of a checkpoint without children is damaged, the checkpoint is
	// not found, as if its row had been deleted. The store detects such damage only for the
	// head; see TestNumberOfTheHeadIsChecked. The newest checkpoint of a subgraph is not found
	// if its namespace is damaged.
	"cp_step.thread", "cp_step.seq",
	"cp_thread.id", "cp_thread.tenant", // a thread with another name is another thread
	"cp_thread.created", "cp_thread.steps", "cp_thread.at",
}

// fillVaried stores a thread with a fork, snapshots, subgraphs, several runs, metadata,
// pending writes and a base: the changes of removed ancestors.
func fillVaried(t *testing.T, store *pgcheckpoint.Store) {
	t.Helper()
	ctx := t.Context()
	putStep := func(n, parent int, namespace, head string, change func(c *checkpoint.Checkpoint)) {
		c := step("t", n)
		c.Parent, c.Namespace = "", namespace
		if parent > 0 {
			c.Parent = stepID(parent)
		}
		c.Run = fmt.Sprint("run-", n/5)
		if n > 4 {
			c.Metadata = map[string]string{"user": "ann", "place": "berlin"}
		}
		if change != nil {
			change(&c)
		}
		require.NoError(t, store.Put(ctx, c, head), "step %d", n)
	}
	snapshot := func(c *checkpoint.Checkpoint) {
		c.Snapshot = []checkpoint.Change{{Channel: "messages", Kind: 1, Data: []byte(`["all"]`)}}
	}
	putStep(1, 0, "", "", nil)
	putStep(2, 1, "", stepID(1), nil)
	putStep(3, 2, "", stepID(2), snapshot)
	putStep(4, 3, "", stepID(3), func(c *checkpoint.Checkpoint) { c.Source = checkpoint.Fork })
	putStep(5, 3, "", stepID(4), nil)
	putStep(6, 5, "", stepID(5), func(c *checkpoint.Checkpoint) { c.Version = "2" })
	putStep(7, 0, "sub@"+stepID(6), "", nil)
	putStep(8, 7, "sub@"+stepID(6), stepID(7), snapshot)
	putStep(9, 8, "sub@"+stepID(6), stepID(8), nil)
	putStep(10, 6, "", stepID(6), func(c *checkpoint.Checkpoint) { c.Run = "removed" })
	putStep(11, 10, "", stepID(10), nil)
	putStep(12, 11, "", stepID(11), func(c *checkpoint.Checkpoint) {
		c.ID = "a name"
		c.Changes = nil
	})
	require.NoError(t, store.DeleteRuns(ctx, "t", "removed")) // step 11 gets a base
	c := step("t", 13)
	c.Parent = "a name"
	require.NoError(t, store.Put(ctx, c, "a name"))
	require.NoError(t, store.PutWrites(ctx, c.Key, []checkpoint.Write{
		write("task"), {Task: "other", Index: -1, Channel: "c", Kind: 3, Data: []byte(strings.Repeat("long ", 200))},
	}))
	require.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: stepID(6)}, []checkpoint.Write{write("task")}))
}

// reads calls Get for each key, and List. It returns the result or the error of each call, by
// the name of the call.
func reads(ctx context.Context, store *pgcheckpoint.Store, keys []checkpoint.Key) map[string]any {
	results := map[string]any{}
	add := func(name string, result any, err error) {
		if err != nil {
			results[name] = err
			return
		}
		results[name] = fmt.Sprintf("%+v", result)
	}
	for _, k := range keys {
		c, err := store.Get(ctx, k)
		add(fmt.Sprintf("get %q %q", k.Namespace, k.ID), c, err)
	}
	var all []string
	for c, err := range store.List(ctx, checkpoint.Query{Thread: "t", AllNamespaces: true, Writes: true}) {
		if err != nil {
			results["list"] = err
			return results
		}
		all = append(all, fmt.Sprintf("%+v", c))
	}
	results["list"] = strings.Join(all, "\n")
	return results
}

// flips returns statements that each flip one bit of a column in the row ctid. A statement
// fails if the changed value is invalid in PostgreSQL. Unless WEFT_FAULTS is 1, flips chooses
// at most four bits at random.
func flips(table, column, kind, ctid string, size int, r *rand.Rand) []string {
	bits := size * 8
	change := "set_bit(%[1]s, %[2]d, 1 - get_bit(%[1]s, %[2]d))"
	switch kind {
	case "integer":
		change = "(%[1]s # (1 << %[2]d))"
	case "bigint":
		change = "(%[1]s # (1::bigint << %[2]d))"
	case "boolean":
		bits, change = 1, "NOT %[1]s"
	case "uuid":
		change = "encode(set_bit(uuid_send(%[1]s), %[2]d, 1 - get_bit(uuid_send(%[1]s), %[2]d)), 'hex')::uuid"
	case "text":
		change = "convert_from(set_bit(convert_to(%[1]s, 'UTF8'), %[2]d, 1 - get_bit(convert_to(%[1]s, 'UTF8'), %[2]d)), 'UTF8')"
	case "jsonb":
		change = "convert_from(set_bit(convert_to(%[1]s::text, 'UTF8'), %[2]d, 1 - get_bit(convert_to(%[1]s::text, 'UTF8'), %[2]d)), 'UTF8')::jsonb"
	}
	list := make([]string, 0, bits)
	for bit := range bits {
		list = append(list, fmt.Sprintf("UPDATE weft.%s SET %s = %s WHERE ctid = '%s'",
			table, column, strings.ReplaceAll(fmt.Sprintf(change, column, bit), "%!(EXTRA int="+fmt.Sprint(bit)+")", ""), ctid))
	}
	if most := 4; os.Getenv("WEFT_FAULTS") != "1" && len(list) > most {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:most]
	}
	return list
}

// After a change of any bit of a checked column, every read returns an error or the same
// result as before.
func TestEveryBitOfARowIsChecked(t *testing.T) {
	t.Parallel()
	p := newPlaceDirect(t)
	store := p.open(t)
	fillVaried(t, store)
	keys := []checkpoint.Key{{Thread: "t"}}
	for c, err := range store.List(t.Context(), checkpoint.Query{Thread: "t", AllNamespaces: true}) {
		require.NoError(t, err)
		keys = append(keys, c.Key)
	}
	conn := p.conn(t)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	damaged, err := pgcheckpoint.New(t.Context(), tx, p.options)
	require.NoError(t, err)
	want := reads(t.Context(), damaged, keys)
	for name, result := range want {
		require.IsType(t, "", result, name)
	}

	r := rand.New(rand.NewPCG(6, 6))
	for _, table := range []string{"cp_step", "cp_write", "cp_origin", "cp_space", "cp_thread"} {
		for _, c := range columnsOf(t, p, tx, table) {
			if slices.Contains(uncheckedColumns, table+"."+c.name) {
				continue
			}
			found, same := 0, 0
			for _, sql := range c.flips(r) {
				switch differs, err := flipBit(t, p, tx, sql, func() map[string]any { return reads(t.Context(), damaged, keys) }, want); {
				case err != nil:
					assert.NoError(t, err, "%s.%s", table, c.name)
				case differs:
					found++
				default:
					same++
				}
			}
			t.Logf("%s.%s: %d changes are found, %d have no effect", table, c.name, found, same)
		}
	}
}

// flipBit changes a bit, calls read, and undoes the change. It returns true if a read failed
// because of the damage. It returns an error if a read returned another result than want, or
// another error than ErrCorrupt, ErrFormat and ErrNotFound.
func flipBit(t *testing.T, p place, tx pgx.Tx, sql string, read func() map[string]any, want map[string]any) (bool, error) {
	t.Helper()
	point, err := tx.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = point.Rollback(t.Context()) }()
	if _, err := point.Exec(t.Context(), p.sql(sql), pgx.QueryExecModeExec); err != nil {
		return false, nil // not a valid value of the column
	}
	failed := false
	for name, got := range read() {
		if err, ok := got.(error); ok {
			failed = true
			if !errors.Is(err, checkpoint.ErrCorrupt) && !errors.Is(err, checkpoint.ErrFormat) && !errors.Is(err, checkpoint.ErrNotFound) {
				return true, fmt.Errorf("%s: after %s: %w", name, sql, err)
			}
			continue
		}
		if got != want[name] {
			return true, fmt.Errorf("%s: after %s: got another result", name, sql)
		}
	}
	return failed, nil
}

type column struct {
	table, name, kind string
	cells             []cell
}

// A cell is the value of a column in one row.
type cell struct {
	ctid string
	size int
}

func (c *column) flips(r *rand.Rand) []string {
	var list []string
	for _, x := range c.cells {
		list = append(list, flips(c.table, c.name, c.kind, x.ctid, x.size, r)...)
	}
	return list
}

func columnsOf(t *testing.T, p place, tx pgx.Tx, table string) []column {
	t.Helper()
	rows, err := tx.Query(t.Context(), `SELECT column_name, data_type FROM information_schema.columns
		WHERE table_schema = $1 AND table_name = $2 AND is_generated = 'NEVER' AND is_identity = 'NO' ORDER BY ordinal_position`,
		pgx.QueryExecModeExec, p.options.Schema, table)
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (column, error) {
		c := column{table: table}
		err := row.Scan(&c.name, &c.kind)
		return c, err
	})
	require.NoError(t, err)
	for i := range columns {
		c := &columns[i]
		size := map[string]string{
			"integer": "4", "bigint": "8", "boolean": "1", "uuid": "16", "text": "octet_length(%s)", "bytea": "octet_length(%s)",
			"jsonb": "octet_length(%s::text)", "timestamp with time zone": "0",
		}[c.kind]
		require.NotEmpty(t, size, c.kind)
		size = strings.ReplaceAll(size, "%s", c.name)
		rows, err := tx.Query(t.Context(), p.sql(fmt.Sprintf(`SELECT ctid::text, %s FROM weft.%s WHERE %s IS NOT NULL`, size, table, c.name)),
			pgx.QueryExecModeExec)
		require.NoError(t, err)
		c.cells, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (x cell, err error) {
			err = row.Scan(&x.ctid, &x.size)
			return x, err
		})
		require.NoError(t, err)
	}
	return columns
}

func TestNumberOfTheHeadIsChecked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 3)
	require.NoError(t, store.PutWrites(t.Context(), checkpoint.Key{Thread: "t", ID: stepID(3)}, []checkpoint.Write{write("a")}))
	for _, seq := range []int{7, 1<<30 + 3, -1 << 31} {
		do(t, p, `UPDATE weft.cp_step SET seq = $1 WHERE step = 3`, seq)
		_, err := store.Get(t.Context(), checkpoint.Key{Thread: "t"})
		require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	}
}

// If damage makes a checkpoint its own ancestor, Get and Prune return ErrCorrupt, and the run
// can be deleted.
func TestCycleOfParentsIsFound(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	for n := 1; n <= 6; n++ {
		c := step("t", n)
		if n > 1 {
			c.Parent = stepID(max(n-2, 1)) // two branches
		}
		head := ""
		if n > 1 {
			head = stepID(n - 1)
		}
		require.NoError(t, store.Put(t.Context(), c, head))
	}
	do(t, p, `UPDATE weft.cp_step SET parent = 6 WHERE seq = 4`)
	for _, n := range []int{4, 6} {
		_, err := store.Get(t.Context(), checkpoint.Key{Thread: "t", ID: stepID(n)})
		require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	}
	_, err := store.Prune(t.Context(), checkpoint.PrunePolicy{Threads: []string{"t"}, KeepLast: 1})
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.NoError(t, store.DeleteRuns(t.Context(), "t", "run"))
}

func TestRepairDropsADamagedHead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 3)
	do(t, p, `UPDATE weft.cp_thread SET head = gen_random_uuid()`)
	_, err := store.Get(t.Context(), checkpoint.Key{Thread: "t"})
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	held := lease(t, store, "t")
	_, err = held.Get(t.Context(), checkpoint.Key{Thread: "t"})
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)

	n, err := store.Repair(t.Context(), "t")
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Equal(t, stepID(3), newest(t, store, "t").ID)
	put(t, store, "t", 4)
	wantSteps(t, store, "t", 4)
}

// If damage moves the newest checkpoint of a thread to another namespace, Repair removes it.
func TestRepairRemovesAHeadInAnotherNamespace(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 3)
	do(t, p, `UPDATE weft.cp_step SET space = 4 WHERE seq = 3`)
	_, err := store.Get(t.Context(), checkpoint.Key{Thread: "t"})
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	n, err := store.Repair(t.Context(), "t")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, stepID(2), newest(t, store, "t").ID)
}
