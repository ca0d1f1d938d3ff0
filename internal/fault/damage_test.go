//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
)

// A damage is done to the row of a checkpoint, in SQL. $1 is the thread's id and $2 the
// number of the checkpoint in it.
type damage struct {
	name, sql string
	want      error
}

const damagedRow = ` FROM weft.cp_thread t WHERE s.thread = t.key AND t.id = $1::text AND s.seq = $2::int AND $3::int >= 0`

var damages = []damage{
	{"a bit of its changes", `UPDATE weft.cp_step s SET changes = set_bit(changes, 8 + $3::int % (length(changes) * 8 - 8), 1 - get_bit(changes, 8 + $3::int % (length(changes) * 8 - 8)))`, checkpoint.ErrCorrupt},
	{"a bit of its control", `UPDATE weft.cp_step s SET control = set_bit(control, $3::int % (length(control) * 8), 1 - get_bit(control, $3::int % (length(control) * 8)))`, checkpoint.ErrCorrupt},
	{"cut short", `UPDATE weft.cp_step s SET changes = substr(changes, 1, 1 + $3::int % (length(changes) - 1))`, checkpoint.ErrCorrupt},
	{"cut to nothing", `UPDATE weft.cp_step s SET changes = ''`, checkpoint.ErrCorrupt},
	{"a control of nothing", `UPDATE weft.cp_step s SET control = ''`, checkpoint.ErrCorrupt},
	{"another step", `UPDATE weft.cp_step s SET step = step + 1`, checkpoint.ErrCorrupt},
	{"another id", `UPDATE weft.cp_step s SET id = gen_random_uuid()`, checkpoint.ErrCorrupt},
	{"another thread's control", `UPDATE weft.cp_step s SET control = (SELECT o.control FROM weft.cp_step o WHERE o.thread <> s.thread AND o.seq = s.seq LIMIT 1)`, checkpoint.ErrCorrupt},
	{"an unknown format", `UPDATE weft.cp_step s SET changes = '\x7f'::bytea || substr(changes, 2)`, checkpoint.ErrFormat},
}

// F11: stored rows are damaged. That is found, whatever it is, other threads do not
// notice, and the thread goes on from its last sound step. F12: what is of a format that
// this version does not know is refused by that name.
func TestF11DamagedRows(t *testing.T) {
	seed := begin(t)
	const rounds = 2
	times := count(2, 112)
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	g, err := fan(store, rounds, nobodyHears)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), pgtest.DirectURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := goOn(t.Context(), g.Thread("other")); err != nil {
		t.Fatal(err)
	}
	r, found := dice(seed, 0), 0
	for i := range times {
		for n, d := range damages {
			thread := fmt.Sprint("t", i, ".", n)
			if _, err := goOn(t.Context(), g.Thread(thread)); err != nil {
				t.Fatal(err)
			}
			seq := 2 + r.IntN(fanSteps(rounds)-2)
			tag, err := conn.Exec(t.Context(), strings.ReplaceAll(d.sql+damagedRow, "weft.", o.Schema+"."),
				pgx.QueryExecModeExec, thread, seq, r.IntN(1<<20))
			if err != nil || tag.RowsAffected() != 1 {
				t.Fatalf("%s: %d rows, error %v", d.name, tag.RowsAffected(), err)
			}
			err = readAll(t.Context(), store, thread)
			if !errors.Is(err, d.want) {
				t.Errorf("%s of checkpoint %d: got error %v want %v", d.name, seq, err, d.want)
				continue
			}
			found++
			repair(t, g, store, thread, rounds, d.want)
		}
	}
	wantNoErr(t, "another thread", checkThread(t.Context(), store, "other", rounds, nil))
	t.Logf("F11: %d damaged rows, all found; each thread went on from its last sound step", found)
}

// readAll reads every checkpoint of a thread, as far as it can.
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

