package pgmemory

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const (
	forgetQuery = `SELECT weft.mem_forget($1::bigint[], $2::bigint, $3::bytea, $4::bytea, $5::text[])`
	sweepQuery  = `SELECT weft.mem_sweep($1::bigint)`
)

// Forget implements [driver.FactStore], in one round trip. A later pg_dump does not contain the
// facts. VACUUM frees their space in the files of the database.
func (f *factStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	shared, alone := f.db.forgetLocks(s)
	f.db.sizes.clear()
	count, err := f.db.count(ctx, forgetQuery, shared, alone, scopeDigest(s), ownerDigest(s.User), names(s))
	if err != nil {
		return 0, f.db.fail("forget", err)
	}
	return count, nil
}

// Sweep implements [driver.FactStore], in one round trip. It skips scopes that another transaction
// has locked.
func (f *factStore) Sweep(ctx context.Context, limit int) (int, error) {
	if limit <= 0 {
		return 0, ctx.Err()
	}
	count, err := f.db.count(ctx, sweepQuery, min(int64(limit), math.MaxInt32))
	if err != nil {
		return 0, f.db.fail("sweep", err)
	}
	return count, nil
}

// count runs a statement that removes rows and returns their number. The statement can be sent
// again safely, because it then removes only the remaining rows.
func (d *DB) count(ctx context.Context, text string, args ...any) (n int, err error) {
	err = d.link.read(ctx, d.sql(text), args, func() {}, func(rows pgx.Rows) error { return rows.Scan(&n) })
	return n, err
}
