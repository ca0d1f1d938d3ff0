package mcptools_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

type forecast struct {
	City string   `json:"city"`
	High float64  `json:"high" jsonschema:"in degrees"`
	Days []string `json:"days"`
	Wind *int     `json:"wind"`
}

type encoded struct{ City string }

func (encoded) MarshalJSON() ([]byte, error) { return []byte(`"a text"`), nil }

// odd is a type whose schema does not accept its JSON.
type odd struct {
	Inner encoded `json:"inner"`
}

func returning[Out any](name string, out Out) tools.Tool {
	return tools.New(name, "Returns a value.", func(context.Context, struct{}) (Out, error) { return out, nil })
}

// TestServerReturnsStructuredContent proves that the official client reads typed results as
// structured content that fits the schema.
func TestServerReturnsStructuredContent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		tool       tools.Tool
		structured string // empty means none
		schema     bool
	}{
		{"a struct", returning("tool", forecast{City: "Oslo", High: 3.5}), `{"city":"Oslo","high":3.5,"days":null,"wind":null}`, true},
		{"a pointer", returning("tool", &forecast{City: "Oslo", Days: []string{"mon"}}), `{"city":"Oslo","high":0,"days":["mon"],"wind":null}`, true},
		{"a nil pointer", returning("tool", (*forecast)(nil)), ``, true},
		{"a map", returning("tool", map[string]int{"a": 1}), `{"a":1}`, true},
		{"a text", returning("tool", "Oslo"), ``, false},
		{"a list", returning("tool", []int{1}), ``, false},
		{"a result", returning("tool", tools.Result{Text: "{}"}), ``, false},
		{"a type that encodes itself", returning("tool", encoded{}), ``, false},
		{"a value that does not fit the schema", returning("tool", odd{}), ``, true},
	}
	for _, test := range tests {
		for _, version := range []string{"2025-06-18", "2025-11-25", ""} {
			t.Run(test.name+" "+version, func(t *testing.T) {
				t.Parallel()
				session := connect(t, overHTTP(t, startWeft(t, mcptools.ServerOptions{}, open, test.tool), ""), version, nil)
				var listed *mcp.Tool
				for tool, err := range session.Tools(within(t), nil) {
					require.NoError(t, err)
					if tool.Name == "tool" {
						listed = tool
					}
				}
				require.NotNil(t, listed)
				answer, err := session.CallTool(within(t), &mcp.CallToolParams{Name: "tool"})
				require.NoError(t, err)
				assert.False(t, answer.IsError)
				assert.Equal(t, test.schema, listed.OutputSchema != nil)
				if test.structured == "" {
					assert.Nil(t, answer.StructuredContent)
					return
				}
				text, err := json.Marshal(answer.StructuredContent)
				require.NoError(t, err)
				assert.JSONEq(t, test.structured, string(text))
				content, ok := answer.Content[0].(*mcp.TextContent)
				require.True(t, ok)
				assert.JSONEq(t, test.structured, content.Text, "clients that read no structured content get the text")

				raw, err := json.Marshal(listed.OutputSchema)
				require.NoError(t, err)
				var schema jsonschema.Schema
				require.NoError(t, json.Unmarshal(raw, &schema))
				assert.Equal(t, "object", schema.Type)
				resolved, err := schema.Resolve(nil)
				require.NoError(t, err)
				assert.NoError(t, resolved.Validate(answer.StructuredContent))
			})
		}
	}
}

// TestServerReturnsNoStructuredContentOfAPart proves that a cut-off result and an error of
// a tool have no structured content.
func TestServerReturnsNoStructuredContentOfAPart(t *testing.T) {
	t.Parallel()
	long := returning("tool", forecast{City: strings.Repeat("x", 1000)})
	failing := tools.New("failing", "Fails.", func(context.Context, struct{}) (forecast, error) { return forecast{}, io.EOF })
	o := mcptools.ServerOptions{Tools: tools.Options{MaxText: 100}}
	session := connect(t, overHTTP(t, startWeft(t, o, open, long, failing), ""), "", nil)
	for _, name := range []string{"tool", "failing"} {
		answer, err := session.CallTool(within(t), &mcp.CallToolParams{Name: name})
		require.NoError(t, err)
		assert.Nil(t, answer.StructuredContent)
	}
}

// TestServerPassesStructuredContentOn proves that the structured content of another
// server's tool is passed on.
func TestServerPassesStructuredContentOn(t *testing.T) {
	t.Parallel()
	metadata := map[string]json.RawMessage{mcptools.StructuredContent: json.RawMessage(`{"a":1}`)}
	tool := tools.Raw(llm.ToolSpec{Name: "tool", Description: "Passes on.", Schema: json.RawMessage(`{}`)},
		func(context.Context, json.RawMessage) (tools.Result, error) {
			return tools.Result{Text: "one", Metadata: metadata}, nil
		})
	session := connect(t, overHTTP(t, startWeft(t, mcptools.ServerOptions{}, open, tool), ""), "", nil)
	answer, err := session.CallTool(within(t), &mcp.CallToolParams{Name: "tool"})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"a": 1.0}, answer.StructuredContent)
}

// TestServerAnswersPing proves that the server answers ping in the versions of the protocol
// that have it. The newest version does not.
func TestServerAnswersPing(t *testing.T) {
	t.Parallel()
	url := startWeft(t, mcptools.ServerOptions{}, open)
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		session := connect(t, overHTTP(t, url, ""), version, nil)
		require.NoError(t, session.Ping(within(t), nil), version)

		request, err := http.NewRequestWithContext(within(t), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		request.Header.Set("Mcp-Protocol-Version", version)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Contains(t, string(body), `"result":{}`, version)
	}
	server, err := weftServer(mcptools.ServerOptions{})
	require.NoError(t, err)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Serve(within(t), in, out) }()
	session := connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, "2025-06-18", nil)
	require.NoError(t, session.Ping(within(t), nil))
	require.NoError(t, session.Close())
	require.NoError(t, <-served)
}
