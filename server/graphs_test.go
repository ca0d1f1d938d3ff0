package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// The graphs of this file are those of the recorded exchanges with the reference server.

var messages = state.Keyed("messages", llm.ByID)

// protocolGraphs returns the graphs by name.
func protocolGraphs(store checkpoint.Store) (map[string]*graph.Graph, error) {
	o := graph.Options{Checkpoints: store}
	out := map[string]*graph.Graph{}
	var errs []error
	for name, build := range map[string]func(graph.Options) (*graph.Graph, error){
		"echo": echoGraph, "tools": toolsGraph, "approve": approveGraph, "approve2": approve2Graph,
		"fanout": fanoutGraph, "sub": subGraph, "slow": slowGraph, "fail": failGraph,
	} {
		g, err := build(o)
		out[name], errs = g, append(errs, err)
	}
	return out, errors.Join(errs...)
}

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

// script answers a question with two numbers by a call of add, and its result by a text.
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
		for _, err := range graph.Tee(ctx, llm.Stream(ctx, llm.ModelFunc(script), llm.Request{Messages: messages.Get(s)}, &reply)) {
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

var (
	request = state.LastWins[string]("request")
	answers = state.Append[json.RawMessage]("answers")
	result  = state.LastWins[string]("result")
	asking  = graph.NewInterrupt[json.RawMessage, json.RawMessage]("ask")
)

// compact returns an answer as text: a string as it is, and any other value as JSON.
func compact(answer json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(answer, &text) == nil {
		return text, nil
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return "", err
	}
	data, err := json.Marshal(v) // the keys of maps are sorted
	return string(data), err
}

func approveGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("approve", request, answers, result)
	b.Node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		answer, err := asking.Wait(ctx, encoded(map[string]any{"question": "approve " + request.Get(s) + "?", "options": []string{"yes", "no"}}))
		if err != nil {
			return nil, err
		}
		return state.Update{answers.Put(answer)}, nil
	})
	b.Node("finish", func(_ context.Context, s state.View) (state.Update, error) {
		list := answers.Get(s)
		text, err := compact(list[len(list)-1])
		return state.Update{result.Put(request.Get(s) + ": " + text)}, err
	})
	b.Edge(graph.Start, "ask")
	b.Edge("ask", "finish")
	b.Edge("finish", graph.End)
	return b.Compile(o)
}

func approve2Graph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("approve2", request, answers, result)
	for _, side := range []string{"left", "right"} {
		b.Node(side, func(ctx context.Context, s state.View) (state.Update, error) {
			answer, err := asking.Wait(ctx, encoded(map[string]any{"side": side, "request": request.Get(s)}))
			if err != nil {
				return nil, err
			}
			text, err := compact(answer)
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(side + "=" + text)
			return state.Update{answers.Put(data)}, err
		})
		b.Edge(graph.Start, side)
	}
	b.Node("both", func(_ context.Context, s state.View) (state.Update, error) {
		var texts []string
		for _, a := range answers.Get(s) {
			text, err := compact(a)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
		return state.Update{result.Put(strings.Join(texts, ","))}, nil
	})
	b.Join("both", "left", "right")
	b.Edge("both", graph.End)
	return b.Compile(o)
}

var (
	items   = state.LastWins[[]string]("items")
	results = state.Append[string]("results")
	summary = state.LastWins[string]("summary")
	item    = state.LastWins[string]("item")
	index   = state.LastWins[int]("index")
)

func fanoutGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("fanout", items, results, summary, item, index)
	b.Node("plan", func(_ context.Context, s state.View) (state.Update, error) {
		list := items.Get(s)
		if len(list) == 0 {
			list = []string{"a", "b", "c"}
		}
		u := state.Update{items.Put(list)}
		for i, it := range list {
			u = append(u, graph.Send("worker", item.Put(it), index.Put(i)))
		}
		return u, nil
	})
	b.Destinations("plan", "worker")
	b.Node("worker", func(ctx context.Context, s state.View) (state.Update, error) {
		i := index.Get(s)
		select {
		// The recorded workers wait for a third of this time. Here they have to finish in order on a busy machine too.
		case <-time.After(time.Duration(i) * 300 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return state.Update{results.Put(fmt.Sprint(i, ":", strings.ToUpper(item.Get(s))))}, nil
	})
	b.Node("join", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{summary.Put(strings.Join(results.Get(s), " "))}, nil
	})
	b.Edge(graph.Start, "plan")
	b.Edge("worker", "join")
	b.Edge("join", graph.End)
	return b.Compile(o)
}

