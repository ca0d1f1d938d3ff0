package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// cronServer returns a server of the recorded graphs, and a function that sends it a request and returns the status and
// the body.
func cronServer(t *testing.T) (*server.Server, func(method, path, body string, header ...string) (int, string)) {
	t.Helper()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: graphs, Runs: memruns.New()})
	require.NoError(t, err)
	return s, func(method, path, body string, header ...string) (int, string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Host, r.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
}

// The thread of a cron's run is kept if the run waits for an answer or has failed. If the run has ended without an error,
// the thread is deleted, unless the cron says "keep".
func TestAThreadOfACronIsKeptWhileItWaitsOrHasFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		status string // of the thread that is kept; empty for none
	}{
		"it waits":                {`{"assistant_id": "approve", "schedule": "0 2 * * *", "input": {"request": "the refund"}}`, "interrupted"},
		"it waits before a node":  {`{"assistant_id": "slow", "schedule": "0 2 * * *", "interrupt_before": ["work"], "input": {"tag": "a", "n": 0}}`, "interrupted"},
		"it has failed":           {`{"assistant_id": "fail", "schedule": "0 2 * * *", "input": {"text": "boom"}}`, "error"},
		"it has ended":            {`{"assistant_id": "echo", "schedule": "0 2 * * *", "input": {"messages": [{"role": "user", "content": "hi"}]}}`, ""},
		"delete is said":          {`{"assistant_id": "approve", "schedule": "0 2 * * *", "on_run_completed": "delete", "input": {"request": "r"}}`, "interrupted"},
		"it has ended and keeps":  {`{"assistant_id": "echo", "schedule": "0 2 * * *", "on_run_completed": "keep", "input": {"messages": [{"role": "user", "content": "hi"}]}}`, "idle"},
		"it waits, in the future": {`{"assistant_id": "approve", "schedule": "0 2 * * *", "after_seconds": 7200, "input": {"request": "r"}}`, "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, ask := cronServer(t)
				defer func() { assert.NoError(t, s.Close(context.WithoutCancel(t.Context()))) }()
				code, body := ask(http.MethodPost, "/runs/crons", c.body)
				require.Equal(t, http.StatusOK, code, body)
				var made struct {
					ID string `json:"cron_id"`
				}
				require.NoError(t, json.Unmarshal([]byte(body), &made))
				time.Sleep(24 * time.Hour) // past two o'clock, and past the time for which temporary threads are kept
				code, _ = ask(http.MethodDelete, "/runs/crons/"+made.ID, "")
				require.Equal(t, http.StatusNoContent, code)
				time.Sleep(24 * time.Hour)
				var found []struct {
					ID         string                       `json:"thread_id"`
					Status     string                       `json:"status"`
					Interrupts map[string][]json.RawMessage `json:"interrupts"`
				}
				_, body = ask(http.MethodPost, "/threads/search", "{}")
				require.NoError(t, json.Unmarshal([]byte(body), &found))
				if c.status == "" {
					require.Empty(t, found)
					return
				}
				require.Len(t, found, 1)
				require.Equal(t, c.status, found[0].Status)
				if !strings.Contains(c.body, `"approve"`) {
					return
				}
				require.Len(t, found[0].Interrupts, 1)
				code, body = ask(http.MethodPost, "/threads/"+found[0].ID+"/runs/wait", `{"assistant_id": "approve", "command": {"resume": "yes"}}`)
				require.Equal(t, http.StatusOK, code, body)
				assert.Contains(t, body, ": yes")
				time.Sleep(24 * time.Hour)
				code, _ = ask(http.MethodGet, "/threads/"+found[0].ID, "")
				assert.Equal(t, http.StatusOK, code, "a person has taken part")
			})
		})
	}
}

