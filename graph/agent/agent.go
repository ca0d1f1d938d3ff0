package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Messages is the conversation of every agent. A graph that declares it too
// shares it with the agents that are its subgraphs.
var Messages = state.Keyed("messages", llm.ByID)

// call is the tool call that a task was sent.
var call = state.Last[llm.ToolCall]("tool_call")

// The nodes of an agent.
const (
	ModelNode = "agent" // asks the model
	ToolsNode = "tools" // calls one tool; a task for each call
)

// ErrMaxTurns says that the model went on calling tools in the turn in which
// it was to answer.
var ErrMaxTurns = errors.New("the model did not answer within the turns it had")

// Options configures an agent. Its zero value works.
type Options struct {
	// System is the system prompt. It stands before the conversation in every
	// request, and is not stored with it.
	System string
	// MaxTurns is how often the model may be asked for one message of the
	// user. Zero means 10.
	MaxTurns int
	// Prepare, when not nil, may change a request before the model sees it:
	// prune it, add what was remembered, set a temperature. The request is its
	// own to change.
	Prepare func(ctx context.Context, s state.View, r *llm.Request) error
	// Tools says how tools are called.
	Tools tools.Options
	// Channels are more channels of the graph, for Prepare to read and for a
	// caller to write.
	Channels []state.Handle
	// Graph is what the graph is compiled with. MaxSteps is set so that
	// MaxTurns is reached first, unless it is given.
	Graph graph.Options
}

const defaultMaxTurns = 10

// New returns an agent. A nil set is an agent without tools.
func New(name string, model llm.Model, set *tools.Set, o Options) (*graph.Graph, error) {
	if model == nil {
		return nil, fmt.Errorf("agent %q: the model is nil", name)
	}
	if o.MaxTurns < 0 {
		return nil, fmt.Errorf("agent %q: MaxTurns is %d", name, o.MaxTurns)
	}
	if o.MaxTurns == 0 {
		o.MaxTurns = defaultMaxTurns
	}
	if o.Graph.MaxSteps == 0 {
		o.Graph.MaxSteps = 2 * o.MaxTurns
	}
	a := &agent{model: model, tools: set, options: o}
	b := graph.New(name, append([]state.Handle{Messages, call}, o.Channels...)...)
	b.Node(ModelNode, a.think)
	b.Node(ToolsNode, tools.CallNode(set, call, Messages, o.Tools))
	b.Edge(graph.Start, ModelNode)
	b.Dispatch(ModelNode, calls, ToolsNode, graph.End)
	b.Edge(ToolsNode, ModelNode)
	return b.Compile(o.Graph)
}

type agent struct {
	model   llm.Model
	tools   *tools.Set
	options Options
}

// think asks the model what comes next.
func (a *agent) think(ctx context.Context, s state.View) (state.Update, error) {
	messages := Messages.Get(s)
	r := llm.Request{Messages: answered(messages), Tools: a.tools.Specs()}
	if a.options.System != "" {
		r.Messages = append([]llm.Message{llm.System(a.options.System)}, r.Messages...)
	}
	last := turns(messages)+1 >= a.options.MaxTurns
	if last && len(r.Tools) > 0 {
		r.ToolChoice = llm.ToolChoice{Mode: llm.ToolsNone}
	}
	if a.options.Prepare != nil {
		if err := a.options.Prepare(ctx, s, &r); err != nil {
			return nil, fmt.Errorf("prepare: %w", err)
		}
	}
	var reply llm.Message
	for chunk, err := range llm.Stream(ctx, a.model, r, &reply) {
		if err != nil {
			return nil, err
		}
		graph.Emit(ctx, chunk)
	}
	if last && len(reply.ToolCalls) > 0 {
		return nil, fmt.Errorf("%w: %d", ErrMaxTurns, a.options.MaxTurns)
	}
	return state.Update{Messages.Put(reply)}, nil
}

// calls sends each tool call that waits for an answer to a task of its own.
func calls(s state.View) state.Update {
	last, _ := Messages.Last(s)
	var out state.Update
	for _, c := range last.ToolCalls {
		out = append(out, graph.Send(ToolsNode, call.Put(c)))
	}
	return out
}

// turns counts how often the model answered since the user spoke.
func turns(messages []llm.Message) int {
	n := 0
	for i := len(messages) - 1; i >= 0 && messages[i].Role != llm.RoleUser; i-- {
		if messages[i].Role == llm.RoleAssistant {
			n++
		}
	}
	return n
}

// answered returns the conversation with an answer to every tool call:
// providers refuse one without. A call has none when the user went on while it
// waited, or when a run was given up.
func answered(messages []llm.Message) []llm.Message {
	have := map[string]bool{}
	for _, m := range messages {
		if m.Role == llm.RoleTool {
			have[m.ToolCallID] = true
		}
	}
	var out []llm.Message
	for _, m := range messages {
		out = append(out, m)
		for _, c := range m.ToolCalls {
			if !have[c.ID] {
				out = append(out, llm.ToolError(c, "The tool was not called: the conversation went on without it."))
			}
		}
	}
	return out
}
