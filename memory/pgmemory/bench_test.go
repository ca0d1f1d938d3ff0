package pgmemory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
)

func BenchmarkFacts(b *testing.B) {
	drivertest.BenchFacts(b, func(tb testing.TB) driver.FactStore { return newPlace(tb).open(tb).Facts() })
}

// BenchmarkBulk stores facts one by one and a thousand at once.
func BenchmarkBulk(b *testing.B) {
	for _, batch := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			store := directPlace(b).open(b).Facts()
			c := newCloud(3)
			n := 0
			for b.Loop() {
				changes := make([]driver.FactChange, batch)
				for i := range changes {
					n++
					changes[i] = adding(fmt.Sprint("a fact of some length, as they often are, with the number ", n), c.vector()...)
				}
				_, err := store.Apply(context.Background(), ann, changes)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/fact")
		})
	}
}
