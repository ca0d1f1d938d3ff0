package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// provider is a server that speaks OpenAI's form: it calls a tool, and then
// answers with its result.
func provider(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"wrong key"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta := `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"count_words","arguments":"{}"}}]}`
		reason := "tool_calls"
		if strings.Contains(string(body), `"role":"tool"`) {
			delta, reason = `{"content":"It has nine lines."}`, "stop"
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", reason)
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3,\"total_tokens\":10}}\n\n")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server
}

func TestModelOfTheEnvironment(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	server := provider(t)
	ask := func(key string, args ...string) outcome {
		cmd := f.program(f.args(args)...)
		cmd.Env = append(cmd.Env, "OPENAI_API_KEY="+key, "OPENAI_BASE_URL="+server.URL+"/v1", "LLM_MODEL=tiny")
		return f.finish(cmd)
	}
	o := ask("secret", "how many lines?")
	wantAll(t, o.out, "model       openai tiny at "+server.URL+"/v1", "agent calls count_words\n", "It has nine lines.", "tokens      14 in, 6 out")
	wantNone(t, o.out+o.err, "secret")
	assert.Equal(t, done, o.status, o.err)
	wantAll(t, ask("secret", "-offline", "how many lines?").out, "model       offline", "The file has 9 lines")
	o = ask("another", "how many lines?")
	assert.Equal(t, failed, o.status)
	wantNone(t, o.out+o.err, "another")
}

func TestEnvironmentThatIsNotClear(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	cmd := f.program(f.args([]string{"how many lines?"})...)
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=a", "ANTHROPIC_API_KEY=b")
	f.check(f.finish(cmd), refused, "set LLM_PROVIDER to select one provider; or use the offline model with -offline")
}
