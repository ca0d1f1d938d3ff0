package pgmemory_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/pgmemory"
)

// BenchmarkTenants measures what a tenant notices of another one that asks for as much as it can, from 32
// goroutines, over the same 8 connections.
func BenchmarkTenants(b *testing.B) {
	ctx := context.Background()
	p := directPlace(b)
	p.open(b) // which migrates
	db, err := pgmemory.New(ctx, p.pool(b, func(c *pgxpool.Config) { c.MaxConns = 8 }), p.options)
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name      string
		loud      int
		perTenant int
	}{{"alone", 0, 0}, {"beside", 32, 0}, {"limited", 32, 1}} {
		b.Run(bench.name, func(b *testing.B) {
			m, err := memory.New(db.Facts(), memory.Options{PerTenant: bench.perTenant})
			if err != nil {
				b.Fatal(err)
			}
			for _, tenant := range []string{"quiet", "loud"} {
				facts := make([]memory.Fact, 500)
				for i := range facts {
					facts[i].Content = fmt.Sprintf("customer %d of %s takes plan %d", i, tenant, i%7)
				}
				if _, err := m.Store(ctx, memory.Scope{Tenant: tenant}, facts...); err != nil {
					b.Fatal(err)
				}
			}
			ask := func(ctx context.Context, tenant string, limit int) error {
				_, err := m.Recall(ctx, memory.Recall{Query: memory.Query{Scope: memory.Scope{Tenant: tenant}, Limit: limit}, Text: "customer with plan 3"})
				return err
			}
			loud, stop := context.WithCancel(ctx)
			var wg sync.WaitGroup
			for range bench.loud {
				wg.Go(func() {
					for ask(loud, "loud", 200) == nil {
					}
				})
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if err := ask(ctx, "quiet", 5); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			stop()
			wg.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
