package server_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/pgruns"
)

// Some providers make a full database read-only. The server then refuses changes for some time, and still reads.
func TestAReadOnlyDatabaseIsAnOutageForChanges(t *testing.T) {
	t.Parallel()
	config, err := pgcheckpoint.PoolConfig(pgtest.DirectURL(t), pgcheckpoint.Direct)
	require.NoError(t, err)
	var readOnly atomic.Bool
	config.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		setting := "off"
		if readOnly.Load() {
			setting = "on"
		}
		_, err := conn.Exec(ctx, "SET default_transaction_read_only = "+setting)
		return true, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	o := pgruns.Options{Schema: pgtest.Schema(t)}
	require.NoError(t, pgruns.Migrate(t.Context(), pool, o))
	store, err := pgruns.New(t.Context(), pool, o)
	require.NoError(t, err)
	_, web := testServer(t, func(o *server.Options) { o.Runs = store })
	thread := "/threads/" + ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	readOnly.Store(true)
	defer readOnly.Store(false) // even after a failed check, let the server write while it is closed
	for _, refused := range []reply{
		ask(t, web, "ann", http.MethodPost, "/threads", nil),
		ask(t, web, "ann", http.MethodPatch, thread, map[string]any{"metadata": map[string]string{"a": "b"}}),
		ask(t, web, "ann", http.MethodPost, thread+"/runs", map[string]any{"assistant_id": "echo", "input": map[string]any{"messages": []any{}}}),
		ask(t, web, "ann", http.MethodDelete, thread, nil),
	} {
		assert.Equal(t, http.StatusServiceUnavailable, refused.status, refused.body)
		assert.NotEmpty(t, refused.header.Get("Retry-After"), refused.body)
	}
	assert.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodGet, thread, nil).status)
	readOnly.Store(false)
	assert.Equal(t, http.StatusNoContent, ask(t, web, "ann", http.MethodDelete, thread, nil).status)
}
