package pgmemory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

// Even if a user writes the scope of another user into the table of forgotten scopes, the service
// can store data of the other user.
func TestForgedForgetting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := supabasePlace(t)
	db := p.served(t)
	pool := p.pool(t)
	for _, parts := range []string{
		`'acme', '', '` + annID + `', ''`, `'acme', '', '', ''`,
		`'conversations', 'acme', '', '` + annID + `', ''`, `'conversations', 'acme', '', '` + annID + `', '', 's'`,
	} {
		sql := p.sql(`INSERT INTO weft.mem_forgotten (scope, owner, at) VALUES (weft.mem_digest(` + parts + `), weft.mem_digest('` + bobID + `'), 'infinity')`)
		n, err := raw(ctx, pool, bobID, sql)
		require.EqualValues(t, 1, n, sql)
		require.NoError(t, err, sql)
	}
	fact := adding("tea")
	fact.Said = time.Now().Add(-time.Minute)
	_, err := db.Facts().Apply(ctx, annScope, []driver.FactChange{fact})
	assert.NoError(t, err, "a fact")
	said := saying("s", "hello")
	said.Said = fact.Said
	_, err = db.Conversations().Apply(ctx, annScope, said)
	assert.NoError(t, err, "a message")
	for s, err := range db.Conversations().Sessions(ctx, driver.SessionQuery{Reach: annScope.Only()}) {
		require.NoError(t, err)
		assert.LessOrEqual(t, time.Until(s.UpdatedAt), time.Hour)
	}
	assert.NoError(t, db.Turns().Enqueue(ctx, driver.Turn{Key: "k", Scope: annScope, Said: fact.Said, Payload: []byte(`{}`)}), "enqueue")
	assert.Equal(t, 1, ask[int](t, p, `SELECT count(*) FROM weft.mem_turn`))
}
