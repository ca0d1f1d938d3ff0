package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// provider is a server with the API of OpenAI. It calls a tool, and then answers with the tool's
// result.
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

// asProgram names the variable that makes the test binary run the program.
const asProgram = "QUICKSTART_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// run runs the program with the variables of env, and returns its exit status and output.
func run(t *testing.T, env []string, args ...string) (status int, output string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.md"), []byte("A loom is a frame.\n"), 0o600))
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-v", "-file", "text.md"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append([]string{asProgram + "=1"}, env...)
	out, err := cmd.CombinedOutput()
	require.NotNil(t, cmd.ProcessState, "%v", err)
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestModelOfTheEnvironment(t *testing.T) {
	t.Parallel()
	server := provider(t)
	env := func(key string) []string {
		return []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + server.URL + "/v1", "LLM_MODEL=tiny"}
	}
	status, out := run(t, env("secret"), "how many lines?")
	assert.Equal(t, 0, status, out)
	for _, want := range []string{"model       openai tiny at " + server.URL + "/v1", "agent calls count_words\n", "It has nine lines.", "tokens      14 in, 6 out"} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "secret")
	status, out = run(t, env("another"), "how many lines?")
	assert.Equal(t, 1, status, out)
	assert.NotContains(t, out, "another")
}

func TestEnvironmentThatIsNotClear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		env        []string
	}{
		{"two keys", "set LLM_PROVIDER to select one provider", []string{"OPENAI_API_KEY=a", "ANTHROPIC_API_KEY=b"}},
		{"no key", "such as OPENAI_API_KEY. Or run ./examples/quickstart", nil},
	} {
		status, out := run(t, tt.env, "how many lines?")
		assert.Equal(t, 2, status, tt.name)
		assert.Contains(t, out, tt.want, tt.name)
	}
}
