package pgmemory

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/internal/pgdb"
)

// PoolConfig returns the configuration of a pool for an address. Behind a transaction pooler, its
// connections do not prepare statements. The connect timeout is five seconds, unless the address
// sets another timeout. Idle connections are not pinged before use; a call that finds a lost
// connection is retried.
func PoolConfig(address string, p Pooling) (*pgxpool.Config, error) {
	return pgdb.PoolConfig(address, p.known())
}

// pooled reports whether connections go through a transaction pooler.
func pooled(on Conn, p Pooling) bool {
	if p != Detect {
		return p == Transaction
	}
	return pgdb.Pooled(on)
}

// known returns nil for Detect. Otherwise the result says whether there is a transaction pooler.
func (p Pooling) known() *bool {
	if p == Detect {
		return nil
	}
	return new(p == Transaction)
}
