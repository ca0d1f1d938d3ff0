//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
)

// A damage is an SQL statement that damages the row of a checkpoint. Its arguments are the
// id of the thread, the number of the checkpoint in the thread, and a random number.
type damage struct {
	name, sql string
	want      error
}

const damagedRow = ` FROM weft.cp_thread t WHERE s.thread = t.key AND t.id = $1::text AND s.seq = $2::int AND $3::int >= 0`

var damages = []damage{
	{"a bit of its changes", `UPDATE weft.cp_step s SET changes = set_bit(changes, 8 + $3::int % (length(changes) * 8 - 8), 1 - get_bit(changes, 8 + $3::int % (length(changes) * 8 - 8)))`, checkpoint.ErrCorrupt},
	{"a bit of its control", `UPDATE weft.cp_step s SET control = set_bit(control, $3::int % (length(control) * 8), 1 - get_bit(control, $3::int % (length(control) * 8)))`, checkpoint.ErrCorrupt},
	{"truncated changes", `UPDATE weft.cp_step s SET changes = substr(changes, 1, 1 + $3::int % (length(changes) - 1))`, checkpoint.ErrCorrupt},
	{"empty changes", `UPDATE weft.cp_step s SET changes = ''`, checkpoint.ErrCorrupt},
	{"an empty control", `UPDATE weft.cp_step s SET control = ''`, checkpoint.ErrCorrupt},
	{"another step", `UPDATE weft.cp_step s SET step = step + 1`, checkpoint.ErrCorrupt},
	{"another id", `UPDATE weft.cp_step s SET id = gen_random_uuid()`, checkpoint.ErrCorrupt},
	{"the control of another thread", `UPDATE weft.cp_step s SET control = (SELECT o.control FROM weft.cp_step o WHERE o.thread <> s.thread AND o.seq = s.seq LIMIT 1)`, checkpoint.ErrCorrupt},
	{"an unknown format", `UPDATE weft.cp_step s SET changes = '\x7f'::bytea || substr(changes, 2)`, checkpoint.ErrFormat},
}

// F11: stored rows are damaged. Reads report the damage, and other threads are not
// affected. After Repair the thread resumes from its last undamaged step. F12: a row in an
// unknown format is reported as ErrFormat.
func TestF11DamagedRowsAreFoundAndRepaired(t *testing.T) {
	seed := begin(t)
	const rounds = 2
	times := count(2, 112)
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	g, err := fan(store, rounds, ignoreProgress)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), pgtest.DirectURL(t))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = startOrResume(t.Context(), g.Thread("other"))
	require.NoError(t, err)
	r, found := newRand(seed, 0), 0
	for i := range times {
		for n, d := range damages {
			thread := fmt.Sprint("t", i, ".", n)
			_, err := startOrResume(t.Context(), g.Thread(thread))
			require.NoError(t, err)
			seq := 2 + r.IntN(fanSteps(rounds)-2)
			tag, err := conn.Exec(t.Context(), strings.ReplaceAll(d.sql+damagedRow, "weft.", o.Schema+"."),
				pgx.QueryExecModeExec, thread, seq, r.IntN(1<<20))
			require.NoError(t, err, d.name)
			require.EqualValues(t, 1, tag.RowsAffected(), d.name)
			if !assert.ErrorIs(t, readAll(t.Context(), store, thread), d.want, "%s of checkpoint %d", d.name, seq) {
				continue
			}
			found++
			repair(t, g, store, thread, rounds, d.want)
		}
	}
	assert.NoError(t, checkThread(t.Context(), store, "other", rounds, nil), "another thread")
	t.Logf("F11: %d of %d damaged rows found; each thread resumed from its last undamaged step", found, times*len(damages))
}

// readAll reads every checkpoint of a thread. It returns the first error.
func readAll(ctx context.Context, store checkpoint.Store, thread string) error {
	if _, err := store.Get(ctx, checkpoint.Key{Thread: thread}); err != nil {
		return err
	}
	for c, err := range store.List(ctx, checkpoint.Query{Thread: thread}) {
		if err != nil {
			return err
		}
		if _, err := store.Get(ctx, c.Key); err != nil {
			return err
		}
	}
	return nil
}

