package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/tools"
)

type note struct {
	Text string `json:"text"`
}

// toolset returns a tool that runs at once, and a tool that a person must approve.
func toolset() []tools.Tool {
	count := tools.New("count", "Counts the words of a text.", func(_ context.Context, in note) (string, error) {
		return fmt.Sprintf("The text has %d words.", len(strings.Fields(in.Text))), nil
	})
	send := tools.New("send", "Sends a message to the team.", func(ctx context.Context, in note) (string, error) {
		return fmt.Sprintf("The message of %s is sent: %s", user(ctx), in.Text), nil
	})
	return []tools.Tool{
		count.Annotate(tools.Annotations{Title: "Count words", ReadOnly: true}),
		send.Annotate(tools.Annotations{Title: "Send a message", Destructive: true}),
	}
}

// assistant returns an agent with the tools.
func assistant(store checkpoint.Store) (*graph.Graph, error) {
	set, err := tools.NewSet(toolset()...)
	if err != nil {
		return nil, err
	}
	return agent.New("assistant", llm.ModelFunc(rules), set, agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}},
		Graph: graph.Options{Checkpoints: store},
	})
}

// rules stands for a model, so that the example needs no key: "count" and "send" call the tools.
func rules(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	last := r.Messages[len(r.Messages)-1]
	words := strings.Fields(last.Text())
	switch {
	case last.Role == llm.RoleTool:
		return llm.Reply(llm.Assistant(last.Text()))
	case len(words) > 1 && (strings.EqualFold(words[0], "count") || strings.EqualFold(words[0], "send")):
		arguments, err := json.Marshal(note{strings.Join(words[1:], " ")})
		if err != nil {
			return func(yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, err) }
		}
		return llm.Reply(llm.Assistant("", llm.ToolCall{ID: fmt.Sprint("call-", len(r.Messages)), Name: strings.ToLower(words[0]), Arguments: arguments}))
	}
	reply := fmt.Sprintf("This is message %d of the thread. Its %d words, for %s, in reverse: ", len(r.Messages), len(words), user(ctx))
	return func(yield func(llm.Chunk, error) bool) {
		if !yield(llm.Chunk{Kind: llm.ChunkText, Text: reply}, nil) {
			return
		}
		for i := len(words) - 1; i >= 0; i-- {
			if !yield(llm.Chunk{Kind: llm.ChunkText, Text: words[i] + " "}, nil) {
				return
			}
		}
		yield(llm.Chunk{Kind: llm.ChunkEnd}, nil)
	}
}

// user returns the owner of the thread, even if an operator runs it.
func user(ctx context.Context) string {
	if id := server.ThreadOwner(ctx); id != "" {
		return id
	}
	return "you"
}
