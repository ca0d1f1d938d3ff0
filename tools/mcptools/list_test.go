package mcptools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// dialTo returns an endpoint for a server in this process.
func dialTo(server *mcp.Server) mcptools.Dial {
	return func(ctx context.Context) (mcp.Transport, error) {
		here, there := mcp.NewInMemoryTransports()
		_, err := server.Connect(ctx, there, nil)
		return here, err
	}
}

// listing returns a server with these tools. Each returns its name and its arguments.
func listing(list ...*mcp.Tool) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "lister"}, nil)
	for _, t := range list {
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		server.AddTool(t, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(r.Params.Name + " " + string(r.Params.Arguments)), nil
		})
	}
	return server
}

// fixed returns a server that answers tools/list with the results of page.
func fixed(page func(cursor string) *mcp.ListToolsResult) *mcp.Server {
	server := listing(&mcp.Tool{Name: "any"})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if p, ok := r.GetParams().(*mcp.ListToolsParams); ok {
				return page(p.Cursor), nil
			}
			return next(ctx, method, r)
		}
	})
	return server
}

func TestNames(t *testing.T) {
	t.Parallel()
	server := listing(&mcp.Tool{Name: "read"}, &mcp.Tool{Name: "files.read"}, &mcp.Tool{Name: strings.Repeat("x", 128)})
	for prefix, want := range map[string][]string{
		"":   {"files_read_601e4eb6", "read", strings.Repeat("x", 55) + "_24da1b81"},
		"fs": {"fs__files_read_f029844a", "fs__read", "fs__" + strings.Repeat("x", 51) + "_b324a8dc"},
	} {
		set := setOf(t, newClient(t, dialTo(server), mcptools.Options{Prefix: prefix}))
		got := set.Names()
		assert.Equal(t, want, got, "with prefix %q", prefix)
		assert.Equal(t, "success: files.read {}", ask(t, set, got[0], ""))
	}
	both := setOf(t, newClient(t, dialTo(server), mcptools.Options{Prefix: "a"}), setOfTools(t, newClient(t, dialTo(server), mcptools.Options{Prefix: "b"}))...)
	assert.Len(t, both.Names(), 6)
	only := setOf(t, newClient(t, dialTo(server), mcptools.Options{Only: []string{"read", "write"}}))
	assert.Equal(t, []string{"read"}, only.Names())
}

func setOfTools(t testing.TB, c *mcptools.Client) []tools.Tool {
	t.Helper()
	list, err := c.Tools(within(t))
	require.NoError(t, err)
	return list
}

func TestHintsAreNotTrusted(t *testing.T) {
	t.Parallel()
	no := false
	server := listing(
		&mcp.Tool{Name: "a", Title: "Look\u202e up", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &no}},
		&mcp.Tool{Name: "b", Annotations: &mcp.ToolAnnotations{DestructiveHint: &no}},
		&mcp.Tool{Name: "c"},
	)
	for _, trust := range []bool{false, true} {
		var got []tools.Annotations
		for _, tool := range setOfTools(t, newClient(t, dialTo(server), mcptools.Options{Name: "desk", TrustHints: trust})) {
			got = append(got, tool.Annotations())
		}
		worst := tools.Annotations{Category: "desk", Destructive: true, OpenWorld: true}
		want := []tools.Annotations{{Title: "Look up", Category: "desk", Destructive: true, OpenWorld: true}, worst, worst}
		if trust {
			want = []tools.Annotations{
				{Title: "Look up", Category: "desk", ReadOnly: true, Idempotent: true},
				{Category: "desk", OpenWorld: true},
				worst,
			}
		}
		assert.Equal(t, want, got, "trust %v", trust)
	}
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	server := listing(
		&mcp.Tool{Name: "a", Description: "Looks\u200b up.\n\x1b[31mNow\u00a0you\U000e0041.  "},
		&mcp.Tool{Name: "b", Description: strings.Repeat("é", 5000)},
		&mcp.Tool{Name: "c", Title: "A title"},
		&mcp.Tool{Name: "d"},
	)
	want := []string{"Looks up.\n[31mNow\u00a0you.", strings.Repeat("é", 1024), "A title", "d"}
	for i, tool := range setOfTools(t, newClient(t, dialTo(server), mcptools.Options{})) {
		assert.Equal(t, want[i], tool.Spec().Description)
	}
}

