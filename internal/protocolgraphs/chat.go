package protocolgraphs

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

var messages = state.Keyed("messages", llm.ByID)

func echoGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("echo", messages)
	b.Node("reply", func(ctx context.Context, s state.View) (state.Update, error) {
		c, err := server.Context[struct{ Prefix string }](ctx)
		if err != nil {
			return nil, err
		}
		if c.Prefix == "" {
			c.Prefix = "echo"
		}
		list := messages.Get(s)
		m := llm.Assistant(c.Prefix + ": " + list[len(list)-1].Text())
		m.ID = fmt.Sprint("ai-", len(list))
		return state.Update{messages.Put(m)}, nil
	})
	b.Edge(graph.Start, "reply")
	b.Edge("reply", graph.End)
	return b.Compile(o)
}

// script is a model. It answers a question with two numbers by a call of the tool add, and the result of the tool by a text.
func script(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	n, last := len(r.Messages), r.Messages[len(r.Messages)-1]
	chunks := []llm.Chunk{}
	if last.Role == llm.RoleTool {
		for _, text := range []string{"The ", "sum ", "is ", last.Text() + "."} {
			chunks = append(chunks, llm.Chunk{Kind: llm.ChunkText, Text: text})
		}
	} else {
		var numbers []string
		for _, word := range strings.Fields(last.Text()) {
			if _, err := strconv.Atoi(word); err == nil {
				numbers = append(numbers, word)
			}
		}
		chunks = append(
			chunks,
			llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Name: "add", ID: fmt.Sprint("call-", n), Arguments: `{"a": ` + numbers[0] + `, `}},
			llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Arguments: `"b": ` + numbers[1] + `}`}},
		)
	}
	chunks = append(chunks, llm.Chunk{Kind: llm.ChunkEnd})
	return func(yield func(llm.Chunk, error) bool) {
		for _, c := range chunks {
			c.MessageID = fmt.Sprint("ai-", n)
			if !yield(c, nil) {
				return
			}
		}
	}
}

func toolsGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("tools", messages)
	b.Node("agent", func(ctx context.Context, s state.View) (state.Update, error) {
		var reply llm.Message
		for _, err := range node.Tee(ctx, llm.Stream(ctx, llm.ModelFunc(script), llm.Request{Messages: messages.Get(s)}, &reply)) {
			if err != nil {
				return nil, err
			}
		}
		return state.Update{messages.Put(reply)}, nil
	})
	b.Node("tools", func(_ context.Context, s state.View) (state.Update, error) {
		list := messages.Get(s)
		var out []llm.Message
		for _, call := range list[len(list)-1].ToolCalls {
			var in struct{ A, B int }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return nil, err
			}
			m := llm.ToolResult(call, fmt.Sprint(in.A+in.B))
			m.ID = "tool-" + call.ID
			out = append(out, m)
		}
		return state.Update{messages.Put(out...)}, nil
	})
	b.Edge(graph.Start, "agent")
	b.Branch("agent", func(s state.View) (string, error) {
		list := messages.Get(s)
		if len(list[len(list)-1].ToolCalls) > 0 {
			return "tools", nil
		}
		return graph.End, nil
	}, "tools", graph.End)
	b.Edge("tools", "agent")
	return b.Compile(o)
}
