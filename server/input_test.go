package server_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// shopServer serves a graph with the channel role, which decides what the node does, the internal channel tries, and a
// subgraph that shares both and asks a question.
func shopServer(t *testing.T, input map[string][]string) (*server.Server, error) {
	t.Helper()
	talk, question := state.Keyed("messages", llm.ByID), state.Last[string]("question")
	role, tries, seen := state.Last[string]("role"), state.Sum[int]("tries").Internal(), state.Last[string]("seen")
	sure := graph.NewInterrupt[string, string]("sure")
	inner := graph.New("check", role, tries)
	inner.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := sure.Wait(ctx, "sure?")
		return nil, err
	})
	inner.Edge(graph.Start, "ask")
	check, err := inner.Compile(graph.Options{})
	require.NoError(t, err)
	b := graph.New("shop", talk, question, role, tries, seen)
	b.Node("look", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{seen.Put(role.Get(s)), tries.Put(1)}, nil
	})
	b.Subgraph("check", check)
	b.Edge(graph.Start, "look")
	b.Edge("look", "check")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"shop": g}, Runs: memruns.New(), Input: input})
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	}
	return s, err
}

// The test covers every request in which a client writes channels.
func TestClientsWriteOnlyTheChannelsOfTheInput(t *testing.T) {
	t.Parallel()
	const thread = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	const run, state = thread + "/runs/wait", thread + "/state"
	type request struct{ path, body string }
	begin := request{run, `{"assistant_id":"shop","if_not_exists":"create","input":{"question":"hi"}}`}
	for name, requests := range map[string][]request{
		"input":             {{run, `{"assistant_id":"shop","if_not_exists":"create","input":{"question":"hi","role":"admin","tries":7}}`}},
		"update":            {begin, {state, `{"values":{"question":"hi","role":"admin","tries":7}}`}},
		"list of an update": {begin, {state, `{"values":[{"tries":7},{"role":"admin"},{"question":"hi"}]}`}},
		"supersteps": {{"/threads", `{"thread_id":"4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10","graph_id":"shop","supersteps":[{"updates":[
			{"as_node":"__start__","values":{"question":"hi","role":"admin","tries":7}}]}]}`}, {run, `{"assistant_id":"shop"}`}},
		"update of a command":            {begin, {run, `{"assistant_id":"shop","command":{"update":{"question":"hi","role":"admin","tries":7}}}`}},
		"pairs of a command":             {begin, {run, `{"assistant_id":"shop","command":{"update":[["question","hi"],["role","admin"],["tries",7]]}}`}},
		"input of a node":                {{run, `{"assistant_id":"shop","if_not_exists":"create","command":{"goto":{"node":"look","input":{"question":"hi","role":"admin","tries":7}}}}`}},
		"state of AG-UI":                 {{"/ag-ui/shop", `{"threadId":"4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10","runId":"1","messages":[],"state":{"question":"hi","role":"admin","tries":7}}`}},
		"input by the thread's protocol": {{thread + "/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"shop","input":{"question":"hi","role":"admin","tries":7}}}`}, {run, `{"assistant_id":"shop"}`}},
	} {
		for limited, input := range map[string]map[string][]string{"with Input": {"shop": {"messages", "question"}}, "without": nil} {
			t.Run(name+" "+limited, func(t *testing.T) {
				t.Parallel()
				s, err := shopServer(t, input)
				require.NoError(t, err)
				for _, r := range requests {
					got := local(t, s, http.MethodPost, r.path, r.body)
					assert.NotContains(t, got.Body.String(), "__error__")
					require.Equal(t, http.StatusOK, got.Code, got.Body)
				}
				var values map[string]any
				var found struct{ Values map[string]any }
				require.NoError(t, json.Unmarshal(local(t, s, http.MethodGet, state, "").Body.Bytes(), &found))
				values = found.Values
				if tries, ok := values["tries"].(float64); ok {
					assert.LessOrEqual(t, tries, 1.0, "no client writes an internal channel")
				}
				if input != nil {
					assert.NotContains(t, values, "role")
					if name != "update" && name != "update of a command" {
						assert.NotEqual(t, "admin", values["seen"])
					}
				}
			})
		}
	}
}

func TestAnUpdateOfASubgraphWritesOnlyTheChannelsOfTheInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input map[string][]string
		role  any
	}{"with Input": {map[string][]string{"shop": {"question"}}, nil}, "without": {nil, "admin"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := shopServer(t, c.input)
			require.NoError(t, err)
			const thread = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
			local(t, s, http.MethodPost, thread+"/runs/wait", `{"assistant_id":"shop","if_not_exists":"create","input":{"question":"hi"}}`)
			var found struct {
				Tasks []struct {
					Checkpoint struct {
						NS string `json:"checkpoint_ns"`
					}
				}
			}
			require.NoError(t, json.Unmarshal(local(t, s, http.MethodGet, thread+"/state", "").Body.Bytes(), &found))
			at := `"checkpoint":{"checkpoint_ns":"` + found.Tasks[0].Checkpoint.NS + `"}`
			got := local(t, s, http.MethodPost, thread+"/state", `{"values":{"tries":7},`+at+`}`)
			assert.Equal(t, http.StatusBadRequest, got.Code)
			assert.Contains(t, got.Body.String(), `clients cannot write the channels [\"tries\"]`)
			local(t, s, http.MethodPost, thread+"/state", `{"values":{"role":"admin"},`+at+`}`)
			var sub struct{ Values map[string]any }
			require.NoError(t, json.Unmarshal(local(t, s, http.MethodPost, thread+"/state/checkpoint", `{`+at+`}`).Body.Bytes(), &sub))
			assert.Equal(t, c.role, sub.Values["role"])
		})
	}
}