func TestACronWhoseRunsWouldAllFailIsRefused(t *testing.T) {
	t.Parallel()
	s, ask := cronServer(t)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	thread := "/threads/" + uuid.New()
	code, body := ask(http.MethodPost, thread+"/runs/wait", `{"assistant_id": "approve", "if_not_exists": "create", "input": {"request": "r"}}`)
	require.Equal(t, http.StatusOK, code, body)
	for name, c := range map[string]struct{ path, body, want string }{
		"an unknown channel":       {"", `"input": {"nte": 1}`, `the graph "approve" has none of the channels ["nte"]`},
		"a value of a wrong type":  {"", `"input": {"request": 1}`, "request"},
		"no input":                 {"", `"metadata": {}`, "nothing to continue"},
		"an empty command":         {"", `"command": {}`, "nothing to continue"},
		"an answer to nothing":     {"", `"command": {"resume": "yes"}`, "new thread, which has none"},
		"a checkpoint of nothing":  {"", `"input": {}, "checkpoint_id": "` + uuid.New() + `"`, "A checkpoint needs a thread"},
		"an update of nothing":     {"", `"command": {"update": {"nte": 1}}`, "command.update cannot be read"},
		"a wrong input of a node":  {"", `"command": {"goto": {"node": "ask", "input": {"nte": 1}}}`, "command.goto cannot be read"},
		"what is neither":          {"", `"input": {}, "on_run_completed": "forget"`, "it must be delete or keep"},
		"a day that never comes":   {"", `"input": {}, "schedule": "0 0 30 2 *"`, "never comes"},
		"the same, switched off":   {"", `"input": {}, "schedule": "0 0 30 2 *", "enabled": false`, "never comes"},
		"an end in the past":       {"", `"input": {}, "end_time": "2020-01-01T00:00:00Z"`, "has no time before end_time"},
		"a channel, with a thread": {thread, `"input": {"nte": 1}`, `none of the channels ["nte"]`},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"assistant_id": "approve", "schedule": "0 2 * * *", ` + c.body + `}`
			code, text := ask(http.MethodPost, c.path+"/runs/crons", body)
			assert.Equal(t, http.StatusUnprocessableEntity, code, text)
			assert.Contains(t, unescaped(t, text), c.want)
		})
	}
	for name, c := range map[string]struct{ path, body string }{
		"an empty input":       {"", `"input": {}`},
		"a goto":               {"", `"command": {"goto": "ask", "update": {"request": "r"}}`},
		"a thread that waits":  {thread, `"command": {"resume": "yes"}`},
		"a thread to continue": {thread, `"metadata": {}`},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := ask(http.MethodPost, c.path+"/runs/crons", `{"assistant_id": "approve", "schedule": "0 2 * * *", `+c.body+`}`)
			assert.Equal(t, http.StatusOK, code, text)
		})
	}
}

func unescaped(t *testing.T, body string) string {
	t.Helper()
	var e struct {
		Detail string `json:"detail"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &e), body)
	return e.Detail
}

