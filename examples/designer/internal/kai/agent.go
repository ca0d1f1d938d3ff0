package kai

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/tools"
)

// MaxIterations is the default maximum number of model calls in one turn.
const MaxIterations = 10

// Critical returns the default names of the tools whose calls wait for approval.
func Critical() []string { return []string{"generate3D", "createQuote", "submitOrder"} }

// Options configures [CreateAgentGraph]. Its zero value works.
type Options struct {
	// MaxIterations is the maximum number of model calls in one turn. Zero means 10.
	MaxIterations int
	// Critical has the names of the tools whose calls wait for approval. Nil means [Critical].
	Critical []string
	// Kit, if not nil, learns each turn that has a final answer.
	Kit *agentmemory.Kit
	// Prompt returns the system prompt of a turn on the server, whose input is only a message. Nil
	// means that each input also sets the prompt and resets the counters.
	Prompt func(context.Context) string
	// Graph has the options with which the graph is compiled.
	Graph graph.Options
}

// kai has the model, the tools and the options of the nodes.
type kai struct {
	model   llm.Model
	tools   *tools.Set
	options Options
	call    tools.Options
}

// CreateAgentGraph builds and compiles the graph of an agent. [Chunks] converts the events of a
// run. A run does not depend on a reader of its events.
func CreateAgentGraph(model llm.Model, set *tools.Set, o Options) (*graph.Graph, error) {
	if o.MaxIterations <= 0 {
		o.MaxIterations = MaxIterations
	}
	if o.Critical == nil {
		o.Critical = Critical()
	}
	if o.Graph.MaxSteps == 0 {
		o.Graph.MaxSteps = 2*o.MaxIterations + 2 // MaxIterations ends a turn before MaxSteps does
	}
	k := &kai{model: model, tools: set, options: o}
	// Without Once, an approval stays valid if the process dies after it. The call then runs again,
	// and its idempotency key prevents a second scene, quote or order.
	k.call = tools.Options{Emit: graph.Emit, Approval: tools.Approval{
		Rule: tools.RuleFunc(func(_ tools.Tool, c llm.ToolCall) bool { return k.critical(c) }),
		Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
			return agent.Approval.WaitKey(ctx, key, q)
		},
	}}
	return k.compile()
}
