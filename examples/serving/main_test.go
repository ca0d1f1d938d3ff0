package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
)

func TestUsersSeeTheirOwnThreads(t *testing.T) {
	t.Parallel()
	k, err := openStores(t.Context(), "", t.TempDir()+"/threads.db", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(k.close)
	g, err := assistant(k.checkpoints)
	require.NoError(t, err)
	o := server.Options{Graphs: map[string]*graph.Graph{"assistant": g}, Runs: k.runs, Authorize: authorize}
	o.Auth, err = tokens("one=ann,two=bob,three=ops,four=operator")
	require.NoError(t, err)
	s, err := server.New(o)
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close(t.Context())) }()

	ask := func(token, method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "bearer "+token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	const thread = "11111111-1111-4111-8111-111111111111"
	run := `{"assistant_id": "assistant", "if_not_exists": "create", "input": {"messages": [{"role": "user", "content": "one two"}]}}`
	assert.Contains(t, ask("one", http.MethodPost, "/threads/"+thread+"/runs/wait", run).Body.String(), "for ann, in reverse: two one")
	for token, status := range map[string]int{"one": 200, "two": 404, "three": 200, "none": 401} {
		assert.Equal(t, status, ask(token, http.MethodGet, "/threads/"+thread+"/history", "").Code, token)
	}
	assert.Equal(t, http.StatusNotFound, ask("three", http.MethodDelete, "/threads/"+thread, "").Code)
	assert.Equal(t, http.StatusNotFound, ask("four", http.MethodDelete, "/threads/"+thread, "").Code)
	for token, status := range map[string]int{"two": 404, "three": 404, "four": 200} {
		w := ask(token, http.MethodPost, "/threads/"+thread+"/runs/wait", run)
		assert.Equal(t, status, w.Code, token)
		if status == http.StatusOK {
			assert.Contains(t, w.Body.String(), "This is message 3 of the thread. Its 2 words, for ann, in reverse: two one", "an operator answers for the owner")
		}
	}
	assert.Equal(t, http.StatusOK, ask("three", http.MethodGet, "/metrics", "").Code)
	assert.Equal(t, http.StatusForbidden, ask("one", http.MethodGet, "/metrics", "").Code)
	for _, text := range []string{"", "x", "=ann", "x="} {
		_, err := tokens(text)
		assert.Error(t, err, text)
	}
}

func TestTheAssistantAsksBeforeItSends(t *testing.T) {
	t.Parallel()
	k, err := openStores(t.Context(), "", "", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(k.close)
	g, err := assistant(k.checkpoints)
	require.NoError(t, err)
	thread := g.Thread("1")
	say := func(text string) string {
		t.Helper()
		snap, err := thread.Invoke(t.Context(), agent.Messages.Put(llm.User(text)))
		require.NoError(t, err)
		last, _ := agent.Messages.Last(snap)
		return last.Text()
	}
	assert.Equal(t, "The text has 2 words.", say("Count two words"))
	assert.Empty(t, say("send hello"), "it waits")
	snap, err := thread.Snapshot(t.Context())
	require.NoError(t, err)
	open, err := agent.Approval.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 1)
	snap, err = thread.Invoke(t.Context(), agent.Approval.Answer(open[0].ID, open[0].Prompt.Approve()))
	require.NoError(t, err)
	last, _ := agent.Messages.Last(snap)
	assert.Equal(t, "The message of you is sent: hello", last.Text())
}

func TestTheFirstPageLinksToTheOthers(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	home(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	assert.Contains(t, w.Body.String(), `href="/chat/"`)
	assert.Contains(t, w.Body.String(), `href="/studio/"`)
}
