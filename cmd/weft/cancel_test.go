package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// Two servers store their runs in the same place and do not share a queue. Only the first server executes the run.
func TestAServerThatDoesNotExecuteARunCannotCancelIt(t *testing.T) {
	t.Parallel()
	records := memruns.New()
	serveSlow := func() *terminal {
		return serve(t, withTokens, func(o *server.Options) { o.Graphs["slow"], o.Runs = hanging(t), records })
	}
	m, other := serveSlow(), serveSlow()
	for _, m := range []*terminal{m, other} {
		m.env = map[string]string{"WEFT_SERVER": m.words["http://127.0.0.1:8123"], "WEFT_TOKEN": "ann"}
	}
	var r runView
	require.NoError(t, json.Unmarshal(m.post("/threads/"+served+"/runs", map[string]any{"assistant_id": "slow", "if_not_exists": "create", "input": map[string]int{"cups": 1}})["run_id"], &r.ID))
	require.Eventually(t, func() bool {
		_, out, _ := m.call("runs", "show", r.ID)
		return strings.Contains(out, "status   running")
	}, 10*time.Second, 10*time.Millisecond)
	for _, args := range [][]string{{"runs", "cancel", r.ID}, {"threads", "cancel", served}} {
		code, out, errs := other.call(args...)
		assert.Equal(t, exitFailed, code, out)
		assert.NotContains(t, out, "is cancelled")
		assert.NotContains(t, out, "Cancelled 1")
		assert.Contains(t, errs, "name the server that executes the run")
	}
	code, out, errs := m.call("threads", "cancel", served)
	assert.Equal(t, exitDone, code, errs)
	assert.Equal(t, "Cancelled 1 run.\n", out)
}

// The server executes the run. The token lacks the right to cancel it.
func TestAUserWhoMayOnlyReadARunCannotCancelIt(t *testing.T) {
	t.Parallel()
	m := serve(t, withTokens, func(o *server.Options) {
		o.Graphs["slow"] = hanging(t)
		o.Authorize = func(_ context.Context, a server.Access) (server.Filter, error) {
			if a.User.ID == "reader" && (a.Action == server.ActionRead || a.Action == server.ActionSearch) {
				return server.Filter{}, nil
			}
			return server.Filter{Owner: a.User.ID}, nil
		}
	})
	m.env = map[string]string{"WEFT_SERVER": m.words["http://127.0.0.1:8123"], "WEFT_TOKEN": "ann"}
	var id string
	require.NoError(t, json.Unmarshal(m.post("/threads/"+served+"/runs", map[string]any{"assistant_id": "slow", "if_not_exists": "create", "input": map[string]int{"cups": 1}})["run_id"], &id))
	m.env["WEFT_TOKEN"] = "reader"
	for _, args := range [][]string{{"runs", "cancel", id}, {"threads", "cancel", served}} {
		code, out, errs := m.call(args...)
		assert.Equal(t, exitFailed, code, out)
		assert.Contains(t, errs, "may read it and not cancel it", args)
	}
	m.env["WEFT_TOKEN"] = "ann"
	code, _, errs := m.call("threads", "cancel", served)
	assert.Equal(t, exitDone, code, errs)
}

// A run may end by itself before the server cancels it, and the server may remove the ended run. The command succeeds, and
// prints the status with which the run ended if it is known.
func TestTheEndOfACancelledRunIsThatOfItsRecord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, after, run, thread string }{
		{"success", `{"runs":[{"run_id":"r","thread_id":"t","status":"success"}],"total":1}`, "The run has ended with the status success.\n", "Cancelled 0 runs.\nThe run r has ended with the status success.\n"},
		{"removed", `{"runs":[],"total":0}`, "The run has ended, and the server has removed it.\n", "Cancelled 1 run.\n"},
	} {
		for i, args := range [][]string{{"runs", "cancel", "r"}, {"threads", "cancel", "t"}} {
			t.Run(tt.name+"/"+args[0], func(t *testing.T) {
				t.Parallel()
				answer := `{"runs":[{"run_id":"r","thread_id":"t","status":"running"}],"total":1}`
				h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.Contains(r.URL.Path, "cancel") {
						answer = tt.after
						return
					}
					_, _ = fmt.Fprint(w, answer)
				}))
				defer h.Close()
				code, out, errs := newTerminal(t, nil).call(append(args, "-server", h.URL)...)
				assert.Equal(t, exitDone, code, errs)
				assert.Equal(t, []string{tt.run, tt.thread}[i], out)
			})
		}
	}
}
