package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// A program calls PutCron at each start. The cron starts its runs. If the arguments have changed, they replace the cron.
// Otherwise the changes of a client stay. A cron that was switched off stays off.
func TestAProgramPutsItsCrons(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ask := cronServer(t)
		defer func() { assert.NoError(t, s.Close(context.WithoutCancel(t.Context()))) }()
		nightly := server.Cron{Name: "nightly", Assistant: "approve", Schedule: "0 2 * * *", Timezone: "Europe/Athens", Input: map[string]any{"request": "refund"}}
		id, err := s.PutCron(t.Context(), nightly)
		require.NoError(t, err)
		again, err := s.PutCron(t.Context(), nightly)
		require.NoError(t, err)
		assert.Equal(t, id, again)
		found := func() (crons []struct {
			ID       string `json:"cron_id"`
			Schedule string `json:"schedule"`
			Enabled  bool   `json:"enabled"`
			OnDone   string `json:"on_run_completed"`
			Next     string `json:"next_run_date"`
		},
		) {
			_, body := ask(http.MethodPost, "/runs/crons/search", "{}")
			require.NoError(t, json.Unmarshal([]byte(body), &crons), body)
			require.Len(t, crons, 1)
			require.Equal(t, id, crons[0].ID)
			return crons
		}
		assert.Equal(t, "2000-01-02T00:00:00Z", found()[0].Next, "two o'clock in Athens")
		time.Sleep(25 * time.Hour)
		_, body := ask(http.MethodPost, "/threads/search", `{"status": "interrupted"}`)
		assert.Equal(t, 1, strings.Count(body, "thread_id"), body)

		code, _ := ask(http.MethodPatch, "/runs/crons/"+id, `{"enabled": false, "schedule": "0 4 * * *"}`)
		require.Equal(t, http.StatusOK, code)
		_, err = s.PutCron(t.Context(), nightly)
		require.NoError(t, err)
		assert.Equal(t, "0 4 * * *", found()[0].Schedule, "the program has not changed it")

		nightly.Schedule, nightly.Keep = "0 3 * * *", true
		_, err = s.PutCron(t.Context(), nightly)
		require.NoError(t, err)
		got := found()[0]
		assert.Equal(t, "0 3 * * *", got.Schedule)
		assert.Equal(t, "keep", got.OnDone)
		assert.False(t, got.Enabled, "it was switched off")
		assert.Empty(t, got.Next)
	})
}

func TestPutCronRefusesWhatCanNeverWork(t *testing.T) {
	t.Parallel()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	good := server.Cron{Name: "n", Assistant: "approve", Schedule: "0 2 * * *", Input: map[string]any{"request": "r"}}
	for name, c := range map[string]struct {
		change func(*server.Cron, *server.Options)
		want   string
	}{
		"no name":            {func(c *server.Cron, _ *server.Options) { c.Name = "" }, `cron "": it has no name`},
		"no input":           {func(c *server.Cron, _ *server.Options) { c.Input = nil }, "input is missing"},
		"an unknown channel": {func(c *server.Cron, _ *server.Options) { c.Input = map[string]int{"nte": 1} }, `none of the channels ["nte"]`},
		"no JSON":            {func(c *server.Cron, _ *server.Options) { c.Input = func() {} }, "cannot be encoded"},
		"no day":             {func(c *server.Cron, _ *server.Options) { c.Schedule = "0 0 30 2 *" }, "never comes"},
		"no schedule":        {func(c *server.Cron, _ *server.Options) { c.Schedule = "" }, "has 0 fields"},
		"no zone":            {func(c *server.Cron, _ *server.Options) { c.Timezone = "Nowhere" }, "no time zone"},
		"no graph":           {func(c *server.Cron, _ *server.Options) { c.Assistant = "x" }, "no assistant x"},
		"no user": {func(_ *server.Cron, o *server.Options) {
			o.Auth = func(*http.Request) (server.User, error) { return server.User{ID: "ann"}, nil }
		}, "it has no user"},
		"a refusal": {func(_ *server.Cron, o *server.Options) {
			o.Authorize = func(_ context.Context, a server.Access) (server.Filter, error) {
				if a.Resource == server.ResourceCrons && a.Action == server.ActionCreate {
					return server.Filter{}, &server.Refusal{Status: http.StatusForbidden, Detail: "No crons."}
				}
				return server.Filter{}, nil
			}
		}, "No crons."},
		"a server that only reads": {func(_ *server.Cron, o *server.Options) { o.ReadOnly = true }, "read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cron, o := good, server.Options{Graphs: graphs, Runs: memruns.New()}
			c.change(&cron, &o)
			s, err := server.New(o)
			require.NoError(t, err)
			defer func() { assert.NoError(t, s.Close(context.Background())) }()
			_, err = s.PutCron(t.Context(), cron)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Two users may have crons of the same name, and see only their own.
func TestCronsOfAProgramHaveUsers(t *testing.T) {
	t.Parallel()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	s, err := server.New(server.Options{
		Graphs: graphs, Runs: memruns.New(),
		Auth: func(*http.Request) (server.User, error) { return server.User{ID: "ann"}, nil },
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close(context.Background())) }()
	ids := map[string]bool{}
	for _, user := range []string{"ann", "bob"} {
		id, err := s.PutCron(t.Context(), server.Cron{Name: "n", Assistant: "approve", Schedule: "@daily", Input: struct{}{}, User: server.User{ID: user}})
		require.NoError(t, err)
		ids[id] = true
	}
	assert.Len(t, ids, 2)
}
