package agent

import (
	"context"
	"fmt"
	"slices"

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
	// Use is the middleware of the agent; see [Middleware] for the order.
	Use []Middleware
	// MaxTurns is the maximum number of requests to the model in one run. In the last
	// turn the model may not call tools, so it has to answer. Zero means 10. If Answer is set and
	// the conversation ends without an answer, the model is asked for it at most twice more. A run whose
	// AfterAgent functions jump to the model can end its conversation several times.
	MaxTurns int
	// Answer makes the agent end with a structured answer: see [Structured] and
	// [Answer].
	Answer Structure
	// Tools configures how tools are called. By default, Approval.Ask uses the interrupt
	// [Approval], Once is graph.Once, and Emit is graph.Emit. Bind sees the whole state.
	// MaxParallel is 5 by default, and is the default of Graph.MaxParallel.
	Tools tools.Options
	// Messages is the channel of the conversation. Nil means [Messages].
	Messages *state.KeyedChannel[llm.Message]
	// Channels are additional channels of the graph. Middleware and Tools.Bind may read
	// them, and a caller may write them.
	Channels []state.Handle
	// Graph has the options of the compiled graph. The default of MaxSteps is high enough
	// for MaxTurns.
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
		return fmt.Errorf("agent: the name is empty; give the agent a name")
	case model == nil && !slices.ContainsFunc(o.Use, func(m Middleware) bool { return m.WrapModel != nil }):
		return fmt.Errorf("agent %q: the model is nil; pass a model, or set ModelCall.Model in a middleware", name)
	case o.MaxTurns < 0:
		return fmt.Errorf("agent %q: MaxTurns is %d; it must not be negative", name, o.MaxTurns)
	}
	return nil
}
