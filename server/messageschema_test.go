package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server"
)

// schemas returns the schemas of a graph.
func schemas(t *testing.T, s *server.Server, name string) (schemas map[string]json.RawMessage) {
	t.Helper()
	var found []struct {
		ID string `json:"assistant_id"`
	}
	require.NoError(t, json.Unmarshal(local(t, s, http.MethodPost, "/assistants/search", `{"graph_id":"`+name+`"}`).Body.Bytes(), &found))
	require.NoError(t, json.Unmarshal(local(t, s, http.MethodGet, "/assistants/"+found[0].ID+"/schemas", "").Body.Bytes(), &schemas))
	return schemas
}

// validate checks a value with a schema of a graph.
func validate(t *testing.T, s *server.Server, name, which string, value any) error {
	t.Helper()
	schemas := schemas(t, s, name)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(schemas[which], &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return resolved.Validate(value)
}

func TestSchemasDescribeTheMessagesOfClients(t *testing.T) {
	t.Parallel()
	s, err := agentServer(t, nil)
	require.NoError(t, err)
	input := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}}
	require.NoError(t, validate(t, s, "boss", "input_schema", input))
	body, err := json.Marshal(map[string]any{"assistant_id": "boss", "if_not_exists": "create", "input": input})
	require.NoError(t, err)
	const thread = "/threads/4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	var values map[string]any
	require.NoError(t, json.Unmarshal(local(t, s, http.MethodPost, thread+"/runs/wait", string(body)).Body.Bytes(), &values))
	require.Len(t, values["messages"], 4)
	assert.Equal(t, "hi", values["messages"].([]any)[0].(map[string]any)["content"])
	require.NoError(t, validate(t, s, "boss", "output_schema", values))
	var found struct{ Values map[string]any }
	require.NoError(t, json.Unmarshal(local(t, s, http.MethodGet, thread+"/state", "").Body.Bytes(), &found))
	require.NoError(t, validate(t, s, "boss", "state_schema", found.Values))
}

func TestAMessageWithoutContentIsRefused(t *testing.T) {
	t.Parallel()
	for _, m := range []string{`{"role":"user"}`, `{"role":"user","parts":[{"type":"text","text":"hi"}]}`, `{"type":"ai"}`, `{"type":"tool","tool_call_id":"1"}`} {
		s, err := agentServer(t, nil)
		require.NoError(t, err)
		body := local(t, s, http.MethodPost, "/runs/wait", `{"assistant_id":"boss","input":{"messages":[`+m+`]}}`).Body.String()
		assert.Contains(t, body, "message 0: it has no content", m)
		var value any
		require.NoError(t, json.Unmarshal([]byte(`{"messages":[`+m+`]}`), &value))
		assert.Error(t, validate(t, s, "boss", "input_schema", value), m)
	}
}

func TestTheSchemaOfTheContextIsTheOneOfTheOptions(t *testing.T) {
	t.Parallel()
	type settings struct {
		Prefix string `json:"prefix"`
	}
	s, _ := testServer(t, func(o *server.Options) {
		o.Auth, o.Context = nil, map[string]json.RawMessage{"echo": server.ContextSchema[settings]()}
	})
	got := schemas(t, s, "echo")
	for _, name := range []string{"context_schema", "config_schema"} {
		assert.JSONEq(t, `{"type":"object","properties":{"prefix":{"type":"string"}}}`, string(got[name]))
	}
	assert.Equal(t, "null", string(schemas(t, s, "tools")["context_schema"]))
}
