package kai_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// after returns the state of a thread after one run for each step, read from the store.
func after(t *testing.T, steps ...state.Update) state.View {
	t.Helper()
	b := graph.New("steps", kai.Messages, kai.SystemPrompt, kai.ToolResults, kai.CollectedProducts, kai.Iteration,
		kai.InputTokens, kai.OutputTokens, kai.TurnCount, kai.FinalResponse, kai.GenerationJob)
	b.Node("nothing", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "nothing")
	b.Edge("nothing", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	check(t, err)
	for _, step := range append([]state.Update{{graph.Begin()}}, steps...) {
		_, err := g.Thread("t").Invoke(t.Context(), step...)
		check(t, err)
	}
	snap, err := g.Thread("t").Snapshot(t.Context())
	check(t, err)
	return snap
}

// Each channel has its default before the first write, and its reducer merges two writes.
func TestState(t *testing.T) {
	t.Parallel()
	texts := func(s state.View) any {
		out := []string{}
		for _, m := range kai.Messages.Get(s) {
			out = append(out, m.Text())
		}
		return out
	}
	one, two := "one", "two"
	tests := []struct {
		name          string
		get           func(state.View) any
		first, second state.Update
		none, want    any
	}{
		{"messages", texts, state.Update{kai.Messages.Put(llm.User("a"), llm.Assistant("b"))}, state.Update{kai.Messages.Put(llm.User("a"))}, []string{}, []string{"a", "b", "a"}},
		{"systemPrompt", func(s state.View) any { return kai.SystemPrompt.Get(s) }, state.Update{kai.SystemPrompt.Put("a")}, state.Update{kai.SystemPrompt.Put("b")}, "", "b"},
		{
			"toolResults", func(s state.View) any { return kai.ToolResults.Get(s) },
			state.Update{kai.ToolResults.Put(kai.ToolResult{CallID: "1"})},
			state.Update{kai.ToolResults.Put(kai.ToolResult{CallID: "2"}, kai.ToolResult{CallID: "1"})},
			[]kai.ToolResult{},
			[]kai.ToolResult{{CallID: "1"}, {CallID: "2"}, {CallID: "1"}},
		},
		{
			"collectedProducts", func(s state.View) any { return kai.CollectedProducts.Get(s) },
			state.Update{kai.CollectedProducts.Put(catalogue.Product{ID: "1"})},
			state.Update{kai.CollectedProducts.Put(catalogue.Product{ID: "2"})},
			[]catalogue.Product{},
			[]catalogue.Product{{ID: "1"}, {ID: "2"}},
		},
		{"iteration", func(s state.View) any { return kai.Iteration.Get(s) }, state.Update{kai.Iteration.Put(3)}, state.Update{kai.Iteration.Put(1)}, 0, 1},
		{
			"tokens", func(s state.View) any { return [2]int64{kai.InputTokens.Get(s), kai.OutputTokens.Get(s)} },
			state.Update{kai.InputTokens.Put(10), kai.OutputTokens.Put(1)},
			state.Update{kai.InputTokens.Put(5, 2), kai.OutputTokens.Put(1)},
			[2]int64{},
			[2]int64{17, 2},
		},
		{"turnCount", func(s state.View) any { return kai.TurnCount.Get(s) }, state.Update{kai.TurnCount.Put(1)}, state.Update{kai.TurnCount.Put(1)}, 0, 2},
		{
			"finalResponse", func(s state.View) any { return kai.FinalResponse.Get(s) },
			state.Update{kai.FinalResponse.Put(&one)},
			state.Update{kai.FinalResponse.Put(&two)},
			(*string)(nil), &two,
		},
		{
			"generationJob", func(s state.View) any { return kai.GenerationJob.Get(s) },
			state.Update{kai.GenerationJob.Put(&kai.Job{ID: "1"})},
			state.Update{kai.GenerationJob.Put(&kai.Job{ID: "2", Products: []string{"a"}})},
			(*kai.Job)(nil), &kai.Job{ID: "2", Products: []string{"a"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.get(after(t)); !reflect.DeepEqual(got, tt.none) && reflect.ValueOf(got).Kind() != reflect.Slice || reflect.ValueOf(got).Kind() == reflect.Slice && reflect.ValueOf(got).Len() != 0 {
				t.Errorf("it begins with %#v, want %#v", got, tt.none)
			}
			if got := tt.get(after(t, tt.first, tt.second)); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("two writes make %#v, want %#v", got, tt.want)
			}
		})
	}
}
