package agent

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Options configures an agent. The zero value is valid. Concurrent runs call its
// functions concurrently.
type Options struct {
	// System is the system prompt. It precedes the conversation in every request and
	// is not stored.
	System string
	// SystemFrom, if not nil, returns the system prompt of each request. It and
	// System exclude each other.
	SystemFrom func(ctx context.Context, s state.View) (string, error)
	// Model, if not nil, chooses the model of each request. If it returns nil, the
	// agent's model is used.
	Model func(ctx context.Context, s state.View) (llm.Model, error)
	// MaxTurns is the maximum number of requests to the model in one run. In the last
	// turn the model may not call tools, so it has to answer. Zero means 10.
	MaxTurns int
	// History configures how a long conversation is shortened. Nil sends the whole
	// conversation.
	History *History
	// Prepare, if not nil, may change a request before it is sent, for example to
	// add memories, set a temperature or remove tools. It may change the request in
	// place. It cannot add tools that are not in the agent's set. A removed tool
	// cannot be called in this turn.
	Prepare func(ctx context.Context, s state.View, r *llm.Request) error
	// Review, if not nil, is called with each reply before the reply is stored and
	// before its tool calls run. It may change the reply and return more writes.
	// Text that it removes was already streamed.
	Review func(ctx context.Context, s state.View, reply *llm.Message) (state.Update, error)
	// Answer makes the agent end with a structured answer: see [Structured] and
	// [Answer].
	Answer Structure
	// Tools configures how tools are called. By default, Approval.Ask uses the
	// interrupt [Approval], Once is graph.Once, and Emit is graph.Emit. MaxParallel,
	// by default 5, sets Graph.MaxParallel if that is zero.
	Tools tools.Options
	// Pass, if not nil, returns writes for the state of each tool task, in addition to
	// the call. [tools.Options].Bind can read them. Pass must be pure.
	Pass func(s state.View) state.Update
	// Messages is the channel of the conversation. Nil means [Messages].
	Messages *state.KeyedChannel[llm.Message]
	// Channels are additional channels of the graph. The functions in Options may read
	// them, and a caller may write them.
	Channels []state.Handle
	// Graph has the options of the compiled graph. If its MaxSteps is zero, the limit is
	// high enough for MaxTurns.
	Graph graph.Options
}

const (
	defaultMaxTurns    = 10
	defaultMaxParallel = 5 // the default of package tools
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
		return fmt.Errorf("agent: the name is empty; give New or Supervisor a name")
	case model == nil && o.Model == nil:
		return fmt.Errorf("agent %q: the model is nil; pass a model or set Options.Model", name)
	case o.MaxTurns < 0:
		return fmt.Errorf("agent %q: MaxTurns is %d; it must not be negative", name, o.MaxTurns)
	case o.System != "" && o.SystemFrom != nil:
		return fmt.Errorf("agent %q: both System and SystemFrom are set; set one of them", name)
	}
	return nil
}
