package pgmemory

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/internal/pgdb"
)

// PoolConfig returns what a pool for the URL is to be made of. Behind a transaction
// pooler its connections prepare no statements. Connecting takes five seconds at most
// unless the URL says otherwise, and idle connections are not asked whether they live:
// a call finds out, without that round trip.
func PoolConfig(address string, p Pooling) (*pgxpool.Config, error) {
	return pgdb.PoolConfig(address, p.known())
}

// pooled reports whether there is a transaction pooler in between.
func pooled(on Conn, p Pooling) bool {
	if p != Detect {
		return p == Transaction
	}
	return pgdb.Pooled(on)
}

// known is nil where it is to be found out.
func (p Pooling) known() *bool {
	if p == Detect {
		return nil
	}
	return new(p == Transaction)
}
