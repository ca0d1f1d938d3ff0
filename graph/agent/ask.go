package agent

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
)

// Ask asks a model, like [llm.Generate], and emits the chunks of the reply as they
// arrive. It can be called in any node of any graph. In an event stream, each chunk is a
// [graph.Emitted] event whose value is an [llm.Chunk]. A loop over the events can read it
// beside the other events, such as the updates of tasks. [Chunks] converts these events in
// the same way as the events of an agent, and leaves the updates out.
//
//	func write(ctx context.Context, s state.View) (state.Update, error) {
//		reply, err := agent.Ask(ctx, model, llm.Request{Messages: Messages.Get(s)})
//		…
//	}
func Ask(ctx context.Context, m llm.Model, r llm.Request) (llm.Message, error) {
	reply, _, err := ask(ctx, m, r)
	return reply, err
}

// ask is like [Ask], but also returns the end chunk of the reply. The stop reason of this
// chunk is set even if the reply is not a valid message.
func ask(ctx context.Context, m llm.Model, r llm.Request) (llm.Message, llm.Chunk, error) {
	var reply llm.Message
	var end llm.Chunk
	for chunk, err := range llm.Stream(ctx, m, r, &reply) {
		if err != nil {
			return llm.Message{}, end, err
		}
		graph.Emit(ctx, chunk)
		if chunk.Kind == llm.ChunkEnd {
			end = chunk
		}
	}
	return reply, end, nil
}
