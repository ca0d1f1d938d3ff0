package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

var messages = state.Keyed("messages", llm.ByID)

// talkGraph returns a conversation whose replies take about a second, or about six seconds if the message is "slowly". So
// the tests can read a reply while it is streamed, and stop or rejoin the run of a slow reply. The reply to
// "break" fails after a part of its text. The reply to "ask" follows a question to the user.
func talkGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("talk", messages)
	ask := graph.NewInterrupt[orderQuestion, string]("ask")
	b.Node("reply", func(ctx context.Context, s state.View) (state.Update, error) {
		if list := messages.Get(s); len(list) > 0 && list[len(list)-1].Text() == "ask" {
			if _, err := ask.Wait(ctx, orderQuestion{"May I reply?", []string{"yes", "no"}, enum{[]string{"yes", "no"}}}); err != nil {
				return nil, err
			}
		}
		var reply llm.Message
		for _, err := range node.Tee(ctx, llm.Stream(ctx, llm.ModelFunc(talk), llm.Request{Messages: messages.Get(s)}, &reply)) {
			if err != nil {
				return nil, err
			}
		}
		return state.Update{messages.Put(reply)}, nil
	})
	b.Edge(graph.Start, "reply")
	b.Edge("reply", graph.End)
	return b.Compile(o)
}

// talk is a model that repeats the last message and counts to ten, one word at a time.
func talk(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	n := len(r.Messages)
	said, pause := r.Messages[n-1].Text(), 100*time.Millisecond
	if said == "slowly" {
		pause = 500 * time.Millisecond
	}
	text := "You said " + said + "."
	for i := range 10 {
		text += fmt.Sprint(" ", i+1)
	}
	return func(yield func(llm.Chunk, error) bool) {
		for word := range strings.SplitAfterSeq(text, " ") {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				yield(llm.Chunk{}, ctx.Err())
				return
			}
			if !yield(llm.Chunk{Kind: llm.ChunkText, Text: word, MessageID: fmt.Sprint("reply-", n)}, nil) {
				return
			}
			if said == "break" && word == "5 " {
				yield(llm.Chunk{}, errors.New("the model is overloaded"))
				return
			}
		}
		yield(llm.Chunk{Kind: llm.ChunkEnd, MessageID: fmt.Sprint("reply-", n)}, nil)
	}
}
