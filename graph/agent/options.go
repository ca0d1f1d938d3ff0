package agent

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Options configures an agent. Its zero value works. Its functions are called
// by any number of runs at once.
type Options struct {
	// System is the system prompt. It stands before the conversation in every
	// request, and is not stored with it.
	System string
	// SystemFrom, when not nil, makes the system prompt of the state, for each
	// request. It takes the place of System.
	SystemFrom func(ctx context.Context, s state.View) (string, error)
	// Model, when not nil, chooses the model of each request by the state. Where
	// it returns nil, the agent's own is asked.
	Model func(ctx context.Context, s state.View) (llm.Model, error)
	// MaxTurns is how often the model may be asked in one run. In the last turn
	// it may not call tools, and so has to answer. Zero means 10.
	MaxTurns int
	// History says how a conversation that has become long is shortened. Nil
	// sends it whole.
	History *History
	// Prepare, when not nil, may change a request before the model sees it: add
	// what was remembered, set a temperature, leave out tools. The request is
	// its own to change. Its Tools are among those of the agent's set, and what
	// is left out can not be called in this turn.
	Prepare func(ctx context.Context, s state.View, r *llm.Request) error
	// Review, when not nil, sees a reply before it is stored, and before any of
	// its calls is made. It may change the reply, and return further writes;
	// what it takes out of the text has been streamed already.
	Review func(ctx context.Context, s state.View, reply *llm.Message) (state.Update, error)
	// Answer has the agent end with an answer of a type: see [Structured] and
	// [Answer].
	Answer Structure
	// Tools says how tools are called. Where it leaves them out, Approval asks
	// by the interrupt [Approval], Once is graph.Once, and Emit is graph.Emit.
	// MaxParallel, 5 by default, becomes that of Graph unless one is given there.
	Tools tools.Options
	// Pass, when not nil, says what a tool's task sees of the state beside the
	// call, for [tools.Options].Bind: otherwise nothing. It must be pure.
	Pass func(s state.View) state.Update
	// Messages is the channel of the conversation. Nil means [Messages].
	Messages *state.KeyedChannel[llm.Message]
	// Channels are more channels of the graph, for the functions above to read
	// and for a caller to write.
	Channels []state.Handle
	// Graph is what the graph is compiled with. MaxSteps is set so that MaxTurns
	// is reached first, unless it is given.
	Graph graph.Options
}

const (
	defaultMaxTurns    = 10
	defaultMaxParallel = 5 // as a node of package tools has it
)

func (o Options) withDefaults() Options {
	if o.MaxTurns == 0 {
		o.MaxTurns = defaultMaxTurns
	}
	if o.Graph.MaxSteps == 0 {
		o.Graph.MaxSteps = 2*o.MaxTurns + 1
	}
	if o.Graph.MaxParallel == 0 {
		o.Graph.MaxParallel = max(o.Tools.MaxParallel, 0)
		if o.Tools.MaxParallel == 0 {
			o.Graph.MaxParallel = defaultMaxParallel
		}
	}
	if o.Messages == nil {
		o.Messages = Messages
	}
	if o.Tools.Approval.Ask == nil {
		o.Tools.Approval.Ask = func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
			return Approval.WaitKey(ctx, key, q)
		}
	}
	if o.Tools.Once == nil {
		o.Tools.Once = graph.Once[llm.Message]
	}
	if o.Tools.Emit == nil {
		o.Tools.Emit = graph.Emit
	}
	return o
}

func (o Options) check(name string, model llm.Model) error {
	switch {
	case name == "":
		return fmt.Errorf("agent: the name is empty")
	case model == nil && o.Model == nil:
		return fmt.Errorf("agent %q: the model is nil", name)
	case o.MaxTurns < 0:
		return fmt.Errorf("agent %q: MaxTurns is %d", name, o.MaxTurns)
	case o.System != "" && o.SystemFrom != nil:
		return fmt.Errorf("agent %q: there are both System and SystemFrom", name)
	}
	if o.Answer.check != nil {
		if err := o.Answer.check(); err != nil {
			return fmt.Errorf("agent %q: the answer: %w", name, err)
		}
	}
	return nil
}
