package pgmemory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/pgmemory"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	drivertest.RunTurns(t, func(tb testing.TB) driver.TurnStore { return newPlace(tb).open(tb).Turns() })
}

func TestTurnsSimpleProtocol(t *testing.T) {
	t.Parallel()
	drivertest.RunTurns(t, func(tb testing.TB) driver.TurnStore {
		p := newPlace(tb)
		return p.migrated(tb, p.pool(tb, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		})).Turns()
	})
}

func TestTurnsOfServiceRole(t *testing.T) {
	t.Parallel()
	drivertest.RunTurns(t, func(tb testing.TB) driver.TurnStore { return supabasePlace(tb).served(tb).Turns() })
}

func turn(key string, s driver.Scope) driver.Turn {
	return driver.Turn{Key: key, Scope: s, Payload: []byte(`{"user":"a secret"}`), Said: time.Now()}
}

func wantCounts(t *testing.T, what string, q driver.TurnStore, pending, parked int) {
	t.Helper()
	c, err := q.Count(context.Background())
	require.NoError(t, err, what)
	assert.Equal(t, driver.TurnCounts{Pending: pending, Parked: parked}, c, what)
}

// Forget also removes queued turns of the user, and older turns are not accepted later.
func TestForgetTurns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	db := p.open(t)
	late := turn("3", ann)
	for _, key := range []string{"1", "2"} {
		assert.NoError(t, db.Turns().Enqueue(ctx, turn(key, ann)), "enqueue")
	}
	claimed, err := db.Turns().Claim(ctx, 1, time.Hour)
	require.NoError(t, err)
	require.Len(t, claimed, 1)
	_, err = db.Facts().Forget(ctx, ann)
	assert.NoError(t, err, "forget")
	wantCounts(t, "forgotten", db.Turns(), 0, 0)
	assert.ErrorIs(t, db.Turns().Finish(ctx, claimed[0]), driver.ErrConflict, "finish")
	assert.NoError(t, db.Turns().Enqueue(ctx, late), "enqueue late")
	assert.NotContains(t, dump(t, p), "a secret", "what was said is still there")
	assert.NoError(t, db.Turns().Enqueue(ctx, turn("4", ann)), "enqueue")
	wantCounts(t, "what was said later", db.Turns(), 1, 0)
}

// A turn that is enqueued in a transaction can be claimed after the commit. After a rollback it
// does not exist.
func TestTurnWithinTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	db, pool := p.open(t), p.pool(t)
	_, err := db.Facts().Apply(ctx, ann, []driver.FactChange{adding("known before")})
	assert.NoError(t, err, "apply")
	failed := errors.New("failed")
	for _, want := range []error{failed, nil} {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			inside, err := pgmemory.New(ctx, tx, p.options)
			if err == nil {
				err = inside.Turns().Enqueue(ctx, turn("1", ann))
			}
			if err != nil {
				return err
			}
			wantCounts(t, "before the end", db.Turns(), 0, 0)
			_, err = db.Facts().Apply(ctx, ann, []driver.FactChange{adding("others go on " + newID())})
			assert.NoError(t, err, "apply meanwhile")
			return want
		})
		assert.ErrorIs(t, err, want, "the transaction")
	}
	wantCounts(t, "after the end", db.Turns(), 1, 0)
}

// The key of a finished turn is kept for 60 days.
func TestTurnsDoneAreForgotten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	q := p.open(t).Turns()
	finish := func(keys ...string) {
		for _, key := range keys {
			assert.NoError(t, q.Enqueue(ctx, turn(key, ann)), "enqueue")
		}
		jobs, err := q.Claim(ctx, 10, time.Hour)
		require.NoError(t, err)
		require.Len(t, jobs, len(keys))
		for _, j := range jobs {
			assert.NoError(t, q.Finish(ctx, j), "finish")
		}
	}
	finish("old", "older")
	do(t, p, `UPDATE weft.mem_turn SET due = due - interval '61 days'`)
	finish("new")
	got := ask[[]string](t, p, `SELECT array_agg(name::text) FROM weft.mem_turn`)
	require.Len(t, got, 1)
	assert.Equal(t, "new", got[0])
}

// Any text can be the cause of a failed turn.
func TestCausesAreKept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	q := newPlace(t).open(t).Turns()
	assert.NoError(t, q.Enqueue(ctx, turn("1", ann)), "enqueue")
	jobs, err := q.Claim(ctx, 1, time.Hour)
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	assert.NoError(t, q.Retry(ctx, jobs[0], -1, "a\x00b\xffc"+strings.Repeat("x", 100_000)), "retry")
	parked, err := q.Parked(ctx, 5)
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.True(t, strings.HasPrefix(parked[0].Cause, "a\ufffdb\ufffdcxxx"))
	assert.LessOrEqual(t, len(parked[0].Cause), 10_000)
}

// A user can neither see nor change turns of other users.
func TestTurnsOfUsers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := supabasePlace(t).served(t)
	turns := func(user string) driver.TurnStore {
		bound, err := pgmemory.Bind(db, binding(user))
		require.NoError(t, err)
		return bound.Turns()
	}
	hers, his := turns(annID), turns(bobID)
	for _, key := range []string{"1", "2"} {
		assert.NoError(t, hers.Enqueue(ctx, turn(key, annScope)), "ann's turn")
		assert.NoError(t, hers.Enqueue(ctx, turn(key, annScope)), "once more")
	}
	for _, s := range []driver.Scope{annScope, {Tenant: "acme"}, {Tenant: "acme", User: "nobody"}} {
		assert.ErrorIs(t, his.Enqueue(ctx, turn("1", s)), pgmemory.ErrDenied, "bob's turn for another")
	}
	wantCounts(t, "bob", his, 0, 0)
	jobs, err := his.Claim(ctx, 9, time.Hour)
	require.Empty(t, jobs)
	assert.NoError(t, err)
	claimed, err := hers.Claim(ctx, 9, time.Hour)
	require.NoError(t, err, "ann")
	require.Len(t, claimed, 2, "ann")
	assert.ErrorIs(t, his.Finish(ctx, claimed[0]), driver.ErrConflict, "bob finishes")
	assert.ErrorIs(t, his.Retry(ctx, claimed[0], 0, ""), driver.ErrConflict, "bob retries")
	assert.NoError(t, hers.Finish(ctx, claimed[0]), "ann finishes")
	assert.NoError(t, hers.Retry(ctx, claimed[1], -1, "no"), "ann parks")
	list, err := his.Parked(ctx, 9)
	require.Empty(t, list)
	assert.NoError(t, err)
	assert.ErrorIs(t, his.Revive(ctx, annScope, "2"), driver.ErrNotFound, "bob revives")
	wantCounts(t, "ann", hers, 0, 1)
	wantCounts(t, "the service role", turns(""), 0, 1)
}
