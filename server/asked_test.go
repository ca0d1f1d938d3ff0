package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

func TestAuthorizeSeesWhatARunOrAnUpdateAsksFor(t *testing.T) {
	t.Parallel()
	const thread = "4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	const run, values = "/threads/" + thread + "/runs/wait", "/threads/" + thread + "/state"
	const at = "1f0b0000-0000-6000-8000-000000000000"
	type access = server.Access
	for name, c := range map[string]struct {
		path, body string
		want       server.Access
	}{
		"an input":                           {run, `{"assistant_id":"review","input":{"draft":"milk"}}`, access{}},
		"a goto":                             {run, `{"assistant_id":"review","command":{"goto":["publish",{"node":"rewrite","input":{}},"__end__"]}}`, access{Goto: []string{"publish", "rewrite"}}},
		"the input of a goto":                {run, `{"assistant_id":"review","command":{"goto":{"node":"publish","input":{"draft":"b"}},"update":{"log":["a"]}}}`, access{Goto: []string{"publish"}, Update: []string{"draft", "log"}}},
		"the end":                            {run, `{"assistant_id":"review","command":{"goto":"__end__"}}`, access{}},
		"an answer":                          {run, `{"assistant_id":"review","command":{"resume":"yes","update":{"draft":"milk"}}}`, access{Resume: true, Update: []string{"draft"}}},
		"pairs":                              {run, `{"assistant_id":"review","command":{"update":[["log",["a"]],["draft","b"]]}}`, access{Update: []string{"draft", "log"}}},
		"a checkpoint":                       {run, `{"assistant_id":"review","input":null,"checkpoint_id":"` + at + `"}`, access{Checkpoint: at}},
		"a run without a thread":             {"/runs/wait", `{"assistant_id":"review","command":{"goto":"publish"}}`, access{Goto: []string{"publish"}}},
		"an answer by the thread's protocol": {"/threads/" + thread + "/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"QUESTION","response":"yes","goto":"publish"}}`, access{Resume: true, Goto: []string{"publish"}}},
		"an update without a node":           {values, `{"values":{"draft":"b"}}`, access{AsNode: []string{""}, Update: []string{"draft"}}},
		"an update":                          {values, `{"values":{"draft":"b"},"as_node":"review"}`, access{AsNode: []string{"review"}, Update: []string{"draft"}}},
		"an update as input":                 {values, `{"values":{"draft":"b"},"as_node":"__input__"}`, access{AsNode: []string{"__start__"}, Update: []string{"draft"}}},
		"supersteps":                         {"/threads", `{"graph_id":"review","supersteps":[{"updates":[{"values":{"draft":"b"},"as_node":"review"}]}]}`, access{AsNode: []string{"review"}, Update: []string{"draft"}}},
		"a cron":                             {"/runs/crons", `{"assistant_id":"review","schedule":"0 0 1 1 *","command":{"goto":"publish"}}`, access{Goto: []string{"publish"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []server.Access
			watching := false
			s, err := server.New(server.Options{
				Graphs: map[string]*graph.Graph{"review": reviewGraph(t)}, Runs: memruns.New(),
				Authorize: func(_ context.Context, a server.Access) (server.Filter, error) {
					mu.Lock()
					defer mu.Unlock()
					if watching && (a.Resource == server.ResourceThreads || a.Resource == server.ResourceCrons) {
						got = append(got, server.Access{Goto: a.Goto, Resume: a.Resume, Checkpoint: a.Checkpoint, AsNode: a.AsNode, Update: a.Update})
					}
					return server.Filter{}, nil
				},
			})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
			_, paused := waitFor(t, s, thread, pausedInput)
			_, id, _ := strings.Cut(paused, `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			mu.Lock()
			watching = true
			mu.Unlock()
			local(t, s, http.MethodPost, c.path, strings.ReplaceAll(c.body, "QUESTION", id))
			mu.Lock()
			defer mu.Unlock()
			assert.Contains(t, got, c.want)
			for _, a := range got {
				if a.Goto != nil || a.Resume || a.Checkpoint != "" || a.AsNode != nil || a.Update != nil {
					assert.Equal(t, c.want, a)
				}
			}
		})
	}
}

// The server asks Authorize about a run in the same way in each protocol, and when a request is repeated.
func TestAuthorizeLetsARoleOnlyAnswer(t *testing.T) {
	t.Parallel()
	const thread = "4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	for name, answer := range map[string]func(w *wire, id string) string{
		"AG-UI": func(w *wire, id string) string {
			_, events := w.agui("asker", map[string]any{"threadId": thread, "resume": []any{map[string]any{"interruptId": id, "status": "resolved", "payload": "yes"}}})
			return string(encoded(events))
		},
		"the thread's protocol": func(w *wire, id string) string {
			return bodyOf(w.t, w.send(http.MethodPost, "/threads/"+thread+"/commands", map[string]any{"id": 1, "method": "input.respond", "params": map[string]any{"interrupt_id": id, "response": "yes"}}))
		},
		"a repeated request": func(w *wire, id string) (answer string) {
			for range 2 {
				answer = bodyOf(w.t, w.send(http.MethodPost, "/threads/"+thread+"/runs/wait", map[string]any{"assistant_id": "asker", "command": map[string]any{"resume": "yes"}}, "Idempotency-Key", id))
			}
			return answer
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var answers atomic.Bool
			w := newWire(t, func(o *server.Options) {
				o.Graphs["asker"] = approveChat(t)
				o.Authorize = func(_ context.Context, a server.Access) (server.Filter, error) {
					if answers.Load() && a.Action == server.ActionCreateRun && !a.Resume {
						return server.Filter{}, &server.Refusal{Status: http.StatusForbidden, Detail: "You only answer."}
					}
					return server.Filter{}, nil
				}
			})
			paused := bodyOf(t, w.send(http.MethodPost, "/threads/"+thread+"/runs/wait", map[string]any{
				"assistant_id": "asker", "if_not_exists": "create", "input": map[string]any{"messages": []any{message("h1", "user", "go")}},
			}))
			_, id, _ := strings.Cut(paused, `"__interrupt__"`)
			_, id, _ = strings.Cut(id, `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			require.NotEmpty(t, id, paused)
			answers.Store(true)
			got := answer(w, id)
			assert.NotContains(t, got, "You only answer.")
		})
	}
}

// An update without a node is made in the name of the node that ran last. While one node waits at a question, another node
// may have run last.
func TestAuthorizeKeepsAnUpdateWithoutANodeFromPassingAQuestion(t *testing.T) {
	t.Parallel()
	const thread = "4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	amount, question := state.Last[string]("amount"), graph.NewInterrupt[string, bool]("ask")
	var paid atomic.Bool
	b := graph.New("pay", amount)
	b.Node("log", func(context.Context, state.View) (state.Update, error) { return state.Update{amount.Put("5")}, nil })
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := question.Wait(ctx, "Pay?")
		return nil, err
	})
	b.Node("pay", func(context.Context, state.View) (state.Update, error) {
		paid.Store(true)
		return nil, nil
	})
	b.Edge(graph.Start, "log")
	b.Edge(graph.Start, "ask")
	b.Edge("log", "pay")
	b.Edge("ask", "pay")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"pay": g}, Runs: memruns.New(),
		Authorize: func(_ context.Context, a server.Access) (server.Filter, error) {
			if len(a.Goto) > 0 || len(a.AsNode) > 0 {
				return server.Filter{}, &server.Refusal{Status: http.StatusForbidden, Detail: "Runs follow the order of the graph."}
			}
			return server.Filter{}, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	run := "/threads/" + thread + "/runs/wait"
	require.Equal(t, http.StatusOK, local(t, s, http.MethodPost, run, `{"assistant_id":"pay","if_not_exists":"create","input":{}}`).Code)
	w := local(t, s, http.MethodPost, "/threads/"+thread+"/state", `{"values":{"amount":"6"}}`)
	assert.Equal(t, http.StatusForbidden, w.Code, w.Body)
	local(t, s, http.MethodPost, run, `{"assistant_id":"pay","input":null}`)
	assert.False(t, paid.Load(), "the question is open")
}

// For a change of the runs of a cron, the server asks Authorize as it does for a new cron.
func TestAuthorizeSeesTheChangedRunsOfACron(t *testing.T) {
	t.Parallel()
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"review": reviewGraph(t)}, Runs: memruns.New(),
		Authorize: func(_ context.Context, a server.Access) (server.Filter, error) {
			if a.Resource == server.ResourceCrons && len(a.Goto) > 0 {
				assert.Equal(t, server.ActionUpdate, a.Action)
				assert.Equal(t, "review", a.Graph)
				return server.Filter{}, &server.Refusal{Status: http.StatusForbidden, Detail: "Runs follow the order of the graph."}
			}
			return server.Filter{}, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	made := local(t, s, http.MethodPost, "/runs/crons", `{"assistant_id":"review","schedule":"0 0 1 1 *","input":{"draft":"tea"}}`)
	require.Equal(t, http.StatusOK, made.Code, made.Body)
	path := "/runs/crons/" + fieldOf(t, made, "cron_id").(string)
	for body, want := range map[string]int{`{"command":{"goto":"publish"}}`: http.StatusForbidden, `{"input":{"draft":"milk"}}`: http.StatusOK, `{"enabled":false}`: http.StatusOK} {
		w := local(t, s, http.MethodPatch, path, body)
		assert.Equal(t, want, w.Code, "%s: %s", body, w.Body)
	}
}
