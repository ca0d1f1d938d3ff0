package main

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// parts are the parts of a trip, in the order in which the agent books them.
var parts = []string{"flight", "hotel", "car"}

// planner stands for a model. It asks for the first part that is not booked. It finds that part by
// the tool results in the conversation, which is in the database.
func planner(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	booked := 0
	for _, m := range r.Messages {
		if m.Role == llm.RoleTool {
			booked++
		}
	}
	if booked >= len(parts) {
		return llm.Reply(llm.Assistant("All is booked."))
	}
	return llm.Reply(llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{
		ID: fmt.Sprint("call-", booked), Name: "book", Arguments: fmt.Appendf(nil, `{"part":%q}`, parts[booked]),
	}}})
}

// newAgent returns an agent whose tool hangs when it books the part that hang names.
func newAgent(store checkpoint.Store, hang string) (*graph.Graph, error) {
	book := tools.New("book", "Books a part of a trip.", func(ctx context.Context, in struct {
		Part string `json:"part"`
	},
	) (string, error) {
		if !slices.Contains(parts, in.Part) {
			return "", fmt.Errorf("nobody sells a %s", in.Part)
		}
		fmt.Println("booking the", in.Part)
		if in.Part == hang {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return in.Part + " is booked", nil
	})
	set, err := tools.NewSet(book)
	if err != nil {
		return nil, err
	}
	return agent.New("travel", llm.ModelFunc(planner), set, agent.Options{Graph: graph.Options{Checkpoints: store}})
}