func TestInputIsChecked(t *testing.T) {
	t.Parallel()
	for want, input := range map[string]map[string][]string{
		`there is no graph "shp"`:                                                  {"shp": nil},
		`the graph "shop" has no channel "rol"`:                                    {"shop": {"rol"}},
		`the channel "tries" of the graph "shop" is internal: no client writes it`: {"shop": {"tries"}},
	} {
		_, err := shopServer(t, input)
		assert.ErrorContains(t, err, want)
	}
}

// propertiesOf returns the properties of a schema of a graph.
func propertiesOf(t *testing.T, s *server.Server, name, which string) []string {
	t.Helper()
	var schema struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(schemas(t, s, name)[which], &schema))
	return slices.Sorted(maps.Keys(schema.Properties))
}

func TestTheSchemaOfTheInputHasTheChannelsThatClientsWrite(t *testing.T) {
	t.Parallel()
	s, err := shopServer(t, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"messages", "question", "role", "seen"}, propertiesOf(t, s, "shop", "input_schema"))
	s, err = shopServer(t, map[string][]string{"shop": {"question"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"question"}, propertiesOf(t, s, "shop", "input_schema"))
	assert.Contains(t, propertiesOf(t, s, "shop", "state_schema"), "tries", "states of threads have all channels")
	s, err = agentServer(t, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"agent_result", "messages"}, propertiesOf(t, s, "boss", "input_schema"))
}

// A client cannot exceed the budget by writing a usage of its own.
func TestAClientCannotWriteTheUsageOfAnAgent(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Say("one").Costing(llm.Usage{Input: 100, Output: 100, Total: 200}), llmtest.Say("two"))
	bot, err := agent.New("bot", model, nil, agent.Options{Use: []agent.Middleware{middleware.Budget(middleware.Spending{ThreadTokens: 100})}, Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}})
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"bot": bot}, Runs: memruns.New()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	const path = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10/runs/wait"
	for _, want := range []string{"one", "budget"} {
		got := local(t, s, http.MethodPost, path, `{"assistant_id":"bot","if_not_exists":"create","input":{"messages":"hi","usage":{"input":-5000,"total":-5000}}}`)
		assert.Contains(t, got.Body.String(), want)
		assert.NotContains(t, got.Body.String(), "two")
	}
}

// The server refuses a message if the input of the graph does not name its channel, also beside values that the graph
// accepts.
func TestMessagesThatTheInputDoesNotNameAreRefused(t *testing.T) {
	t.Parallel()
	s, err := shopServer(t, map[string][]string{"shop": {"role"}})
	require.NoError(t, err)
	for path, body := range map[string]string{
		"/ag-ui/shop":          `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"tools":[],"context":[],"state":{"role":"buyer"}}`,
		"/v1/chat/completions": `{"model":"shop","messages":[{"role":"user","content":"hi"}]}`,
	} {
		got := local(t, s, http.MethodPost, path, body).Body.String()
		assert.Contains(t, got, `Options.Input does not name its channel \"messages\"`, path)
	}
}
