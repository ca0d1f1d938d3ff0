package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A reply that an error or a stop cut off is in no state. The clients of the thread-centric protocol keep what they have read of a
// message, so the stream takes the text back: at once, and when it is read again.
func TestTheTextOfAReplyThatWasCutOffIsTakenBack(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	for name, c := range map[string]struct {
		policy   *node.RetryPolicy
		attempts []error // how the attempts of the node end; nil waits for the end of the run
		end      string  // the last event of the run
		want     []string
	}{
		"a failed run":     {nil, []error{broken}, "failed", []string{""}},
		"a stopped run":    {nil, []error{nil}, "interrupted", []string{""}},
		"a second attempt": {&node.RetryPolicy{Initial: -1}, []error{broken, errDone}, "completed", []string{"", "Half."}},
		"a reply whose stream has no end, of a node that succeeds": {nil, []error{errOpen}, "completed", []string{"Half"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writing := make(chan struct{}, 1)
			g := cutGraph(t, c.policy, c.attempts, writing)
			w := newWire(t, func(o *server.Options) { o.Graphs, o.Runs = map[string]*graph.Graph{"writer": g}, memruns.New() })
			thread := w.thread()
			run := w.json(http.MethodPost, "/threads/"+thread+"/runs", map[string]any{"assistant_id": "writer", "input": map[string]any{"messages": "Hello"}})
			if c.end == "interrupted" {
				<-writing
				w.send(http.MethodPost, "/threads/"+thread+"/runs/"+run["run_id"].(string)+"/cancel?wait=true", nil)
			}
			events := w.events(w.send(http.MethodPost, "/threads/"+thread+"/stream/events", map[string]any{"channels": []string{"messages", "lifecycle"}}),
				func(e wireEvent) bool { return strings.Contains(e.data, `"event":"`+c.end+`"`) })
			assert.Equal(t, c.want, assembled(t, events))
		})
	}
}

var (
	errDone = errors.New("the reply is whole")
	errOpen = errors.New("the reply has no last chunk")
)

// cutGraph returns a graph whose node streams "Half" and then ends as the attempts say.
func cutGraph(t *testing.T, policy *node.RetryPolicy, attempts []error, writing chan<- struct{}) *graph.Graph {
	t.Helper()
	var begun atomic.Int32
	messages := state.Keyed("messages", llm.ByID)
	write := func(ctx context.Context, _ state.View) (state.Update, error) {
		n := begun.Add(1)
		end, reply := attempts[n-1], llm.Assistant("Half.")
		reply.ID = "reply-" + itoa(int(n))
		model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				if !yield(llm.Chunk{Kind: llm.ChunkText, Text: "Half", MessageID: reply.ID}, nil) || errors.Is(end, errOpen) {
					return
				}
				if errors.Is(end, errDone) {
					_ = yield(llm.Chunk{Kind: llm.ChunkText, Text: ".", MessageID: reply.ID}, nil) && yield(llm.Chunk{Kind: llm.ChunkEnd, MessageID: reply.ID}, nil)
					return
				}
				if end == nil {
					writing <- struct{}{}
					<-ctx.Done()
				}
				yield(llm.Chunk{}, errors.Join(end, ctx.Err()))
			}
		})
		for chunk, err := range model(ctx, llm.Request{}) {
			if err != nil {
				return nil, err
			}
			graph.Emit(ctx, chunk)
		}
		return state.Update{messages.Put(reply)}, nil
	}
	if policy != nil {
		write = node.Retry(*policy, write)
	}
	b := graph.New("writer", messages)
	b.Node("write", write)
	b.Edge(graph.Start, "write")
	b.Edge("write", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// assembled returns the texts of streamed messages as a client assembles them.
func assembled(t *testing.T, events []wireEvent) (texts []string) {
	t.Helper()
	for _, e := range events {
		var got struct {
			Method string
			Params struct {
				Node string
				Data struct {
					Event          string
					Index          int
					Delta, Content struct{ Text string }
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(e.data), &got))
		if got.Method != "messages" {
			continue
		}
		assert.Equal(t, "write", got.Params.Node, "clients know a message by its node")
		last := len(texts) - 1
		switch data := got.Params.Data; data.Event {
		case "message-start":
			texts = append(texts, "")
		case "content-block-delta":
			texts[last] += data.Delta.Text
		case "content-block-finish":
			texts[last] = data.Content.Text
		case "error":
			assert.Empty(t, texts[last])
		}
	}
	return texts
}
