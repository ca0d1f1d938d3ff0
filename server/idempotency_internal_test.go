package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// The run of a request with a key and without a thread is kept for a while after its end, so that the client can repeat
// the request.
func TestRunWithAKeyStaysForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := 0
		g := wordGraph(t, func(context.Context, state.View) (state.Update, error) {
			begun++
			return state.Update{words.Put("done")}, nil
		})
		store := memruns.New()
		s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: store})
		require.NoError(t, err)
		defer func() { assert.NoError(t, s.Close(context.Background())) }()
		send := func() string {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/runs/wait", strings.NewReader(`{"assistant_id":"words","input":{"words":"x"}}`))
			r.RemoteAddr = "127.0.0.1:1"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(idempotencyKey, "k")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			assert.Equal(t, http.StatusOK, w.Code)
			return w.Body.String()
		}
		first := send()
		time.Sleep(temporaryTime - time.Second)
		assert.Equal(t, first, send())
		assert.Equal(t, 1, begun)
		time.Sleep(expiryTick + 2*time.Second)
		_, n, err := store.Search(t.Context(), runs.Query{Kind: runs.Thread})
		require.NoError(t, err)
		assert.Zero(t, n, "threads")
	})
}
