package provider_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/internal/provider"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/modeltest"
)

// docs:begin conformance

// scenes are the events of the API for each scene of the test.
var scenes = map[modeltest.Scene]string{
	modeltest.Text: `{"text":"Hello, "}
{"text":"world."}
{"end":"stop","tokens_in":12,"tokens_out":5}
`,
	modeltest.Calls: `{"call":{"index":0,"id":"a","name":"weather","arguments":"{\"city\":"}}
{"call":{"index":1,"id":"b","name":"weather","arguments":"{\"city\":\"Oslo\"}"}}
{"call":{"index":0,"arguments":"\"Athens\"}"}}
{"end":"tool_calls","tokens_in":12,"tokens_out":5}
`,
	modeltest.Cut:  `{"text":"Hello, "}` + "\n",
	modeltest.Stop: `{"text":"Hello, "}` + "\n" + `{"text":"world."}` + "\n" + `{"end":"surprise"}` + "\n",
	modeltest.Hang: `{"text":"Hello, "}` + "\n",
}

func TestModel(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, func(t *testing.T, s modeltest.Scene) llm.Model {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			assert.NoError(t, err)
			_, err = io.WriteString(w, scenes[s])
			assert.NoError(t, err)
			if s == modeltest.Hang {
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
		}))
		t.Cleanup(server.Close)
		return &provider.Model{URL: server.URL, Key: "a key", Name: "small"}
	})
}

// docs:end

// A request has the whole conversation and the tools.
func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	var got map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer a key", r.Header.Get("Authorization"))
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&got))
		_, err := io.WriteString(w, scenes[modeltest.Text])
		assert.NoError(t, err)
	}))
	defer server.Close()
	call := llm.ToolCall{ID: "a", Name: "weather", Arguments: []byte(`{"city":"Oslo"}`)}
	_, err := llm.Generate(t.Context(), &provider.Model{URL: server.URL, Key: "a key", Name: "small"}, llm.Request{
		Messages: []llm.Message{llm.User("Hi"), llm.Assistant("", call), llm.ToolResult(call, "snow")},
		Tools:    []llm.ToolSpec{{Name: "weather", Description: "Tells.", Schema: []byte(`{"type":"object"}`)}},
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"model": "small",
		"messages": []any{
			map[string]any{"role": "user", "text": "Hi"},
			map[string]any{"role": "assistant", "text": "", "calls": []any{map[string]any{"index": 0.0, "id": "a", "name": "weather", "arguments": `{"city":"Oslo"}`}}},
			map[string]any{"role": "tool", "text": "snow", "call_id": "a"},
		},
		"tools": []any{map[string]any{"name": "weather", "description": "Tells.", "parameters": map[string]any{"type": "object"}}},
	}, got)
}

// A response with an error status becomes an error whose kind and wait time tell llm.Retry whether
// and when to try again.
func TestStatusIsAKindOfError(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "slow down", http.StatusTooManyRequests)
	}))
	defer server.Close()
	_, err := llm.Generate(t.Context(), &provider.Model{URL: server.URL}, llm.Request{Messages: []llm.Message{llm.User("Hi")}})
	require.ErrorIs(t, err, llm.ErrRateLimit)
	var e *llm.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 7*time.Second, e.RetryAfter)
	assert.Equal(t, http.StatusTooManyRequests, e.Status)
}

// The model reads a stream to its last event. No event takes more memory than the bound.
func TestStreamsOfOtherForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, events string
		length       int // the Content-Length of the response, or 0
		want         error
	}{
		{name: "the last event has no newline", events: `{"text":"Hello."}` + "\n" + `{"end":"stop"}`},
		{name: "an event without an end", events: `{"text":"` + strings.Repeat("long ", 1<<20), want: llm.ErrMalformed},
		{name: "an event that is not JSON", events: "Hello.\n", want: llm.ErrMalformed},
		{name: "a connection that breaks within an event", events: `{"text":"Hel`, length: 100, want: llm.ErrTransport},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.length > 0 {
					w.Header().Set("Content-Length", strconv.Itoa(tt.length))
				}
				_, _ = io.WriteString(w, tt.events) // the model may have closed the connection
			}))
			defer server.Close()
			got, err := llm.Generate(t.Context(), &provider.Model{URL: server.URL}, llm.Request{Messages: []llm.Message{llm.User("Hi")}})
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil {
				assert.Equal(t, "Hello.", got.Text())
			}
		})
	}
}
