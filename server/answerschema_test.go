package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

type reviewAnswer struct {
	Publish bool            `json:"publish"`
	Notes   []reviewNote    `json:"notes,omitempty"`
	Extra   json.RawMessage `json:"extra,omitempty"`
}

type reviewNote struct {
	Text string `json:"text"`
}

// asks returns a graph with one node, which asks the question.
func asks[P, A any](t *testing.T, q *graph.Interrupt[P, A], prompt P) *graph.Graph {
	t.Helper()
	done := state.Last[bool]("done")
	b := graph.New("asks", done)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := q.Wait(ctx, prompt)
		return state.Update{done.Put(true)}, err
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

func TestAQuestionHasTheSchemaOfItsAnswers(t *testing.T) {
	t.Parallel()
	one := graph.NewInterrupt[string, bool]("schema_several")
	_ = graph.NewInterrupt[string, int]("schema_several")
	for name, test := range map[string]struct {
		graph *graph.Graph
		want  string // "" if there is none
	}{
		"a bool":   {asks(t, graph.NewInterrupt[string, bool]("schema_bool"), "ok?"), `{"type":"boolean"}`},
		"a list":   {asks(t, graph.NewInterrupt[[]string, []string]("schema_list"), []string{"a"}), `{"type":["array","null"],"items":{"type":"string"}}`},
		"a struct": {asks(t, graph.NewInterrupt[string, reviewAnswer]("schema_struct"), "publish?"), `{"type":"object","properties":{"publish":{"type":"boolean"},"notes":{"type":["array","null"],"items":{"$ref":"#/$defs/reviewNote"}},"extra":{}},"$defs":{"reviewNote":{"type":"object","properties":{"text":{"type":"string"}}}}}`},
		"the schema of the prompt before that of the type": {
			asks(t, graph.NewInterrupt[map[string]any, int]("schema_own"), map[string]any{"schema": map[string]any{"type": "integer", "minimum": 1.0}}), `{"type":"integer","minimum":1}`,
		},
		"a schema that is none":           {asks(t, graph.NewInterrupt[map[string]any, bool]("schema_odd"), map[string]any{"schema": "v1"}), `{"type":"boolean"}`},
		"any JSON":                        {asks(t, graph.NewInterrupt[string, json.RawMessage]("schema_raw"), "?"), ""},
		"several types with one name":     {asks(t, one, "?"), ""},
		"an interface, with a list asked": {asks(t, graph.NewInterrupt[[]any, any]("schema_any"), []any{"a"}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, server.Options{Graphs: map[string]*graph.Graph{"asks": test.graph}, Runs: memruns.New()})
			thread := "/threads/" + studioThread
			check := func(where string, question any) {
				t.Helper()
				require.NotNil(t, question, where)
				data, err := json.Marshal(field(question, "response_schema"))
				require.NoError(t, err)
				if test.want == "" {
					assert.NotContains(t, question, "response_schema", where)
				} else {
					assert.JSONEq(t, test.want, string(data), where)
				}
			}
			for range 2 { // an answer by a client does not change the schema
				_, asked := send(t, s, http.MethodPost, thread+"/runs/wait", `{"assistant_id":"asks","if_not_exists":"create","input":{}}`)
				require.NotNil(t, field(asked, "__interrupt__"), asked)
				check("wait", field(asked, "__interrupt__", 0))
				at := get(t, s, thread+"/state")
				check("state", field(at, "interrupts", 0))
				check("task", field(at, "tasks", 0, "interrupts", 0))
				for _, list := range field(get(t, s, thread), "interrupts").(map[string]any) {
					check("thread", list.([]any)[0])
				}
				_, _ = send(t, s, http.MethodPost, thread+"/runs/wait", `{"assistant_id":"asks","command":{"resume":{"publish":true}}}`)
			}
			streamed := local(t, s, http.MethodPost, "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f11/runs/stream", `{"assistant_id":"asks","if_not_exists":"create","input":{},"stream_mode":["updates","values"]}`).Body.String()
			n := strings.Count(streamed, `"__interrupt__"`)
			require.Positive(t, n)
			if test.want == "" {
				n = 0
			}
			assert.Equal(t, n, strings.Count(streamed, `"response_schema"`), streamed)
		})
	}
}
