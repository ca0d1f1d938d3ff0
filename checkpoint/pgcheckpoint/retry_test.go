package pgcheckpoint_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// failing makes the next inserts of a step fail with a code of SQL's. The count is of
// a sequence, which a transaction that fails does not undo.
func failing(t *testing.T, p place, code string, times int) {
	t.Helper()
	for _, sql := range []string{
		`CREATE SEQUENCE weft.tries`,
		`CREATE FUNCTION weft.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('weft.tries') <= TG_ARGV[0]::int THEN RAISE EXCEPTION 'made to fail' USING ERRCODE = TG_ARGV[1]; END IF;
			RETURN NEW; END $$`,
		strings.NewReplacer("$TIMES", string(rune('0'+times)), "$CODE", code).Replace(
			`CREATE TRIGGER fail BEFORE INSERT ON weft.cp_step FOR EACH ROW EXECUTE FUNCTION weft.fail($TIMES, '$CODE')`),
	} {
		do(t, p, sql)
	}
}

// What is worth trying again is, and nothing else.
func TestRetries(t *testing.T) {
	t.Parallel()
	for code, c := range map[string]struct {
		times, tries int
		stored       bool
	}{
		"40001": {times: 3, tries: 4, stored: true},
		"40P01": {times: 4, tries: 5, stored: true},
		"57P01": {times: 3, tries: 4, stored: true},
		"53300": {times: 3, tries: 4, stored: true},
		"40002": {times: 3, tries: 1},
		"23505": {times: 3, tries: 1},
		"42501": {times: 3, tries: 1},
		"22P05": {times: 3, tries: 1},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			store := p.open(t)
			failing(t, p, code, c.times)
			err := store.Put(context.Background(), step("t", 1), "")
			if (err == nil) != c.stored {
				t.Errorf("got error %v want stored %t", err, c.stored)
			}
			if e, ok := errors.AsType[*pgconn.PgError](err); err != nil && (!ok || e.Code != code) {
				t.Errorf("got error %v want code %s", err, code)
			}
			if n := ask[int](t, p, `SELECT last_value::int FROM weft.tries`); n != c.tries {
				t.Errorf("it was tried %d times, want %d", n, c.tries)
			}
			want := 0
			if c.stored {
				want = 1
			}
			wantSteps(t, store, "t", want)
		})
	}
}

// Trying again has an end.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	failing(t, p, "40001", 9)
	err := store.Put(context.Background(), step("t", 1), "")
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "40001" {
		t.Errorf("got error %v want 40001", err)
	}
	if n := ask[int](t, p, `SELECT last_value::int FROM weft.tries`); n != 5 {
		t.Errorf("it was tried %d times, want 5", n)
	}
}

// A cutter drops connections when it is told to: as a statement is sent, or when its
// answer arrives.
type cutter struct {
	beforeWrite, beforeAnswer atomic.Bool
	cuts                      atomic.Int32
	meanwhile                 func() // what others do while nobody knows
}

type cutConn struct {
	net.Conn
	cutter *cutter
}

func (c cutConn) Write(b []byte) (int, error) {
	if c.cutter.beforeWrite.CompareAndSwap(true, false) {
		return 0, c.cut()
	}
	return c.Conn.Write(b)
}

func (c cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.cutter.beforeAnswer.CompareAndSwap(true, false) {
		return 0, c.cut()
	}
	return n, err
}

func (c cutConn) cut() error {
	c.cutter.cuts.Add(1)
	err := errors.Join(c.Conn.Close(), io.ErrUnexpectedEOF)
	if c.cutter.meanwhile != nil {
		c.cutter.meanwhile()
	}
	return err
}

func cutStore(t *testing.T, p place) (*pgcheckpoint.Store, *cutter) {
	t.Helper()
	cut := &cutter{}
	pool := p.pool(t, func(c *pgxpool.Config) {
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return cutConn{conn, cut}, err
		}
	})
	return p.migrated(t, pool), cut
}

