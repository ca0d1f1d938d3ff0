package server_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/tools"
)

// A ticket is a value of a program. One of its methods has the same name as a method that package agent uses.
type ticket struct {
	Seat string `json:"seat"`
}

func (ticket) EventName() string { return "concert" }

// A report is a value of a program that embeds a value of package agent.
type report struct {
	agent.Outcome

	Note string `json:"note"`
}

// agentServer serves an agent whose tool emits values.
func agentServer(t *testing.T, output map[string][]string) (*server.Server, error) {
	t.Helper()
	look := tools.New("look", "Looks.", func(ctx context.Context, _ struct{}) (string, error) {
		graph.Emit(ctx, map[string]string{"from": "the program"})
		graph.Emit(ctx, ticket{"12a"})
		graph.Emit(ctx, report{Note: "its own"})
		return "seen", nil
	})
	set, err := tools.NewSet(look)
	require.NoError(t, err)
	model := llmtest.NewScript(llmtest.Call("look", `{}`), llmtest.Say("done"))
	a, err := agent.New("boss", model, set, agent.Options{Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}})
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"boss": a}, Runs: memruns.New(), Output: output, Webhooks: server.Webhooks{
		Hosts: []string{"127.0.0.1"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, HTTP: true,
	}})
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	}
	return s, err
}

func TestResultsAndStreamsHaveTheOutputOfTheGraph(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output map[string][]string
		want   []string
	}{
		"without internal channels": {nil, []string{"agent_result", "messages"}},
		"of the named channels":     {map[string][]string{"boss": {"messages"}}, []string{"messages"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := agentServer(t, c.output)
			require.NoError(t, err)
			body := local(t, s, http.MethodPost, "/runs/stream", `{"assistant_id":"boss","on_completion":"keep","stream_mode":["values","updates"],"input":{"messages":"hi"}}`).Body.String()
			events, err := readEvents(strings.NewReader(body), nil)
			require.NoError(t, err)
			seen := map[string]bool{}
			add := func(values map[string]json.RawMessage) {
				for name := range values {
					seen[name] = true
				}
			}
			for _, e := range events {
				var values map[string]json.RawMessage
				switch e.name {
				case "values":
					require.NoError(t, json.Unmarshal([]byte(e.data), &values))
					add(values)
				case "updates":
					var nodes map[string]map[string]json.RawMessage
					require.NoError(t, json.Unmarshal([]byte(e.data), &nodes))
					for _, values := range nodes {
						add(values)
					}
				}
			}
			found := local(t, s, http.MethodPost, "/threads/search", `{}`).Body.String()
			var threads []struct {
				ID string `json:"thread_id"`
			}
			require.NoError(t, json.Unmarshal([]byte(found), &threads))
			var result map[string]json.RawMessage
			again := `{"assistant_id":"boss","command":{"goto":"__end__"}}`
			require.NoError(t, json.Unmarshal(local(t, s, http.MethodPost, "/threads/"+threads[0].ID+"/runs/wait", again).Body.Bytes(), &result))
			add(result)
			var names []string
			for name := range seen {
				names = append(names, name)
			}
			assert.ElementsMatch(t, c.want, names)
		})
	}
	_, err := agentServer(t, map[string][]string{"boss": {"mesages"}})
	assert.ErrorContains(t, err, `the graph "boss" has no channel "mesages"`)
	_, err = agentServer(t, map[string][]string{"bos": nil})
	assert.ErrorContains(t, err, `there is no graph "bos"`)
}

func TestCustomHasOnlyWhatTheProgramEmits(t *testing.T) {
	t.Parallel()
	s, err := agentServer(t, nil)
	require.NoError(t, err)
	body := local(t, s, http.MethodPost, "/runs/stream", `{"assistant_id":"boss","stream_mode":["custom","events"],"input":{"messages":"hi"}}`).Body.String()
	events, err := readEvents(strings.NewReader(body), nil)
	require.NoError(t, err)
	var custom, named []string
	for _, e := range events {
		var d struct{ Event, Name string }
		switch {
		case e.name == "custom":
			custom = append(custom, e.data)
		case e.name == "events" && json.Unmarshal([]byte(e.data), &d) == nil && d.Event == "on_custom_event":
			named = append(named, d.Name)
		}
	}
	require.Len(t, custom, 3)
	assert.Equal(t, []string{`{"from":"the program"}`, `{"seat":"12a"}`}, custom[:2])
	assert.Contains(t, custom[2], `"note":"its own"`)
	assert.Equal(t, []string{"agent_turn", "custom", "custom", "custom", "agent_turn", "agent_outcome"}, named)
}

func TestWebhooksHaveTheOutputOfTheGraph(t *testing.T) {
	t.Parallel()
	s, err := agentServer(t, map[string][]string{"boss": {"messages"}})
	require.NoError(t, err)
	got := make(chan map[string]json.RawMessage, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Values map[string]json.RawMessage }
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		got <- body.Values
	}))
	defer hook.Close()
	local(t, s, http.MethodPost, "/runs/wait", `{"assistant_id":"boss","webhook":"`+hook.URL+`","input":{"messages":"look"}}`)
	assert.Equal(t, []string{"messages"}, slices.Sorted(maps.Keys(<-got)))
}
