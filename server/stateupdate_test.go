package server_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/internal/unavailable"
	"github.com/weft-go/weft/server"
)

// A fullStore refuses checkpoints when it is full.
type fullStore struct {
	checkpoint.Store
	full atomic.Bool
}

const fullText = "database or disk is full: /secret/path"

func (s *fullStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.full.Load() {
		return unavailable.New(fullText)
	}
	return s.Store.Put(ctx, c, head)
}

func TestAnUpdateThatCannotBeStoredIsNoMistakeOfTheClient(t *testing.T) {
	t.Parallel()
	store := &fullStore{Store: memcheckpoint.New(memcheckpoint.Options{})}
	graphs, err := protocolgraphs.New(store)
	require.NoError(t, err)
	_, web := testServer(t, func(o *server.Options) { o.Graphs = graphs })
	thread := "/threads/" + ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	input := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}}
	require.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, thread+"/runs/wait", map[string]any{"assistant_id": "echo", "input": input}).status)
	store.full.Store(true)
	got := ask(t, web, "ann", http.MethodPost, thread+"/state", map[string]any{"values": input})
	assert.Equal(t, http.StatusServiceUnavailable, got.status, got.body)
	assert.NotEmpty(t, got.header.Get("Retry-After"))
	assert.NotContains(t, got.body, fullText)
	store.full.Store(false)
	got = ask(t, web, "ann", http.MethodPost, thread+"/state", map[string]any{"values": input})
	assert.Equal(t, http.StatusOK, got.status, got.body)
}