// repair repairs a thread, and resumes it from the last readable step. It checks that Repair
// does not change a thread that has rows in an unknown format.
func repair(t *testing.T, g *graph.Graph, store *pgcheckpoint.Store, thread string, rounds int, damage error) {
	t.Helper()
	n, err := store.Repair(t.Context(), thread)
	if errors.Is(damage, checkpoint.ErrFormat) {
		assert.ErrorIs(t, err, checkpoint.ErrFormat, "repair")
		return
	}
	if !assert.NoError(t, err, "repair") || !assert.NotZero(t, n, "checkpoints that Repair removed") {
		return
	}
	_, err = startOrResume(t.Context(), g.Thread(thread))
	assert.NoError(t, err, "repaired")
	assert.NoError(t, checkThread(t.Context(), store, thread, rounds, nil), "repaired")
	n, err = store.Repair(t.Context(), thread)
	require.NoError(t, err, "repair of an undamaged thread")
	assert.Zero(t, n, "checkpoints that Repair removed from an undamaged thread")
}

// F11: Repair removes a damaged row and the steps after it up to the next snapshot. It keeps
// the steps from this snapshot on. It never removes all steps of a thread.
func TestF11RepairKeepsStepsAfterASnapshot(t *testing.T) {
	begin(t)
	ctx := t.Context()
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	head := ""
	for n := range 6 {
		c := step("t", stepID(n+1), head, fmt.Sprint(n))
		if n == 3 {
			c.Snapshot = []checkpoint.Change{{Channel: "lines", Kind: 1, Data: []byte("all")}}
		}
		assert.NoError(t, store.Put(ctx, c, head), "put")
		head = c.ID
	}
	pgtest.Do(t, pgtest.DirectURL(t), `UPDATE `+o.Schema+`.cp_step SET changes = '' WHERE seq = 2`)
	n, err := store.Repair(ctx, "t")
	require.NoError(t, err)
	assert.Equal(t, 2, n, "removed checkpoints")
	c, err := store.Get(ctx, checkpoint.Key{Thread: "t"})
	require.NoError(t, err)
	assert.Equal(t, []string{"all", "4", "5"}, lines(&c))
	assert.NoError(t, readAll(ctx, store, "t"), "what is left")
	pgtest.Do(t, pgtest.DirectURL(t), `UPDATE `+o.Schema+`.cp_step SET changes = ''`)
	_, err = store.Repair(ctx, "t")
	assert.ErrorIs(t, err, checkpoint.ErrCorrupt, "repair of a thread without an undamaged step")
	assert.Equal(t, 4, pgtest.Ask[int](t, pgtest.DirectURL(t), `SELECT count(*)::int FROM `+o.Schema+`.cp_step`), "rows")
	n, err = store.Repair(ctx, "none")
	require.NoError(t, err, "repair of a thread that does not exist")
	assert.Zero(t, n)
}

// F11: values of two threads are swapped. Reads report the swap, since encryption
// authenticates the place of every value.
func TestF11EncryptionFindsSwappedRows(t *testing.T) {
	begin(t)
	times := count(4, 100)
	o := newSchema(t)
	plain := open(t, pgtest.DirectURL(t), o)
	store, err := checkpoint.Encrypted(plain, checkpoint.KeyRing{Active: "k", Keys: map[string][]byte{"k": make([]byte, checkpoint.KeySize)}})
	require.NoError(t, err)
	for i := range times {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		for _, thread := range []string{a, b} {
			head := ""
			for n := range 3 {
				c := step(thread, stepID(n+1), head, fmt.Sprint(thread, n))
				require.NoError(t, store.Put(t.Context(), c, head))
				head = c.ID
			}
		}
		column := []string{"changes", "control"}[i%2]
		conn, err := pgx.Connect(t.Context(), pgtest.DirectURL(t))
		require.NoError(t, err)
		tag, err := conn.Exec(t.Context(), strings.NewReplacer("weft.", o.Schema+".", "COLUMN", column).Replace(`
			UPDATE weft.cp_step s SET COLUMN = o.COLUMN FROM weft.cp_step o, weft.cp_thread x, weft.cp_thread y
			WHERE s.seq = 2 AND o.seq = 2 AND s.thread = x.key AND o.thread = y.key
			AND (x.id = $1::text AND y.id = $2::text OR x.id = $2::text AND y.id = $1::text)`), pgx.QueryExecModeExec, a, b)
		require.NoError(t, errors.Join(err, conn.Close(t.Context())))
		require.EqualValues(t, 2, tag.RowsAffected())
		for _, thread := range []string{a, b} {
			err := readAll(t.Context(), store, thread)
			if !errors.Is(err, checkpoint.ErrCorrupt) {
				assert.ErrorIs(t, err, checkpoint.ErrDecrypt, "%s with the %s of another thread", thread, column)
			}
		}
	}
	t.Logf("F11: %d swaps, all found", times)
}
