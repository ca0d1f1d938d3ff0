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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// failing makes the next inserts of a checkpoint fail with an SQL error code. The argument
// times is the number of inserts that fail. A sequence counts the inserts, because it keeps
// its value when a transaction fails.
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

func TestRetriesByErrorCode(t *testing.T) {
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
			assert.Equal(t, c.stored, (err == nil))
			if err != nil {
				var e *pgconn.PgError
				require.ErrorAs(t, err, &e)
				assert.Equal(t, code, e.Code)
			}
			assert.Equal(t, c.tries, ask[int](t, p, `SELECT last_value::int FROM weft.tries`))
			want := 0
			if c.stored {
				want = 1
			}
			wantSteps(t, store, "t", want)
		})
	}
}

func TestConflictsAreRetriedFiveTimes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	failing(t, p, "40001", 9)
	err := store.Put(context.Background(), step("t", 1), "")
	var e *pgconn.PgError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "40001", e.Code)
	assert.Equal(t, 5, ask[int](t, p, `SELECT last_value::int FROM weft.tries`))
}

// After five tries that lost their connections, the first conflict ends the call: the limit counts all tries.
func TestAConflictAfterManyTriesEndsTheCall(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	failing(t, p, "57P01", 5)
	do(t, p, `CREATE OR REPLACE FUNCTION weft.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('weft.tries') <= TG_ARGV[0]::int THEN RAISE EXCEPTION 'made to fail' USING ERRCODE = TG_ARGV[1]; END IF;
		RAISE EXCEPTION 'made to fail' USING ERRCODE = '40001'; END $$`)
	err := store.Put(t.Context(), step("t", 1), "")
	var e *pgconn.PgError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "40001", e.Code)
	assert.Equal(t, 6, ask[int](t, p, `SELECT last_value::int FROM weft.tries`))
}

// A cutter closes a connection when the next statement is sent, or when the next answer
// arrives.
type cutter struct {
	beforeWrite, beforeAnswer atomic.Bool
	cuts                      atomic.Int32
	meanwhile                 func() // called when a connection is closed
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

// Connections are lost while a statement or its answer is sent. Each call is sent again.
// No checkpoint is lost, and none is stored twice.
func TestLostConnectionsLoseAndDoubleNothing(t *testing.T) {
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
		c := newest(t, held, "t")
		require.Equal(t, stepID(n), c.ID)
		require.Len(t, c.Writes, 1)
		cut.beforeAnswer.Store(n%7 == 0)
		wantNoErr(t, "release", held.Release(ctx))
	}
	assert.Len(t, newest(t, store, "t").Lineage, steps)
	wantSteps(t, store, "t", steps)
	assert.GreaterOrEqual(t, int(cut.cuts.Load()), steps)
}

// The answer to a Put is lost, and another run stores the next checkpoint. The second try
// of the Put still detects that the first one took effect.
func TestPutIsFoundAfterOthersContinued(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store, cut := cutStore(t, p)
	other := p.open(t)
	putAll(t, store, "t", 1)
	cut.meanwhile = func() { put(t, other, "t", 3) }
	cut.beforeAnswer.Store(true)
	put(t, store, "t", 2)
	assert.EqualValues(t, 1, cut.cuts.Load())
	// A second Put by the caller is a conflict.
	wantErr(t, "repeated", store.Put(ctx, step("t", 2), stepID(1)), checkpoint.ErrConflict)
	wantSteps(t, store, "t", 3)
}

func TestUnreachableDatabaseEndsCallsAfterPatience(t *testing.T) {
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
	var lost net.Error
	assert.ErrorAs(t, err, &lost)
	assert.GreaterOrEqual(t, time.Since(start), p.options.Patience)
	wantErr(t, "get", err, pgcheckpoint.ErrUnreachable)
	p.options.Patience = time.Hour
	patient, err := pgcheckpoint.New(ctx, p.conn(t), p.options)
	require.NoError(t, err)
	wantSteps(t, patient, "t", 1)

	away.Store(false)
	for range 100 { // most calls fail until the next probe
		if _, err = store.Get(ctx, checkpoint.Key{Thread: "t"}); err == nil {
			break
		}
	}
	wantNoErr(t, "when it is back", err)
	wantSteps(t, store, "t", 1)
}

// After a cancelled call, the store can be used, whether or not the connection survived.
func TestCancelledCallThatWaitsForALock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 1)
	tx, err := p.conn(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), p.sql(`SELECT key FROM weft.cp_thread FOR UPDATE`))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	err = store.Put(ctx, step("t", 2), stepID(1))
	wantErr(t, "put", err, context.DeadlineExceeded)
	assert.LessOrEqual(t, time.Since(start), time.Second)
	wantNoErr(t, "rollback", tx.Rollback(t.Context()))
	if c := newest(t, store, "t"); c.ID == stepID(1) {
		put(t, store, "t", 2)
	}
	wantSteps(t, store, "t", 2)
}
