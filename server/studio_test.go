package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/tools"
)

// helper returns an agent that calls a tool which a person must approve, and then answers.
func helper(t *testing.T, store checkpoint.Store) *graph.Graph {
	t.Helper()
	return payer(t, llmtest.NewScript(
		llmtest.Call("pay", `{"amount":9007199254740993}`).Costing(llm.Usage{Input: 12, Output: 5}),
		llmtest.Say("It is paid.").Costing(llm.Usage{Input: 20, Output: 4}),
	), store)
}

// payer returns an agent with a tool that a person must approve.
func payer(t *testing.T, model llm.Model, store checkpoint.Store) *graph.Graph {
	t.Helper()
	pay := tools.New("pay", "Pays.", func(context.Context, struct {
		Amount float64 `json:"amount"`
	},
	) (string, error) {
		return "paid", nil
	}).Annotate(tools.Annotations{Title: "Pay the invoice", Destructive: true})
	set, err := tools.NewSet(pay)
	require.NoError(t, err)
	g, err := agent.New("helper", model, set, agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}}, Graph: graph.Options{Checkpoints: store},
	})
	require.NoError(t, err)
	return g
}

func newServer(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	s, err := server.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

// send sends a request and decodes the response. It keeps the digits of numbers.
func send(t *testing.T, h http.Handler, method, path, body string) (int, any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var out any
	if w.Body.Len() > 0 {
		d := json.NewDecoder(w.Body)
		d.UseNumber()
		require.NoError(t, d.Decode(&out), "%s %s", method, path)
	}
	return w.Code, out
}

func get(t *testing.T, h http.Handler, path string) any {
	t.Helper()
	status, out := send(t, h, http.MethodGet, path, "")
	require.Equal(t, http.StatusOK, status, "%s: %v", path, out)
	return out
}

func field(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[p]
		case int:
			list, _ := v.([]any)
			if p >= len(list) {
				return nil
			}
			v = list[p]
		}
	}
	return v
}

const studioThread = "0190a0a0-0000-4000-8000-000000000001"

// asked runs the helper until it waits for a person.
func asked(t *testing.T, o server.Options) (s *server.Server, run string) {
	t.Helper()
	s = newServer(t, o)
	status, _ := send(t, s, "POST", "/threads/"+studioThread+"/runs/wait", `{"assistant_id":"helper","if_not_exists":"create","input":{"messages":[{"role":"user","content":"Pay."}]}}`)
	require.Equal(t, http.StatusOK, status)
	status, found := send(t, s, "POST", "/weft/runs/search", `{"thread_id":"`+studioThread+`"}`)
	require.Equal(t, http.StatusOK, status)
	run, _ = field(found, "runs", 0, "run_id").(string)
	require.NotEmpty(t, run)
	return s, run
}

func TestTheTimelineHasTheTasksOfEachCheckpoint(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	s, run := asked(t, server.Options{Graphs: map[string]*graph.Graph{"helper": helper(t, store)}, Runs: memruns.New()})
	line := get(t, s, "/weft/threads/"+studioThread+"/timeline")
	marks, _ := field(line, "checkpoints").([]any)
	require.Len(t, marks, 2)
	newest, first := marks[0], marks[1]
	assert.Equal(t, field(first, "id"), field(newest, "parent"))
	assert.Equal(t, "input", field(first, "source"))
	assert.Equal(t, run, field(first, "run_id"))
	assert.Equal(t, "agent", field(first, "tasks", 0, "node"))
	assert.Equal(t, json.Number("17"), field(first, "tasks", 0, "usage", "total"))
	assert.Contains(t, field(first, "tasks", 0, "writes"), "messages")
	began, err := time.Parse(time.RFC3339Nano, field(first, "tasks", 0, "started_at").(string))
	require.NoError(t, err)
	ended, err := time.Parse(time.RFC3339Nano, field(first, "tasks", 0, "ended_at").(string))
	require.NoError(t, err)
	assert.False(t, ended.Before(began))
	assert.Equal(t, []any{"tools"}, field(newest, "next"))
	assert.Equal(t, true, field(newest, "tasks", 0, "asked"))
	assert.Equal(t, false, field(line, "more"))

	page := get(t, s, "/weft/threads/"+studioThread+"/timeline?limit=1&before="+field(newest, "id").(string))
	assert.Equal(t, field(first, "id"), field(page, "checkpoints", 0, "id"))
	assert.Equal(t, true, field(page, "more"))
}