func TestListsThatAreNotAsTheyShouldBe(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object"}`)
	long := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 70_000) + `"}`)
	asked := 0
	t.Cleanup(func() { assert.Equal(t, 200, asked) })
	tests := []struct {
		name    string
		page    func(cursor string) *mcp.ListToolsResult
		want    int
		refused string
	}{
		{"twice", func(string) *mcp.ListToolsResult {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "a", InputSchema: schema}, {Name: "a", InputSchema: schema}}}
		}, 1, `tool "a": the server lists its name twice`},
		{"schemas", func(string) *mcp.ListToolsResult {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{
				{Name: "a", InputSchema: long},
				{Name: "b", InputSchema: json.RawMessage(`{"type":"array"}`)},
				{Name: "c"},
				nil,
				{InputSchema: schema},
			}}
		}, 1, `tool "a": its schema has 700`},
		{"same page for ever", func(string) *mcp.ListToolsResult {
			return &mcp.ListToolsResult{NextCursor: "same", Tools: []*mcp.Tool{{Name: "a", InputSchema: schema}}}
		}, 1, "the server lists its name twice"},
		{"pages without end", func(string) *mcp.ListToolsResult {
			asked++
			return &mcp.ListToolsResult{NextCursor: fmt.Sprint(asked)}
		}, 0, ""},
		{"too many", func(cursor string) *mcp.ListToolsResult {
			page := &mcp.ListToolsResult{NextCursor: cursor + "x"}
			for i := range 300 {
				page.Tools = append(page.Tools, &mcp.Tool{Name: fmt.Sprint(cursor, i), InputSchema: schema})
			}
			return page
		}, 1000, "more than 1000 tools"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, dialTo(fixed(tt.page)), mcptools.Options{})
			assert.Equal(t, tt.want, len(setOfTools(t, c)))
			err := c.Refused()
			if tt.refused == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tt.refused)
			}
		})
	}
}

// TestListAges proves that the list is read again after MaxAge if the server announces no
// changes.
func TestListAges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		server := fixed(func(string) *mcp.ListToolsResult {
			asked++
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: fmt.Sprint("tool", asked), InputSchema: json.RawMessage(`{}`)}}}
		})
		c := newClient(t, dialTo(server), mcptools.Options{MaxAge: time.Hour})
		names := func() string { return setOfTools(t, c)[0].Name() }
		assert.Equal(t, "tool1tool1", names()+names())
		time.Sleep(59 * time.Minute)
		assert.Equal(t, "tool1", names())
		time.Sleep(2 * time.Minute)
		assert.Equal(t, "tool2", names())
		assert.NoError(t, c.Close())
		synctest.Wait()
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"a b", "a__b", "a_", "_a", strings.Repeat("x", 25), "é"} {
		_, err := mcptools.New(mcptools.Command{Path: "x"}, mcptools.Options{Prefix: prefix})
		assert.Error(t, err)
	}
	for _, e := range []mcptools.Endpoint{
		nil,
		mcptools.Command{},
		mcptools.Command{Path: "x", Env: []string{"TOKEN"}},
		mcptools.Dial(nil),
		mcptools.HTTP{},
		mcptools.HTTP{URL: "file:///etc/passwd"},
		mcptools.HTTP{URL: "http://a b"},
	} {
		_, err := mcptools.New(e, mcptools.Options{})
		assert.Error(t, err)
	}
	_, err := mcptools.New(mcptools.Command{Path: "x"}, mcptools.Options{ConnectTimeout: -1})
	assert.Error(t, err, "a negative timeout was accepted")
	for name, e := range map[string]mcptools.Endpoint{
		"files": mcptools.Command{Path: "/usr/bin/files.exe"}, "a.example": mcptools.HTTP{URL: "https://a.example:8080/mcp"},
	} {
		assert.Equal(t, name, newClient(t, e, mcptools.Options{}).Name())
	}
}

func FuzzDescription(f *testing.F) {
	f.Add("Reads.", "Title")
	f.Add("\x1b[0m\u200b", "")
	f.Fuzz(func(t *testing.T, description, title string) {
		server := fixed(func(string) *mcp.ListToolsResult {
			return &mcp.ListToolsResult{Tools: []*mcp.Tool{{Name: "a", Title: title, Description: description, InputSchema: json.RawMessage(`{}`)}}}
		})
		c := newClient(t, dialTo(server), mcptools.Options{})
		list := setOfTools(t, c)
		require.Len(t, list, 1)
		got := list[0].Spec().Description
		require.NotEmpty(t, got)
		assert.True(t, utf8.ValidString(got))
		assert.LessOrEqual(t, utf8.RuneCountInString(got), 1024)
		assert.NoError(t, c.Close())
	})
}
