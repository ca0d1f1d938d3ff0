package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
)

func TestThreadsExpireByTheirStrategy(t *testing.T) {
	t.Parallel()
	for name, open := range openStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkpoints, store := open(t)
			graphs, err := protocolgraphs.New(checkpoints)
			require.NoError(t, err)
			s, url := listen(t, server.Options{Graphs: graphs, Runs: store, ThreadTTL: server.TTL{After: time.Hour}})
			thread := func(ttl string) string {
				id := uuid.New()
				require.Equal(t, http.StatusOK, request(t, http.MethodPost, url+"/threads", `{"thread_id":"`+id+`"`+ttl+`}`, nil))
				for range 2 {
					request(t, http.MethodPost, url+"/threads/"+id+"/runs/wait", `{"assistant_id":"echo","input":{"messages":[{"type":"human","content":"hi"}]}}`, nil)
				}
				return id
			}
			deleted, pruned, kept := thread(`,"ttl":{"ttl":0.0001}`), thread(`,"ttl":{"ttl":0.0001,"strategy":"keep_latest"}`), thread("")
			patched := thread("")
			require.Equal(t, http.StatusOK, request(t, http.MethodPatch, url+"/threads/"+patched, `{"ttl":0.0001}`, nil))
			busy := thread(`,"ttl":0.0001`)
			var run struct {
				ID string `json:"run_id"`
			}
			request(t, http.MethodPost, url+"/threads/"+busy+"/runs", `{"assistant_id":"slow","input":{"tag":"x","n":100000}}`, &run)

			history := func(id string) (n int) {
				var states []any
				request(t, http.MethodPost, url+"/threads/"+id+"/history", `{"limit":100}`, &states)
				return len(states)
			}
			exists := func(id string) bool { return request(t, http.MethodGet, url+"/threads/"+id, "", nil) == http.StatusOK }
			full := history(kept)
			require.Eventually(t, func() bool {
				require.NoError(t, server.Expire(t.Context(), s))
				return !exists(deleted) && !exists(patched) && history(pruned) < full
			}, 10*time.Second, 10*time.Millisecond)
			assert.True(t, exists(kept))
			assert.True(t, exists(pruned))
			assert.Equal(t, full, history(kept))
			assert.True(t, exists(busy), "a thread with a run does not expire")
			request(t, http.MethodPost, url+"/threads/"+busy+"/runs/"+run.ID+"/cancel?wait=1", "", nil)
			require.Eventually(t, func() bool {
				require.NoError(t, server.Expire(t.Context(), s))
				return !exists(busy)
			}, 10*time.Second, 10*time.Millisecond)
			for _, id := range []string{deleted, patched, busy} {
				_, total, err := store.Search(t.Context(), runs.Query{Kind: runs.Run, Parent: id})
				require.NoError(t, err)
				assert.Zero(t, total, "runs of a deleted thread")
			}
			for _, bad := range []string{`{"ttl":0}`, `{"ttl":{"ttl":1,"strategy":"none"}}`, `{"ttl":-1}`, `{"ttl":1e99}`} {
				assert.Equal(t, http.StatusUnprocessableEntity, request(t, http.MethodPost, url+"/threads", bad, nil), bad)
			}
		})
	}
}
