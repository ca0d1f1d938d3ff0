package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// If an agent stops because of a limit or its provider, it says so in a message. Each protocol streams this message once,
// like a reply. In the mode "messages", each event has the message so far.
func TestStreamsTellWhyAnAgentStopped(t *testing.T) {
	t.Parallel()
	refused := llmtest.Fail(&llm.Error{Kind: llm.ErrContentFilter})
	a, err := agent.New("boss", llmtest.NewScript(refused, refused, refused, refused, refused), nil, agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	require.NoError(t, err)
	s := newServer(t, server.Options{Graphs: map[string]*graph.Graph{"boss": a}, Runs: memruns.New()})
	run := func(mode string) string {
		return `{"assistant_id":"boss","stream_mode":"` + mode + `","input":{"messages":"hi"}}`
	}
	for name, c := range map[string]struct {
		path, body string
		piece      string // a regular expression for the text in the stream
		times      int
	}{
		"messages-tuple": {"/runs/stream", run("messages-tuple"), `"type":"AIMessageChunk".*"content":"([^"]+)"`, 1},
		"messages":       {"/runs/stream", run("messages"), `messages/partial\ndata: .*"content":"([^"]+)"`, 2},
		"events":         {"/runs/stream", run("events"), `"on_chat_model_end".*"content":"([^"]+)"`, 1},
		"OpenAI":         {"/v1/chat/completions", `{"model":"boss","stream":true,"messages":[{"role":"user","content":"hi"}]}`, `"delta":\{.*"content":"([^"]+)"`, 1},
		"AG-UI": {
			"/ag-ui/boss", `{"threadId":"t","runId":"r","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[{"id":"1","role":"user","content":"hi"}]}`,
			`"delta":"([^"]+)".*"TEXT_MESSAGE_CONTENT"`, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := local(t, s, http.MethodPost, c.path, c.body).Body.String()
			var said []string
			for _, m := range regexp.MustCompile(c.piece).FindAllStringSubmatch(body, -1) {
				said = append(said, m[1])
			}
			text := "I stopped: the provider refused or filtered the reply."
			if !assert.NotEmpty(t, said) || !assert.Equal(t, text, said[len(said)-1]) {
				t.Log(body)
			}
			assert.Equal(t, c.times, strings.Count(strings.Join(said, "\n"), text))
		})
	}
}
