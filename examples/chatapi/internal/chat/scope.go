package chat

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// scoped is a graph.Middleware that gives a run of the server the scope of its caller. Runs of Say have a
// scope already.
func scoped(next graph.NodeFunc) graph.NodeFunc {
	return func(ctx context.Context, v state.View) (state.Update, error) {
		if _, ok := tools.BoundFrom[memory.Scope](ctx); !ok {
			ctx = agentmemory.For(ctx, Scope(ctx))
		}
		return next(ctx, v)
	}
}

// Scope returns the scope of the caller in a context of the server. Each caller has its own workspace,
// with its users in it. The workspace of the local caller has no name.
func Scope(ctx context.Context) (s memory.Scope) {
	if caller := server.UserID(ctx); caller != Local {
		s.Workspace = caller
	}
	return s
}

// Local is the id of the caller without a token.
const Local = "local"

// place returns the scope and the session of a run.
func place(ctx context.Context) (memory.Scope, string) {
	scope, _ := tools.BoundFrom[memory.Scope](ctx)
	where, _ := graph.FromContext(ctx)
	return scope, where.Thread
}
