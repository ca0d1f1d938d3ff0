package agent_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
)

// streamed returns a model that emits the chunks of its replies as they arrive. Pass streamed to llm.WithWrap.
func streamed(m llm.Model) llm.Model {
	stream := func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			id := rand.Text()                      // each reply has its own id
			for c, err := range m.Stream(ctx, r) { // llm.Stream would apply the wrappers of the context again
				c.MessageID = id
				if err == nil {
					graph.Emit(ctx, c)
				}
				if !yield(c, err) {
					return
				}
			}
		}
	}
	return llm.Named(llm.ModelFunc(stream), llm.NameOf(m))
}

// As emits nothing. With this wrapper, a node streams the answer while the model writes it.
func Example_streamedAnswer() {
	type forecast struct {
		Rain   bool `json:"rain"`
		Chance int  `json:"chance"`
	}
	model := llmtest.NewScript(llmtest.Call("answer", `{"rain":true,"chance":80}`))
	chance := state.Last[int]("chance")
	b := graph.New("weather", chance)
	b.Node("forecast", func(ctx context.Context, _ state.View) (state.Update, error) {
		answer, _, err := llm.As[forecast](llm.WithWrap(ctx, streamed), model, llm.Request{Messages: []llm.Message{llm.User("Athens?")}})
		return state.Update{chance.Put(answer.Chance)}, err
	})
	b.Edge(graph.Start, "forecast")
	g := must(b.Compile(graph.Options{}))
	var written strings.Builder
	for c, err := range agent.Chunks(g.Stream(context.Background())) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch c.Kind {
		case agent.ChunkToolCall: // the model answers by calling a tool
			written.WriteString(c.Delta.Arguments)
		case agent.ChunkEnd:
			fmt.Println(written.String(), chance.Get(c.Snapshot))
		}
	}
	// Output: {"rain":true,"chance":80} 80
}

// The stream of events has the chunks of a reply, the updates of tasks, and the other emitted values.
func ExampleAsk_events() {
	model := llmtest.NewScript(llmtest.Say("Warp and weft."))
	title := state.Last[string]("title")
	b := graph.New("titles", title)
	b.Node("name", func(ctx context.Context, _ state.View) (state.Update, error) {
		graph.Emit(ctx, "asking")
		reply, err := agent.Ask(ctx, model, llm.Request{Messages: []llm.Message{llm.User("Name it.")}})
		return state.Update{title.Put(reply.Text())}, err
	})
	b.Edge(graph.Start, "name")
	g := must(b.Compile(graph.Options{}))
	for ev, err := range g.Stream(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := ev.(type) {
		case graph.Emitted:
			if c, ok := ev.Value.(llm.Chunk); !ok {
				fmt.Println("emitted:", ev.Value)
			} else if c.Kind == llm.ChunkText {
				fmt.Printf("text: %q\n", c.Text)
			}
		case graph.TaskFinished:
			if ev.Err != nil || ev.Asked {
				continue // a failed or waiting task has no update
			}
			wrote := must(state.NewView([]state.Handle{title}, ev.Update...))
			fmt.Println("update:", ev.At().Node, title.Get(wrote))
		}
	}
	// Output:
	// emitted: asking
	// text: "Warp "
	// text: "and w"
	// text: "eft."
	// update: name Warp and weft.
}
