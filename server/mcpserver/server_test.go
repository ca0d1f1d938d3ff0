package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/mcpserver"
	"github.com/weft-go/weft/server/runs/memruns"
)

// start serves the recorded graphs and returns the address.
func start(t *testing.T, change func(*server.Options)) string {
	t.Helper()
	graphs, err := protocolgraphs.New(memcheckpoint.New(memcheckpoint.Options{}))
	require.NoError(t, err)
	o := server.Options{Graphs: graphs, Runs: memruns.New()}
	if change != nil {
		change(&o)
	}
	s, err := server.New(o)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpserver.New(s, mcpserver.Options{Describe: map[string]string{"tools": "Adds two numbers."}}))
	mux.Handle("/", s)
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	return web.URL
}

const waitFor = 10 * time.Second

// A user is a transport that adds the user's header to each request.
type user string

func (u user) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-User", string(u))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, url string, u user, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: u}}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	return result
}

func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	require.Len(t, r.Content, 1)
	return r.Content[0].(*mcp.TextContent).Text
}

func TestGraphsAreTools(t *testing.T) {
	t.Parallel()
	s := connect(t, start(t, nil), "", nil)
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	descriptions := map[string]string{}
	for _, tool := range list.Tools {
		descriptions[tool.Name] = tool.Description
	}
	assert.Len(t, descriptions, 9, "the graphs and answer")
	assert.Equal(t, "Adds two numbers.", descriptions["tools"])

	assert.Equal(t, "The sum is 5.", text(t, call(t, s, "tools", map[string]any{"message": "add 2 3"})))
	r := call(t, s, "slow", map[string]any{"tag": "a", "n": 0})
	assert.JSONEq(t, `{"tag":"a","n":0,"steps":["a:begin","a:done"]}`, text(t, r))
	assert.Equal(t, map[string]any{"tag": "a", "n": 0.0, "steps": []any{"a:begin", "a:done"}}, r.StructuredContent)

	r = call(t, s, "fail", map[string]any{"text": "boom"})
	assert.True(t, r.IsError)
	assert.Equal(t, "ValueError: bad text: boom", text(t, r))
}

func TestACallWithAThreadContinuesIt(t *testing.T) {
	t.Parallel()
	url := start(t, nil)
	s, thread := connect(t, url, "", nil), uuid.New()
	call(t, s, "slow", map[string]any{"tag": "a", "n": 0, "thread_id": thread})
	assert.Contains(t, text(t, call(t, s, "slow", map[string]any{"tag": "b", "n": 0, "thread_id": thread})), `"a:begin","a:done","b:begin","b:done"`)
	call(t, s, "slow", map[string]any{"tag": "c", "n": 0})
	assert.Equal(t, 1, threads(t, url), "the thread of a call without one is deleted")
	assert.True(t, call(t, s, "slow", map[string]any{"tag": "b", "thread_id": "mine"}).IsError)
}

func threads(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Post(url+"/threads/search", "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var list []any
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
	return len(list)
}

func TestStepsAreProgress(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var steps []string
	s := connect(t, start(t, nil), "", &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, r.Params.Message)
	}})
	params := &mcp.CallToolParams{Name: "tools", Arguments: map[string]any{"message": "add 2 3"}}
	params.SetProgressToken("p")
	_, err := s.CallTool(t.Context(), params)
	require.NoError(t, err)
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(c, []string{"agent", "tools", "agent"}, steps)
	}, waitFor, waitFor/1000)
}

func TestAQuestionIsPutToThePerson(t *testing.T) {
	t.Parallel()
	var asked []string
	s := connect(t, start(t, nil), "", &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
	}})
	assert.Contains(t, text(t, call(t, s, "approve", map[string]any{"request": "r"})), `"result":"r: yes"`)
	assert.Equal(t, []string{"approve r?"}, asked)
}

func TestAQuestionToAClientThatCannotAskIsAnsweredByATool(t *testing.T) {
	t.Parallel()
	url := start(t, nil)
	for name, o := range map[string]*mcp.ClientOptions{
		"a client that cannot ask": nil,
		"a person that declines": {ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}},
	} {
		s := connect(t, url, "", o)
		r := call(t, s, "approve2", map[string]any{"request": "r"})
		require.False(t, r.IsError, name)
		assert.Contains(t, text(t, r), `Call the tool "answer"`)
		waits := r.StructuredContent.(map[string]any)
		questions := waits["questions"].([]any)
		require.Len(t, questions, 2)
		answer := func(i int) *mcp.CallToolResult {
			id := questions[i].(map[string]any)["id"]
			return call(t, s, "answer", map[string]any{"thread_id": waits["thread_id"], "question_id": id, "answer": "ok"})
		}
		if o == nil {
			assert.Contains(t, text(t, answer(0)), "waits for an answer", "the other question")
			for _, old := range []any{questions[0].(map[string]any)["id"], "unknown"} {
				r := call(t, s, "answer", map[string]any{"thread_id": waits["thread_id"], "question_id": old, "answer": "no"})
				assert.True(t, r.IsError, "an answer to another question than the open one")
				assert.Contains(t, text(t, r), "no open question")
			}
			assert.Contains(t, text(t, answer(1)), `"result":"left=ok,right=ok"`)
			assert.True(t, answer(1).IsError, "answered already")
		}
	}
}

func TestTheServerChecksEachRequest(t *testing.T) {
	t.Parallel()
	url := start(t, func(o *server.Options) {
		o.Origins = []string{"https://ok.example"}
		o.Auth = func(r *http.Request) (server.User, error) {
			if r.Header.Get("X-User") == "" {
				return server.User{}, assert.AnError
			}
			return server.User{ID: r.Header.Get("X-User")}, nil
		}
	})
	post := func(header ...string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	resp := post()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	assert.Contains(t, string(data), "no valid credentials")
	assert.Equal(t, http.StatusForbidden, post("X-User", "ada", "Origin", "https://evil.example").StatusCode)
	assert.Equal(t, "https://ok.example", post("X-User", "ada", "Origin", "https://ok.example").Header.Get("Access-Control-Allow-Origin"))

	ada, bob := connect(t, url, "ada", nil), connect(t, url, "bob", nil)
	r := call(t, ada, "approve", map[string]any{"request": "r"})
	thread := r.StructuredContent.(map[string]any)["thread_id"]
	assert.True(t, call(t, bob, "answer", map[string]any{"thread_id": thread, "answer": "yes"}).IsError)
	assert.True(t, call(t, bob, "approve", map[string]any{"thread_id": thread, "request": "x"}).IsError)
	assert.Contains(t, text(t, call(t, ada, "answer", map[string]any{"thread_id": thread, "answer": "yes"})), "r: yes")
}

func TestACallThatIsCancelledCancelsItsRun(t *testing.T) {
	t.Parallel()
	url := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	s := connect(t, url, "", &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		if r.Params.Message == "work" {
			cancel()
		}
	}})
	params := &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"tag": "a", "n": 1000}}
	params.SetProgressToken("p")
	_, err := s.CallTool(ctx, params)
	require.ErrorIs(t, err, context.Canceled)
	assert.EventuallyWithT(t, func(c *assert.CollectT) { assert.Equal(c, 0, threads(t, url)) }, waitFor, waitFor/1000)
}
