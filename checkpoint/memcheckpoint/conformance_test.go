package memcheckpoint_test

import (
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
)

var (
	_ checkpoint.Store        = (*memcheckpoint.Store)(nil)
	_ checkpoint.Leaser       = (*memcheckpoint.Store)(nil)
	_ checkpoint.ThreadLister = (*memcheckpoint.Store)(nil)
	_ checkpoint.ThreadCopier = (*memcheckpoint.Store)(nil)
	_ checkpoint.Pruner       = (*memcheckpoint.Store)(nil)
	_ checkpoint.RunDeleter   = (*memcheckpoint.Store)(nil)
)

func TestConformance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		maxValue int
	}{
		{name: "small limit", maxValue: 100_000},
		{name: "default limit"},
		{name: "no limit", maxValue: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkpointtest.Harness{
				Open: func(testing.TB) checkpoint.Store {
					return memcheckpoint.New(memcheckpoint.Options{MaxValue: tt.maxValue})
				},
				MaxValue: tt.maxValue,
			}.Run(t)
		})
	}
}

func BenchmarkStore(b *testing.B) {
	checkpointtest.Bench(b, func(testing.TB) checkpoint.Store {
		return memcheckpoint.New(memcheckpoint.Options{})
	})
}
