package sqlitememory_test

import (
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/fair"
	"github.com/weft-go/weft/memory/memorytest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// BenchmarkTenants measures what a tenant notices of another one in the same file.
func BenchmarkTenants(b *testing.B) {
	memorytest.BenchTenants(b, func(tb testing.TB) memory.Store {
		return open(tb, filepath.Join(tb.TempDir(), "memory.db"), sqlitememory.Options{}).Facts()
	}, fair.Options{Concurrent: 8, PerTenant: 1, Share: 0.2}, fair.Options{Concurrent: 8, PerTenant: 1, Share: 0.05})
}
