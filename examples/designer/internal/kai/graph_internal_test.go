package kai

import (
	"context"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// At the limit a turn ends, even if the reply has calls. Below the limit only a reply without calls ends the turn.
func TestShouldContinue(t *testing.T) {
	t.Parallel()
	call := llm.ToolCall{ID: "1", Name: "x"}
	tests := []struct {
		name      string
		iteration int
		last      llm.Message
		want      string
	}{
		{"at the limit with calls", 10, llm.Assistant("", call), graph.End},
		{"beyond the limit with calls", 11, llm.Assistant("", call), graph.End},
		{"one below with calls", 9, llm.Assistant("", call), toolsNode},
		{"one below without", 9, llm.Assistant("done"), graph.End},
		{"at the limit without", 10, llm.Assistant("done"), graph.End},
		{"calls and a text", 1, llm.Assistant("a moment", call), toolsNode},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := graph.New("one", channels()...)
			b.Node("one", func(context.Context, state.View) (state.Update, error) { return nil, nil })
			b.Edge(graph.Start, "one")
			g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
			if err != nil {
				t.Fatal(err)
			}
			snap, err := g.Invoke(t.Context(), Messages.Put(llm.User("hi"), tt.last), Iteration.Put(tt.iteration))
			if err != nil {
				t.Fatal(err)
			}
			if got := shouldContinue(snap, MaxIterations); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
