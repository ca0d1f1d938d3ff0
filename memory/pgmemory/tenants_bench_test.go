package pgmemory_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/fair"
	"github.com/weft-go/weft/memory/memorytest"
	"github.com/weft-go/weft/memory/pgmemory"
)

// BenchmarkTenants measures what a tenant notices of another one, over the same 8 connections.
func BenchmarkTenants(b *testing.B) {
	memorytest.BenchTenants(b, func(tb testing.TB) memory.Store {
		p := directPlace(tb)
		p.open(tb) // which migrates
		db, err := pgmemory.New(context.Background(), p.pool(tb, func(c *pgxpool.Config) { c.MaxConns = 8 }), p.options)
		if err != nil {
			tb.Fatal(err)
		}
		return db.Facts()
	}, fair.Options{Concurrent: 8, PerTenant: 1, Share: 0.2}, fair.Options{Concurrent: 8, PerTenant: 1, Share: 0.05})
}
