package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	for _, name := range []string{"LLM_PROVIDER", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "OLLAMA_HOST"} {
		if err := os.Unsetenv(name); err != nil { // tests must not use a real key
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// The page talks to the agent of the quickstart, and a conversation outlives the process.
func TestPageOverAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options{file: filepath.Join(dir, "text.md"), db: filepath.Join(dir, "q.db")}
	require.NoError(t, os.WriteFile(o.file, []byte("# Weaving\n\nA loom is a frame for weaving cloth.\n"), 0o600))
	var thread struct {
		ID string `json:"thread_id"`
	}
	o.serving(t, func(ask asker) {
		assert.Contains(t, ask(http.MethodGet, "/chat/", ""), "text.md")
		ask(http.MethodGet, "/studio/", "")
		require.NoError(t, json.Unmarshal([]byte(ask(http.MethodPost, "/threads", "{}")), &thread))
		answer := ask(http.MethodPost, "/threads/"+thread.ID+"/runs/wait", input("what is a loom?"))
		assert.Contains(t, answer, "A loom is a frame for weaving cloth.")
		answer = ask(http.MethodPost, "/threads/"+thread.ID+"/runs/wait", input("save that"))
		assert.Contains(t, answer, "Append this to your notes?")
	})
	o.serving(t, func(ask asker) {
		ask(http.MethodPost, "/threads/"+thread.ID+"/runs/wait", `{"assistant_id": "quickstart", "command": {"resume": "yes"}}`)
	})
	notes, err := os.ReadFile(filepath.Join(dir, "quickstart-notes.md"))
	require.NoError(t, err)
	assert.Contains(t, string(notes), "A loom is a frame")
}

func TestFileThatIsMissing(t *testing.T) {
	t.Parallel()
	o := options{file: filepath.Join(t.TempDir(), "none.md"), db: filepath.Join(t.TempDir(), "q.db")}
	require.ErrorContains(t, o.serve(t.Context(), nil), "there is no file")
	assert.NoFileExists(t, o.db)
}

func input(text string) string {
	return `{"assistant_id": "quickstart", "input": {"messages": [{"role": "user", "content": "` + text + `"}]}}`
}

type asker func(method, path, body string) string

// serving runs do while the server runs.
func (o options) serving(t *testing.T, do func(asker)) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- o.serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	do(func(method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		res, err := client.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, string(data))
		return string(data)
	})
	cancel()
	require.NoError(t, <-ended)
}