func TestATraceHasTheModelsAndToolsOfARun(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	s, run := asked(t, server.Options{Graphs: map[string]*graph.Graph{"helper": helper(t, store)}, Runs: memruns.New(), Cost: func(graph, node string, used llm.Usage) float64 {
		assert.Equal(t, "helper agent", graph+" "+node)
		return float64(used.Input) + 1000*float64(used.Output)
	}})
	trace := get(t, s, "/weft/threads/"+studioThread+"/runs/"+run)
	assert.Equal(t, true, field(trace, "complete"))
	kinds := map[string]string{}
	for i := range 9 {
		if kind, ok := field(trace, "spans", i, "kind").(string); ok {
			kinds[kind+" "+field(trace, "spans", i, "name").(string)] = field(trace, "spans", i, "status").(string)
		}
	}
	assert.Equal(t, map[string]string{"task agent": "success", "model model": "success", "task tools": "waiting"}, kinds)

	line := get(t, s, "/weft/threads/"+studioThread+"/timeline")
	for _, cost := range []any{field(trace, "spans", 1, "cost"), field(line, "checkpoints", 1, "tasks", 0, "cost")} {
		assert.Equal(t, json.Number("5012"), cost)
	}
	assert.Nil(t, field(trace, "spans", 0, "cost"), "of a task")

	state := get(t, s, "/threads/"+studioThread+"/state")
	hash, _ := field(state, "interrupts", 0, "value", "hash").(string)
	status, _ := send(t, s, "POST", "/threads/"+studioThread+"/runs/wait", `{"assistant_id":"helper","command":{"resume":{"verdict":"approve","hash":"`+hash+`"}}}`)
	require.Equal(t, http.StatusOK, status)
	_, found := send(t, s, "POST", "/weft/runs/search", `{"status":["success"],"sort_by":"created_at"}`)
	assert.Equal(t, json.Number("2"), field(found, "total"))
	second, _ := field(found, "runs", 0, "run_id").(string)
	trace = get(t, s, "/weft/threads/"+studioThread+"/runs/"+second)
	names := map[string]any{}
	for i := range 9 {
		if name, ok := field(trace, "spans", i, "name").(string); ok {
			names[field(trace, "spans", i, "kind").(string)+" "+name] = field(trace, "spans", i, "usage", "total_tokens")
			assert.NotNil(t, field(trace, "spans", i, "end"))
		}
	}
	assert.Equal(t, map[string]any{"task tools": nil, "tool pay": nil, "task agent": nil, "model model": json.Number("24")}, names)
}

func TestARunIsFoundOnlyByTheUserOfItsThread(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	user := "ada"
	s, run := asked(t, server.Options{
		Graphs: map[string]*graph.Graph{"helper": helper(t, store)}, Runs: memruns.New(), Hosts: []string{"localhost"},
		Auth: func(*http.Request) (server.User, error) { return server.User{ID: user}, nil },
	})
	user = "bob"
	_, found := send(t, s, "POST", "/weft/runs/search", `{}`)
	assert.Equal(t, json.Number("0"), field(found, "total"))
	assert.Equal(t, []any{}, field(found, "runs"))
	for _, path := range []string{"/graph", "/timeline", "/runs/" + run} {
		status, _ := send(t, s, "GET", "/weft/threads/"+studioThread+path, "")
		assert.Equal(t, http.StatusNotFound, status, path)
	}
}

