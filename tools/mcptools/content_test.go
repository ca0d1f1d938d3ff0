package mcptools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// answering returns a server with a tool that returns this answer.
func answering(answer *mcp.CallToolResult) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "answers"}, nil)
	server.AddTool(&mcp.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return answer, nil })
	return server
}

func TestContent(t *testing.T) {
	t.Parallel()
	many := make([]mcp.Content, 103)
	for i := range many {
		many[i] = &mcp.TextContent{Text: "x"}
	}
	hundred := make([]llm.Part, 0, 101)
	for range 100 {
		hundred = append(hundred, llm.Text("x"))
	}
	tests := []struct {
		name   string
		answer *mcp.CallToolResult
		want   []llm.Part
		status llm.Status
		kept   string
	}{
		{"nothing", &mcp.CallToolResult{}, nil, llm.StatusSuccess, ""},
		{
			"texts", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{}, &mcp.TextContent{Text: "b"}}},
			[]llm.Part{llm.Text("a"), llm.Text("b")},
			llm.StatusSuccess, "",
		},
		{
			"failure", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}},
			[]llm.Part{llm.Text("no")},
			llm.StatusError, "",
		},
		{"image and sound", &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")},
			&mcp.ImageContent{MIMEType: "image/gif"},
		}}, []llm.Part{
			llm.Image("image/png", []byte("png")), llm.File("", "audio/wav", []byte("wav")), llm.Text("[an empty image of type image/gif]"),
		}, llm.StatusSuccess, ""},
		{"resources", &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ResourceLink{URI: "https://a.example/x", Name: "x", Description: "a\nlink"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.txt", Text: "content"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.png", MIMEType: "image/png", Blob: []byte("png")}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///d/a.zip", Blob: []byte("zip")}},
		}}, []llm.Part{
			llm.Text("[resource https://a.example/x x a link]"), llm.Text("[resource file:///a.txt]\ncontent"),
			llm.Image("image/png", []byte("png")), llm.File("a.zip", "application/octet-stream", []byte("zip")),
		}, llm.StatusSuccess, ""},
		{
			"structured alone", &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}},
			[]llm.Part{llm.Text(`{"a":1}`)},
			llm.StatusSuccess, `{"a":1}`,
		},
		{
			"structured beside", &mcp.CallToolResult{StructuredContent: []int{1}, Content: []mcp.Content{&mcp.TextContent{Text: "one"}}},
			[]llm.Part{llm.Text("one")},
			llm.StatusSuccess, `[1]`,
		},
		{
			"structured and large", &mcp.CallToolResult{StructuredContent: strings.Repeat("x", 70_000), Content: []mcp.Content{&mcp.TextContent{Text: "x"}}},
			[]llm.Part{llm.Text("x")},
			llm.StatusSuccess, "",
		},
		{"too many", &mcp.CallToolResult{Content: many}, append(hundred, llm.Text("[3 more pieces are left out]")), llm.StatusSuccess, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := setOf(t, newClient(t, dialTo(answering(tt.answer)), mcptools.Options{}))
			got, err := set.Call(within(t), callOf("get", ""), tools.Options{})
			require.NoError(t, err)
			assert.NoError(t, got.Validate())
			assert.Equal(t, tt.want, got.Parts)
			assert.Equal(t, tt.status, got.Status)
			assert.Equal(t, tt.kept, string(got.Metadata[mcptools.StructuredContent]))
		})
	}
}

// TestInputIsNotGiven proves that a tool fails if it asks a person for input.
func TestInputIsNotGiven(t *testing.T) {
	t.Parallel()
	answer := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"1": &mcp.ElicitParams{Message: "your password?"}}}
	set := setOf(t, newClient(t, dialTo(answering(answer)), mcptools.Options{}))
	assert.Equal(t, `error: mcptools: server "server": the tool asks for input from a person, which this client does not support`, ask(t, set, "get", ""))
}

// TestServerGetsNothing proves that a server can ask neither the model nor the person, and
// gets no roots.
func TestServerGetsNothing(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "curious"}, nil)
	server.AddTool(&mcp.Tool{Name: "pry", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, elicited := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "your password?"})
			_, sampled := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{}) //nolint:staticcheck // servers of older versions still try
			roots, err := r.Session.ListRoots(ctx, nil)                            //nolint:staticcheck // servers of older versions still try
			none := err != nil || len(roots.Roots) == 0
			return text(fmt.Sprint(elicited != nil, sampled != nil, none)), nil
		})
	set := setOf(t, newClient(t, dialTo(server), mcptools.Options{}))
	assert.Equal(t, "success: true true true", ask(t, set, "pry", ""))
}

// TestLongError proves that the model gets only the beginning of a long error.
func TestLongError(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "talker"}, nil)
	server.AddTool(&mcp.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, fmt.Errorf("no: %s", strings.Repeat("x", 100_000))
		})
	set := setOf(t, newClient(t, dialTo(server), mcptools.Options{}))
	got := ask(t, set, "get", "")
	require.LessOrEqual(t, len(got), 5000)
	assert.True(t, strings.HasPrefix(got, `error: mcptools: server "server": no: xxx`))
}

// FuzzResult proves that every answer of a server becomes a valid message that can be
// stored.
func FuzzResult(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"cG5n"}]}`)
	f.Add(`{"content":[{"type":"resource","resource":{"uri":"a:b","blob":""}},{"type":"resource_link","uri":"x","name":"y"}]}`)
	f.Add(`{"content":[{"type":"audio","mimeType":"","data":""}],"structuredContent":[1,null],"isError":true}`)
	f.Add(`{"structuredContent":"\ud800"}`)
	f.Fuzz(func(t *testing.T, answer string) {
		result := new(mcp.CallToolResult)
		if err := json.Unmarshal([]byte(answer), result); err != nil || result.NeedsInput() {
			return
		}
		c := newClient(t, dialTo(answering(result)), mcptools.Options{})
		got, err := setOf(t, c).Call(within(t), callOf("get", ""), tools.Options{})
		require.NoError(t, err)
		assert.NoError(t, got.Validate())
		_, err = json.Marshal(got)
		assert.NoError(t, err)
		assert.NoError(t, c.Close())
	})
}
