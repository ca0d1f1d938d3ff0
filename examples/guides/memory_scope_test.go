package guides_test

import (
	"context"
	"log/slog"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/state"
)

var (
	_        = memoryScope
	facts    *memory.Memory
	Customer = state.Last[string]("customer").Internal()
)

func memoryScope() error {
	// docs:begin scope
	kit, err := agentmemory.New(agentmemory.Options{
		Facts:  facts,
		Logger: slog.Default(),
		Scope: func(_ context.Context, s state.View) (memory.Scope, error) {
			return memory.Scope{User: Customer.Get(s)}, nil
		},
	})
	if err != nil {
		return err
	}
	desk, err := agent.New("desk", model, set, agent.Options{
		Use:      []agent.Middleware{kit.Middleware()},
		Channels: []state.Handle{Customer},
		Graph:    graph.Options{Checkpoints: store},
	})
	if err != nil {
		return err
	}
	snap, err := desk.Thread("ticket-7").Invoke(ctx, Customer.Put("ann"), agent.Messages.Put(llm.User("hello")))
	// docs:end
	use(snap)
	return err
}