// A service creates its crons each time it starts, and each cron exists once.
func TestTheSameCronIsMadeOnce(t *testing.T) {
	t.Parallel()
	s, ask := cronServer(t)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	const nightly = `{"assistant_id": "echo", "schedule": "0 2 * * *", "input": {"messages": []}}`
	make1 := func(body string) (int, string) {
		return ask(http.MethodPost, "/runs/crons", body, "Idempotency-Key", "nightly report")
	}
	id := func(body string) string {
		var c struct {
			ID string `json:"cron_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &c), body)
		require.NotEmpty(t, c.ID)
		return c.ID
	}
	_, first := make1(nightly)
	code, again := make1(`{"input": {"messages": []}, "schedule": "0 2 * * *", "assistant_id": "echo"}`)
	assert.Equal(t, http.StatusOK, code, again)
	assert.Equal(t, id(first), id(again))
	_, n := ask(http.MethodPost, "/runs/crons/count", "{}")
	assert.Equal(t, "1", strings.TrimSpace(n))

	code, _ = ask(http.MethodPatch, "/runs/crons/"+id(first), `{"enabled": false}`)
	require.Equal(t, http.StatusOK, code)
	_, again = make1(nightly)
	assert.Contains(t, again, `"enabled":false`, "a service that starts again does not switch it on")

	code, text := make1(strings.Replace(nightly, "0 2", "0 3", 1))
	assert.Equal(t, http.StatusUnprocessableEntity, code)
	assert.Contains(t, text, "which another request has used for the cron "+id(first))
	code, _ = ask(http.MethodDelete, "/runs/crons/"+id(first), "")
	require.Equal(t, http.StatusNoContent, code)
	code, text = make1(strings.Replace(nightly, "0 2", "0 3", 1))
	assert.Equal(t, http.StatusOK, code, text)
	code, _ = ask(http.MethodPost, "/runs/crons", nightly, "Idempotency-Key", strings.Repeat("x", 256))
	assert.Equal(t, http.StatusUnprocessableEntity, code)
}

// A client can change each field of a cron that the SDKs can change.
func TestACronChanges(t *testing.T) {
	t.Parallel()
	s, ask := cronServer(t)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	_, body := ask(http.MethodPost, "/runs/crons", `{"assistant_id": "fail", "schedule": "0 2 * * *", "timezone": "Europe/Athens", "end_time": "2999-01-01T00:00:00Z", "input": {"text": "a"}}`)
	var made struct {
		ID        string  `json:"cron_id"`
		Assistant string  `json:"assistant_id"`
		Schedule  string  `json:"schedule"`
		Timezone  *string `json:"timezone"`
		EndTime   *string `json:"end_time"`
		OnDone    string  `json:"on_run_completed"`
		Payload   struct {
			Input   map[string]string `json:"input"`
			Webhook string            `json:"webhook"`
		} `json:"payload"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &made), body)
	path := "/runs/crons/" + made.ID
	code, body := ask(http.MethodPatch, path, `{"on_run_completed": "keep", "input": {"text": "b"}, "timezone": null, "end_time": null}`)
	require.Equal(t, http.StatusOK, code, body)
	made.Timezone, made.EndTime = nil, nil
	require.NoError(t, json.Unmarshal([]byte(body), &made))
	assert.Equal(t, "keep", made.OnDone)
	assert.Equal(t, map[string]string{"text": "b"}, made.Payload.Input)
	assert.Equal(t, "0 2 * * *", made.Schedule)
	assert.Nil(t, made.Timezone)
	assert.Nil(t, made.EndTime)

	for _, wrong := range []string{
		`{"input": {"nte": 1}}`, `{"input": null}`, `{"schedule": "0 0 30 2 *"}`, `{"on_run_completed": "x"}`, `{"assistant_id": "echo"}`,
		`{"webhook": "http://127.0.0.1/x"}`, `{"multitask_strategy": "x"}`,
	} {
		code, body = ask(http.MethodPatch, path, wrong)
		assert.Equal(t, http.StatusUnprocessableEntity, code, "%s: %s", wrong, body)
	}
	code, body = ask(http.MethodPatch, path, `{"assistant_id": "`+made.Assistant+`", "end_time": "2020-01-01T00:00:00Z"}`)
	assert.Equal(t, http.StatusOK, code, body)
	assert.Contains(t, body, `"next_run_date":null`, "a cron may be ended")
}