var (
	topic = state.LastWins[string]("topic")
	out   = state.LastWins[string]("out")
	lines = state.Append[string]("log")
	draft = state.LastWins[string]("draft")
)

func subGraph(o graph.Options) (*graph.Graph, error) {
	c := graph.New("child", topic, draft, out)
	c.Node("draft", func(ctx context.Context, s state.View) (state.Update, error) {
		graph.Emit(ctx, map[string]string{"phase": "draft", "topic": topic.Get(s)})
		return state.Update{draft.Put("draft of " + topic.Get(s))}, nil
	})
	c.Node("polish", func(ctx context.Context, s state.View) (state.Update, error) {
		tone := "plain"
		if strings.HasPrefix(topic.Get(s), "?") {
			answer, err := asking.Wait(ctx, encoded(map[string]string{"ask": "tone"}))
			if err != nil {
				return nil, err
			}
			if tone, err = compact(answer); err != nil {
				return nil, err
			}
		}
		graph.Emit(ctx, map[string]string{"phase": "polish", "tone": tone})
		return state.Update{out.Put(draft.Get(s) + " (" + tone + ")")}, nil
	})
	c.Edge(graph.Start, "draft")
	c.Edge("draft", "polish")
	c.Edge("polish", graph.End)
	child, err := c.Compile(graph.Options{})
	if err != nil {
		return nil, err
	}
	b := graph.New("sub", topic, out, lines)
	b.Node("prepare", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{lines.Put("prepare " + topic.Get(s))}, nil
	})
	b.SubgraphWith("child", child, graph.SubgraphOptions{Output: func(_, sub state.View) (state.Update, error) {
		return state.Update{topic.Put(topic.Get(sub))}, nil
	}})
	b.Node("close", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{lines.Put("close " + out.Get(s))}, nil
	})
	b.Edge(graph.Start, "prepare")
	b.Edge("prepare", "child")
	b.Edge("child", "close")
	b.Edge("close", graph.End)
	return b.Compile(o)
}

var (
	tag   = state.LastWins[string]("tag")
	n     = state.LastWins[int]("n")
	steps = state.Append[string]("steps")
)

func slowGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("slow", tag, n, steps)
	b.Node("begin", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{steps.Put(tag.Get(s) + ":begin")}, nil
	})
	b.Node("work", func(ctx context.Context, s state.View) (state.Update, error) {
		for i := range n.Get(s) {
			graph.Emit(ctx, map[string]any{"tag": tag.Get(s), "step": i})
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return state.Update{steps.Put(tag.Get(s) + ":done")}, nil
	})
	b.Edge(graph.Start, "begin")
	b.Edge("begin", "work")
	b.Edge("work", graph.End)
	return b.Compile(o)
}

// A valueError has the name of the error of the recorded graph.
type valueError struct{ text string }

func (e *valueError) Error() string { return e.text }
func (e *valueError) Name() string  { return "ValueError" }

var text = state.LastWins[string]("text")

func failGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("fail", text, lines)
	b.Node("prep", func(context.Context, state.View) (state.Update, error) { return state.Update{lines.Put("prep")}, nil })
	b.Node("check", func(_ context.Context, s state.View) (state.Update, error) {
		if text.Get(s) == "boom" {
			return nil, &valueError{"bad text: boom"}
		}
		return state.Update{lines.Put("ok " + text.Get(s))}, nil
	})
	b.Edge(graph.Start, "prep")
	b.Edge("prep", "check")
	b.Edge("check", graph.End)
	return b.Compile(o)
}

// encoded returns the JSON of a value.
func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