func TestAReadOnlyServerRefusesWhatChanges(t *testing.T) {
	t.Parallel()
	store, records := memcheckpoint.New(memcheckpoint.Options{}), memruns.New()
	graphs := map[string]*graph.Graph{"helper": helper(t, store)}
	_, run := asked(t, server.Options{Graphs: graphs, Runs: records})
	s := newServer(t, server.Options{Graphs: graphs, Runs: records, ReadOnly: true})
	before := get(t, s, "/threads/"+studioThread)
	for _, r := range []struct{ method, path, body string }{
		{"POST", "/threads", `{}`},
		{"PATCH", "/threads/" + studioThread, `{"metadata":{"title":"x"}}`},
		{"DELETE", "/threads/" + studioThread, ``},
		{"POST", "/threads/" + studioThread + "/copy", `{}`},
		{"POST", "/threads/" + studioThread + "/state", `{"values":{}}`},
		{"POST", "/threads/" + studioThread + "/runs", `{"assistant_id":"helper"}`},
		{"POST", "/threads/" + studioThread + "/runs/wait", `{"assistant_id":"helper"}`},
		{"POST", "/threads/" + studioThread + "/runs/stream", `{"assistant_id":"helper"}`},
		{"POST", "/threads/" + studioThread + "/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"helper"}}`},
		{"POST", "/threads/" + studioThread + "/runs/" + run + "/cancel", `{}`},
		{"GET", "/threads/" + studioThread + "/runs/" + run + "/join?cancel_on_disconnect=true", ``},
		{"POST", "/threads/prune", `{"thread_ids":["` + studioThread + `"]}`},
		{"POST", "/runs/wait", `{"assistant_id":"helper"}`},
		{"POST", "/runs/cancel", `{"status":"all"}`},
		{"POST", "/assistants", `{"graph_id":"helper"}`},
		{"PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{}}`},
		{"POST", "/runs/crons", `{"assistant_id":"helper","schedule":"* * * * *"}`},
	} {
		status, out := send(t, s, r.method, r.path, r.body)
		assert.Equal(t, http.StatusForbidden, status, "%s %s: %v", r.method, r.path, out)
		assert.Contains(t, field(out, "detail"), "read-only", "%s %s", r.method, r.path)
	}
	assert.Equal(t, before, get(t, s, "/threads/"+studioThread))
	for _, path := range []string{"/threads/search", "/threads/count", "/assistants/search", "/runs/crons/search", "/weft/runs/search", "/threads/" + studioThread + "/history"} {
		status, out := send(t, s, "POST", path, `{}`)
		assert.Equal(t, http.StatusOK, status, "%s: %v", path, out)
	}
	_, out := send(t, s, "POST", "/threads/"+studioThread+"/commands", `{"id":1,"method":"agent.getTree"}`)
	assert.Equal(t, "success", field(out, "type"), "a command that only reads: %v", out)
	assert.Equal(t, true, field(get(t, s, "/weft/info"), "read_only"))
}

func TestThreadsOfAStoreAreShownWithoutTheirGraph(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	g := helper(t, store)
	_, err := g.Thread("ada/trip 1").Invoke(t.Context(), agent.Messages.Put(llm.User("Pay.")))
	require.NoError(t, err)
	s := newServer(t, server.Options{Stored: store, Runs: memruns.New(), ReadOnly: true})

	_, found := send(t, s, "POST", "/threads/search", `{}`)
	require.Len(t, found, 1)
	id, _ := field(found, 0, "thread_id").(string)
	assert.Len(t, id, 36)
	assert.Equal(t, "ada/trip 1", field(found, 0, "metadata", "title"))
	assert.Equal(t, "interrupted", field(found, 0, "status"))
	assert.Equal(t, "human", field(found, 0, "values", "messages", 0, "type"))

	state := get(t, s, "/threads/"+id+"/state?subgraphs=true")
	assert.Equal(t, []any{"tools"}, field(state, "next"))
	assert.Equal(t, id, field(state, "checkpoint", "thread_id"))
	assert.Equal(t, json.Number("9007199254740993"), field(state, "interrupts", 0, "value", "arguments", "amount"))
	assert.Equal(t, "tools", field(state, "tasks", 0, "name"))
	assert.Equal(t, json.Number("9007199254740993"), field(state, "values", "messages", 1, "tool_calls", 0, "args", "amount"))

	_, history := send(t, s, "POST", "/threads/"+id+"/history", `{"limit":10}`)
	assert.Len(t, history, 3)
	line := get(t, s, "/weft/threads/"+id+"/timeline")
	assert.Len(t, field(line, "checkpoints"), 2)
	drawing := get(t, s, "/weft/threads/"+id+"/graph")
	assert.Equal(t, "agent", field(drawing, "drawing", "nodes", 0, "name"))
	assert.Equal(t, true, field(get(t, s, "/weft/info"), "stored"))

	// Another program changes the thread.
	snap, err := g.Thread("ada/trip 1").Snapshot(t.Context())
	require.NoError(t, err)
	open, err := agent.Approval.Open(snap)
	require.NoError(t, err)
	_, err = g.Thread("ada/trip 1").Invoke(t.Context(), agent.Approval.Answer(open[0].ID, open[0].Prompt.Approve()))
	require.NoError(t, err)
	state = get(t, s, "/threads/"+id+"/state")
	assert.Equal(t, []any{}, field(state, "next"))
	assert.Equal(t, "It is paid.", field(state, "values", "messages", 3, "content"))
}

func TestAThreadWithoutItsGraphCanBeDeletedAndNotRun(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	_, err := helper(t, store).Thread("ada").Invoke(t.Context(), agent.Messages.Put(llm.User("Pay.")))
	require.NoError(t, err)
	s := newServer(t, server.Options{Stored: store, Runs: memruns.New()})
	_, found := send(t, s, "POST", "/threads/search", `{}`)
	id, _ := field(found, 0, "thread_id").(string)

	status, out := send(t, s, "PATCH", "/threads/"+id, `{"metadata":{"title":"Payment"}}`)
	require.Equal(t, http.StatusOK, status, out)
	assert.Equal(t, "Payment", field(out, "metadata", "title"))
	status, out = send(t, s, "POST", "/threads/"+id+"/state", `{"values":{}}`)
	assert.Equal(t, http.StatusNotImplemented, status)
	assert.Contains(t, field(out, "detail"), "code")

	status, _ = send(t, s, "DELETE", "/threads/"+id, "")
	require.Equal(t, http.StatusNoContent, status)
	_, found = send(t, s, "POST", "/threads/search", `{}`)
	assert.Empty(t, found)
	for _, err := range store.ListThreads(t.Context(), "") {
		require.NoError(t, err)
		assert.Fail(t, "the store still has the thread")
	}
}