// If a cron has a thread, the thread is always kept, so on_run_completed is empty.
func TestACronOfAThreadHasNoOnRunCompleted(t *testing.T) {
	t.Parallel()
	s, ask := cronServer(t)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	_, body := ask(http.MethodPost, "/threads", `{}`)
	var thread struct {
		ID string `json:"thread_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &thread))
	code, body := ask(http.MethodPost, "/threads/"+thread.ID+"/runs/crons", `{"assistant_id": "echo", "schedule": "0 2 * * *", "input": {"messages": []}}`)
	require.Equal(t, http.StatusOK, code, body)
	assert.Contains(t, body, `"on_run_completed":null`)
}

// A filter of Authorize may let the members of a team change a cron. Its runs have the rights of the user that made it.
func TestOnlyTheMakerOfACronChangesItsRuns(t *testing.T) {
	t.Parallel()
	store := memruns.New()
	_, web := testServer(t, func(o *server.Options) { o.Authorize, o.Runs = team, store })
	ann, bob := "ann:red", "bob:red"
	made := ask(t, web, ann, http.MethodPost, "/runs/crons", map[string]any{
		"assistant_id": "echo", "schedule": "0 2 1 1 *", "input": map[string]any{"messages": []any{}}, "metadata": map[string]any{"a": 1},
	})
	require.Equal(t, http.StatusOK, made.status, made.body)
	path := "/runs/crons/" + made.field(t, "cron_id")
	for name, change := range map[string]map[string]any{
		"input":   {"input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": "as ann"}}}},
		"command": {"command": map[string]any{"update": map[string]any{"messages": []any{}}}},
		"config":  {"config": map[string]any{"tags": []any{"x"}}},
	} {
		r := ask(t, web, bob, http.MethodPatch, path, change)
		assert.Equal(t, http.StatusForbidden, r.status, "%s: %s", name, r.body)
		assert.Contains(t, r.body, "make a cron of your own", name)
	}
	for _, change := range []map[string]any{
		{"enabled": false}, {"schedule": "0 3 1 1 *"}, {"metadata": map[string]any{"b": 2}}, {"input": map[string]any{"messages": []any{}}},
	} {
		r := ask(t, web, bob, http.MethodPatch, path, change)
		assert.Equal(t, http.StatusOK, r.status, "%v: %s", change, r.body)
	}

	// The runs have the rights that the user has now.
	change := map[string]any{"input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}}}
	r := ask(t, web, "ann:red admin", http.MethodPatch, path, change)
	require.Equal(t, http.StatusOK, r.status, r.body)
	found, _, err := store.Search(t.Context(), runs.Query{Kind: runs.Cron})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "ann", found[0].Owner)
	assert.Contains(t, string(found[0].Data), `"Permissions":["red","admin"]`)
}

// The runs of a cron have the same metadata as the cron.
func TestAChangeOfMetadataKeepsTheOtherMetadataOfTheRuns(t *testing.T) {
	t.Parallel()
	s, ask := cronServer(t)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	var c struct {
		ID       string         `json:"cron_id"`
		Metadata map[string]any `json:"metadata"`
		Payload  struct {
			Metadata map[string]any `json:"metadata"`
		} `json:"payload"`
	}
	_, body := ask(http.MethodPost, "/runs/crons", `{"assistant_id": "echo", "schedule": "0 2 * * *", "input": {"messages": []}, "metadata": {"a": 1, "b": 1}}`)
	require.NoError(t, json.Unmarshal([]byte(body), &c), body)
	for change, want := range map[string]string{`{"metadata": {"b": 2, "c": 3}}`: "", `{"metadata": null}`: "", `{"metadata": {}}`: "", `{"enabled": false}`: "", `{"metadata": []}`: "metadata"} {
		code, body := ask(http.MethodPatch, "/runs/crons/"+c.ID, change)
		if want != "" {
			assert.Equal(t, http.StatusUnprocessableEntity, code, body)
			assert.Contains(t, body, want)
			continue
		}
		require.Equal(t, http.StatusOK, code, body)
	}
	_, body = ask(http.MethodPatch, "/runs/crons/"+c.ID, "{}")
	require.NoError(t, json.Unmarshal([]byte(body), &c), body)
	assert.Equal(t, map[string]any{"a": 1.0, "b": 2.0, "c": 3.0}, c.Metadata)
	assert.Equal(t, c.Metadata, c.Payload.Metadata)
}

// An older version stored crons whose schedule never comes.
func TestACronThatNeverComesCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	store := memruns.New()
	_, web := testServer(t, func(o *server.Options) { o.Runs = store })
	made := ask(t, web, "ann", http.MethodPost, "/runs/crons", map[string]any{"assistant_id": "echo", "schedule": "0 2 1 1 *", "input": map[string]any{"messages": []any{}}})
	require.Equal(t, http.StatusOK, made.status, made.body)
	r, err := store.Get(t.Context(), runs.Cron, made.field(t, "cron_id"))
	require.NoError(t, err)
	r.Data = []byte(strings.Replace(string(r.Data), "0 2 1 1 *", "0 0 30 2 *", 1))
	_, err = store.Update(t.Context(), r)
	require.NoError(t, err)
	off := ask(t, web, "ann", http.MethodPatch, "/runs/crons/"+r.ID, map[string]any{"enabled": false})
	assert.Equal(t, http.StatusOK, off.status, off.body)
	never := ask(t, web, "ann", http.MethodPatch, "/runs/crons/"+r.ID, map[string]any{"schedule": "0 0 31 2 *"})
	assert.Equal(t, http.StatusUnprocessableEntity, never.status, never.body)
}
