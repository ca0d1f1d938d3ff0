package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

var messages = state.Keyed("messages", llm.ByID)

// assistant is a graph with one node, which answers a message.
func assistant(store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New("assistant", messages)
	b.Node("answer", func(ctx context.Context, s state.View) (state.Update, error) {
		var reply llm.Message
		request := llm.Request{Messages: messages.Get(s)}
		for _, err := range graph.Tee(ctx, llm.Stream(ctx, llm.ModelFunc(rules), request, &reply)) {
			if err != nil {
				return nil, err
			}
		}
		return state.Update{messages.Put(reply)}, nil
	})
	b.Edge(graph.Start, "answer")
	return b.Compile(graph.Options{Checkpoints: store})
}

// rules stands for a model, so that the example needs no key.
func rules(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	words := strings.Fields(r.Messages[len(r.Messages)-1].Text())
	user := server.UserID(ctx)
	if user == "" {
		user = "you"
	}
	reply := fmt.Sprintf("This is message %d of the thread. Its %d words, for %s, in reverse: ", len(r.Messages), len(words), user)
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