// repair lets a thread go on from the last step that can be read. One of an unknown
// format stays as it is.
func repair(t *testing.T, g *graph.Graph, store *pgcheckpoint.Store, thread string, rounds int, damage error) {
	t.Helper()
	n, err := store.Repair(t.Context(), thread)
	if errors.Is(damage, checkpoint.ErrFormat) {
		wantErr(t, "repair", err, checkpoint.ErrFormat)
		return
	}
	if err != nil || n == 0 {
		t.Errorf("repair: %d were removed, error %v", n, err)
		return
	}
	if _, err := goOn(t.Context(), g.Thread(thread)); err != nil {
		t.Errorf("repaired: %v", err)
	}
	wantNoErr(t, "repaired", checkThread(t.Context(), store, thread, rounds, nil))
	if n, err := store.Repair(t.Context(), thread); n != 0 || err != nil {
		t.Errorf("repair of a sound thread: %d were removed, error %v", n, err)
	}
}

// Repair keeps what can be read behind a damaged row, since it begins with a snapshot,
// and does not empty a thread.
func TestF11RepairKeeps(t *testing.T) {
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
		wantNoErr(t, "put", store.Put(ctx, c, head))
		head = c.ID
	}
	pgtest.Do(t, pgtest.DirectURL(t), `UPDATE `+o.Schema+`.cp_step SET changes = '' WHERE seq = 2`)
	if n, err := store.Repair(ctx, "t"); n != 2 || err != nil {
		t.Errorf("%d were removed, error %v want 2", n, err)
	}
	c, err := store.Get(ctx, checkpoint.Key{Thread: "t"})
	if got := strings.Join(lines(&c), " "); err != nil || got != "all 4 5" {
		t.Errorf("got %q, error %v", got, err)
	}
	wantNoErr(t, "what is left", readAll(ctx, store, "t"))
	pgtest.Do(t, pgtest.DirectURL(t), `UPDATE `+o.Schema+`.cp_step SET changes = ''`)
	_, err = store.Repair(ctx, "t")
	wantErr(t, "of nothing", err, checkpoint.ErrCorrupt)
	if n := pgtest.Ask[int](t, pgtest.DirectURL(t), `SELECT count(*)::int FROM `+o.Schema+`.cp_step`); n != 4 {
		t.Errorf("%d rows are left, want 4", n)
	}
	n, err := store.Repair(ctx, "none")
	if n != 0 || err != nil {
		t.Errorf("of a thread that does not exist: %d, error %v", n, err)
	}
}

// F11, rows of one thread in another: with encryption every value is bound to its place.
func TestF11SwappedRows(t *testing.T) {
	begin(t)
	times := count(4, 100)
	o := newSchema(t)
	plain := open(t, pgtest.DirectURL(t), o)
	store, err := checkpoint.Encrypted(plain, checkpoint.KeyRing{Active: "k", Keys: map[string][]byte{"k": make([]byte, checkpoint.KeySize)}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range times {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		for _, thread := range []string{a, b} {
			head := ""
			for n := range 3 {
				c := step(thread, stepID(n+1), head, fmt.Sprint(thread, n))
				if err := store.Put(t.Context(), c, head); err != nil {
					t.Fatal(err)
				}
				head = c.ID
			}
		}
		column := []string{"changes", "control"}[i%2]
		conn, err := pgx.Connect(t.Context(), pgtest.DirectURL(t))
		if err != nil {
			t.Fatal(err)
		}
		tag, err := conn.Exec(t.Context(), strings.NewReplacer("weft.", o.Schema+".", "COLUMN", column).Replace(`
			UPDATE weft.cp_step s SET COLUMN = o.COLUMN FROM weft.cp_step o, weft.cp_thread x, weft.cp_thread y
			WHERE s.seq = 2 AND o.seq = 2 AND s.thread = x.key AND o.thread = y.key
			AND (x.id = $1::text AND y.id = $2::text OR x.id = $2::text AND y.id = $1::text)`), pgx.QueryExecModeExec, a, b)
		if err = errors.Join(err, conn.Close(t.Context())); err != nil || tag.RowsAffected() != 2 {
			t.Fatalf("%d rows, error %v", tag.RowsAffected(), err)
		}
		for _, thread := range []string{a, b} {
			err := readAll(t.Context(), store, thread)
			if !errors.Is(err, checkpoint.ErrDecrypt) && !errors.Is(err, checkpoint.ErrCorrupt) {
				t.Errorf("%s with the %s of another: got error %v", thread, column, err)
			}
		}
	}
	t.Logf("F11: %d swaps, all found", times)
}
