package kai

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/tools"
)

// MaxIterations is how often the model is asked in one turn, unless [Options] says otherwise.
const MaxIterations = 10

// Critical are the tools whose calls wait for a person, unless [Options] says otherwise.
func Critical() []string { return []string{"generate3D", "createQuote", "submitOrder"} }

// Options configures [CreateAgentGraph]. Its zero value works.
type Options struct {
	// MaxIterations is how often the model is asked in one turn. Zero means 10.
	MaxIterations int
	// Critical are the tools whose calls wait for a person. Nil means [Critical].
	Critical []string
	// Kit, when not nil, has each turn learned.
	Kit *agentmemory.Kit
	// Prompt returns the system prompt of a turn of the server, whose input is only a message. Nil
	// means that the input has all that a turn begins with.
	Prompt func(context.Context) string
	// Graph is what the graph is compiled with.
	Graph graph.Options
}

// kai is what the nodes share.
type kai struct {
	model   llm.Model
	tools   *tools.Set
	options Options
	call    tools.Options
}

// CreateAgentGraph builds and compiles the graph of an agent. What happens in a run is seen by
// [Chunks]; a run that nobody watches works the same.
func CreateAgentGraph(model llm.Model, set *tools.Set, o Options) (*graph.Graph, error) {
	if o.MaxIterations <= 0 {
		o.MaxIterations = MaxIterations
	}
	if o.Critical == nil {
		o.Critical = Critical()
	}
	if o.Graph.MaxSteps == 0 {
		o.Graph.MaxSteps = 2*o.MaxIterations + 2 // the iterations end a run, not the supersteps
	}
	k := &kai{model: model, tools: set, options: o}
	// Without Once an approval stays good when the process dies after it: the call is made again,
	// and what the tools do is done once by its key.
	k.call = tools.Options{Emit: graph.Emit, Approval: tools.Approval{
		Rule: tools.RuleFunc(func(_ tools.Tool, c llm.ToolCall) bool { return k.critical(c) }),
		Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
			return agent.Approval.WaitKey(ctx, key, q)
		},
	}}
	return k.compile()
}
