package pgdb_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPoolConfig(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		address string
		pooled  *bool
		want    bool
	}{
		{"postgres://h/d", nil, false},
		{"postgres://h:6543/d", nil, true},
		{"postgres://h:6432/d", nil, true},
		{"postgres://aws-0.pooler.supabase.com:5432/d", nil, true},
		{"postgres://ep-pooler.neon.tech/d", nil, true},
		{"postgres://h/d?pgbouncer=true", nil, true},
		{"postgres://h/d?pgbouncer=false", nil, false},
		{"postgres://h:6543/d", new(false), false},
		{"postgres://h/d", new(true), true},
	} {
		config, err := pgdb.PoolConfig(test.address, test.pooled)
		if err != nil {
			t.Errorf("%s: %v", test.address, err)
			continue
		}
		if got := config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeExec; got != test.want {
			t.Errorf("%s: pooled %v, want %v", test.address, got, test.want)
		}
		if _, ok := config.ConnConfig.RuntimeParams["pgbouncer"]; ok || config.ConnConfig.ConnectTimeout != 5*time.Second {
			t.Errorf("%s: got %v and %v", test.address, config.ConnConfig.RuntimeParams, config.ConnConfig.ConnectTimeout)
		}
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if got := pgdb.Caches(pool); got == test.want {
			t.Errorf("%s: caches %v", test.address, got)
		}
		pool.Close()
	}
	if _, err := pgdb.PoolConfig("postgres://h:port/d", nil); err == nil {
		t.Error("a URL that is none is taken")
	}
	if !pgdb.Caches(nil) || pgdb.Pooled(nil) {
		t.Error("what does not tell how it connects is taken for a pooler")
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := pgdb.Pause(t.Context(), time.Minute); err != nil || time.Since(began) > time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := pgdb.Pause(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
