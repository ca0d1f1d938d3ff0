package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// The text of a reply that an error or a stop cut off is in no state. Clients of the thread-centric protocol keep the
// text that they have read, so the stream withdraws the text, at once and when the events are read again.
func TestTheTextOfAReplyThatWasCutOffIsTakenBack(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	retry := node.RetryPolicy{Initial: -1}
	for name, c := range map[string]struct {
		graph    func(*testing.T, writer) *graph.Graph
		attempts []error // how the writer ends in each attempt; nil waits for the end of the run
		end      string  // the last event of the run
		want     []string
	}{
		"a failed run":     {cutGraph, []error{broken}, "failed", []string{""}},
		"a stopped run":    {cutGraph, []error{nil}, "interrupted", []string{""}},
		"a second attempt": {retriedGraph(retry), []error{broken, errDone}, "completed", []string{"", "Half."}},
		"a reply whose stream has no end, of a node that succeeds": {cutGraph, []error{errOpen}, "completed", []string{"Half"}},
		"a failed flow": {cutFlow(func(ctx context.Context, write writer) (llm.Message, error) {
			return flow.Do(ctx, "reply", write)
		}), []error{broken}, "failed", []string{""}},
		"a second attempt of a task of a flow": {cutFlow(func(ctx context.Context, write writer) (llm.Message, error) {
			return flow.Do(ctx, "reply", flow.Retry(retry, write))
		}), []error{broken, errDone}, "completed", []string{"", "Half."}},
		"a second attempt of a task around one that failed": {cutFlow(func(ctx context.Context, write writer) (llm.Message, error) {
			return flow.Do(ctx, "outer", flow.Retry(retry, func(ctx context.Context) (llm.Message, error) { return flow.Do(ctx, "reply", write) }))
		}), []error{broken, errDone}, "completed", []string{"", "Half."}},
		"a second task of a flow after one that failed": {cutFlow(func(ctx context.Context, write writer) (llm.Message, error) {
			if m, err := flow.Do(ctx, "first", write); err == nil {
				return m, nil
			}
			return flow.Do(ctx, "second", write)
		}), []error{broken, errDone}, "completed", []string{"", "Half."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writing := make(chan struct{}, 1)
			g := c.graph(t, replies(c.attempts, writing))
			w := newWire(t, func(o *server.Options) { o.Graphs, o.Runs = map[string]*graph.Graph{"writer": g}, memruns.New() })
			thread := w.thread()
			run := w.json(http.MethodPost, "/threads/"+thread+"/runs", map[string]any{"assistant_id": "writer", "input": map[string]any{}})
			if c.end == "interrupted" {
				<-writing
				w.send(http.MethodPost, "/threads/"+thread+"/runs/"+run["run_id"].(string)+"/cancel?wait=true", nil)
			}
			end := ""
			events := w.events(w.send(http.MethodPost, "/threads/"+thread+"/stream/events", map[string]any{"channels": []string{"messages", "lifecycle"}}),
				func(e wireEvent) bool {
					found := lastOfRun.FindStringSubmatch(e.data)
					if found != nil {
						end = found[1]
					}
					return found != nil
				})
			assert.Equal(t, c.end, end, "the last event of the run")
			assert.Equal(t, c.want, assembled(t, events))
		})
	}
}

// lastOfRun matches the last event of a run, however it ends.
var lastOfRun = regexp.MustCompile(`"event":"(completed|failed|interrupted)"`)

var (
	errDone = errors.New("the reply is whole")
	errOpen = errors.New("the reply has no last chunk")
)

// A writer streams a reply and returns it.
type writer = func(context.Context) (llm.Message, error)

// replies returns a writer that streams "Half" and then ends as the element of attempts for this call says.
func replies(attempts []error, writing chan<- struct{}) writer {
	var begun atomic.Int32
	return func(ctx context.Context) (llm.Message, error) {
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
				return reply, err
			}
			graph.Emit(ctx, chunk)
		}
		return reply, nil
	}
}

// cutGraph returns a graph whose node writes a reply.
func cutGraph(t *testing.T, write writer) *graph.Graph {
	return graphOf(t, write, func(fn graph.NodeFunc) graph.NodeFunc { return fn })
}

// retriedGraph returns a function that makes cutGraph with a node that is tried again.
func retriedGraph(p node.RetryPolicy) func(*testing.T, writer) *graph.Graph {
	return func(t *testing.T, write writer) *graph.Graph {
		return graphOf(t, write, func(fn graph.NodeFunc) graph.NodeFunc { return node.Retry(p, fn) })
	}
}

func graphOf(t *testing.T, write writer, decorate func(graph.NodeFunc) graph.NodeFunc) *graph.Graph {
	t.Helper()
	messages := state.Keyed("messages", llm.ByID)
	b := graph.New("writer", messages)
	b.Node("write", decorate(func(ctx context.Context, _ state.View) (state.Update, error) {
		reply, err := write(ctx)
		if err != nil {
			return nil, err
		}
		return state.Update{messages.Put(reply)}, nil
	}))
	b.Edge(graph.Start, "write")
	b.Edge("write", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// cutFlow returns a function that makes a flow, which writes a reply in its tasks.
func cutFlow(fn func(context.Context, writer) (llm.Message, error)) func(*testing.T, writer) *graph.Graph {
	return func(t *testing.T, write writer) *graph.Graph {
		t.Helper()
		f, err := flow.New("writer", func(ctx context.Context, _ string) (llm.Message, error) { return fn(ctx, write) },
			graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
		require.NoError(t, err)
		return f.Graph
	}
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
		assert.Contains(t, []string{"write", "flow"}, got.Params.Node, "clients know a message by its node")
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