// A connection that is lost when a statement is on its way, or its answer, loses and
// doubles nothing: the call is repeated, and finds out what became of the first.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store, cut := cutStore(t, p)
	const steps = 60
	for n := 1; n <= steps; n++ {
		switch n % 3 {
		case 1:
			cut.beforeWrite.Store(true)
		case 2:
			cut.beforeAnswer.Store(true)
		}
		put(t, store, "t", n)
		cut.beforeAnswer.Store(n%2 == 0)
		key := checkpoint.Key{Thread: "t", ID: stepID(n)}
		wantNoErr(t, "writes", store.PutWrites(ctx, key, []checkpoint.Write{write("a")}))
		cut.beforeAnswer.Store(n%5 == 0)
		held := lease(t, store, "t")
		if c := newest(t, held, "t"); c.ID != stepID(n) || len(c.Writes) != 1 {
			t.Fatalf("got %q with %d writes want %q with 1", c.ID, len(c.Writes), stepID(n))
		}
		cut.beforeAnswer.Store(n%7 == 0)
		wantNoErr(t, "release", held.Release(ctx))
	}
	if c := newest(t, store, "t"); len(c.Lineage) != steps {
		t.Errorf("got %d deltas want %d", len(c.Lineage), steps)
	}
	wantSteps(t, store, "t", steps)
	if n := cut.cuts.Load(); n < steps {
		t.Errorf("only %d connections were cut", n)
	}
}

// A Put whose outcome is unknown is found to be stored also when others have gone on
// from it, as a run that took the thread over may have.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store, cut := cutStore(t, p)
	other := p.open(t)
	putAll(t, store, "t", 1)
	cut.meanwhile = func() { put(t, other, "t", 3) }
	cut.beforeAnswer.Store(true)
	put(t, store, "t", 2)
	if cut.cuts.Load() != 1 {
		t.Error("no connection was cut")
	}
	// A caller who repeats it is told that others have gone on.
	wantErr(t, "repeated", store.Put(ctx, step("t", 2), stepID(1)), checkpoint.ErrConflict)
	wantSteps(t, store, "t", 3)
}

// A database that is away makes calls wait, for a bounded time, and a caller's context
// ends the wait at once.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.Patience = 100 * time.Millisecond
	var away atomic.Bool
	pool := p.pool(t, func(c *pgxpool.Config) {
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if away.Load() {
				return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("made to fail")}
			}
			return dial(ctx, network, addr)
		}
	})
	store := p.migrated(t, pool)
	putAll(t, store, "t", 1)
	away.Store(true)
	pool.Reset()
	start := time.Now()
	_, err := store.Get(ctx, checkpoint.Key{Thread: "t"})
	if _, ok := errors.AsType[net.Error](err); !ok || time.Since(start) < p.options.Patience {
		t.Errorf("got error %v after %v", err, time.Since(start))
	}
	wantErr(t, "get", err, pgcheckpoint.ErrUnreachable)
	p.options.Patience = time.Hour
	patient, err := pgcheckpoint.New(ctx, p.conn(t), p.options)
	if err != nil {
		t.Fatal(err)
	}
	wantSteps(t, patient, "t", 1)

	away.Store(false)
	for range 100 { // calls that do not wait until it is tried again
		if _, err = store.Get(ctx, checkpoint.Key{Thread: "t"}); err == nil {
			break
		}
	}
	wantNoErr(t, "when it is back", err)
	wantSteps(t, store, "t", 1)
}

// A cancelled call returns soon, and its connection is whole or gone.
func TestCancelledBehindLock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 1)
	tx, err := p.conn(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), p.sql(`SELECT key FROM weft.cp_thread FOR UPDATE`)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	err = store.Put(ctx, step("t", 2), stepID(1))
	wantErr(t, "put", err, context.DeadlineExceeded)
	if took := time.Since(start); took > time.Second {
		t.Errorf("it took %v to return", took)
	}
	wantNoErr(t, "rollback", tx.Rollback(t.Context()))
	if c := newest(t, store, "t"); c.ID == stepID(1) {
		put(t, store, "t", 2)
	}
	wantSteps(t, store, "t", 2)
}
