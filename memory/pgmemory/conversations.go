package pgmemory

import (
	"context"
	"math"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// conversationStore is a [driver.ConversationStore]. It is safe for concurrent use if its [DB] is.
type conversationStore struct{ db *DB }

var _ driver.ConversationStore = (*conversationStore)(nil)

// Conversations returns the database's store of conversations.
func (d *DB) Conversations() driver.ConversationStore { return &conversationStore{d} }

const (
	hushQuery = `SELECT weft.mem_hush($1::bigint[], $2::bigint, $3::bytea, $4::bytea, $5::text[])`

	retainQuery = `WITH gone AS (DELETE FROM weft.mem_session WHERE key = ANY (ARRAY(SELECT s.key FROM weft.mem_session s
	WHERE s.tenant = ($1::text[])[1] AND ($1::text[])[2] IN ('', s.workspace) AND ($1::text[])[3] IN ('', s.user_id) AND ($1::text[])[4] IN ('', s.agent)
	AND s.updated_at < clock_timestamp() - $2::bigint * interval '1 microsecond' ORDER BY s.updated_at LIMIT $3::bigint FOR UPDATE SKIP LOCKED)) RETURNING 1)
	SELECT count(*) FROM gone`
)

// stone returns the digest that identifies a scope, or a session, in the table of forgotten
// conversations. It differs from the digest for facts.
func stone(s driver.Scope, session ...string) []byte {
	return digest(append(append([]string{"conversations"}, names(s)...), session...)...)
}

// Forget implements [driver.ConversationStore], in one round trip.
func (c *conversationStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	shared, alone := c.db.forgetLocks(s)
	c.db.sizes.clear()
	n, err := c.db.count(ctx, hushQuery, shared, alone, stone(s), ownerDigest(s.User), names(s))
	if err != nil {
		return 0, c.db.fail("forget conversations", err)
	}
	return n, nil
}

// Sweep implements [driver.ConversationStore], in one round trip. It skips sessions that another
// transaction has locked.
func (c *conversationStore) Sweep(ctx context.Context, s driver.Scope, age time.Duration, limit int) (int, error) {
	if limit <= 0 {
		return 0, ctx.Err()
	}
	n, err := c.db.count(ctx, retainQuery, names(s), age.Microseconds(), min(int64(limit), math.MaxInt32))
	if err != nil {
		return 0, c.db.fail("sweep conversations", err)
	}
	return n, nil
}
