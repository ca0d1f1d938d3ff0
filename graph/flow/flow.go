package flow

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/state"
)

// ErrNotInFlow is returned if a context does not belong to a running flow or task.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#flowerrnotinflow.
var ErrNotInFlow = errors.New("the context does not belong to a running flow")

// A Flow is a durable function from I to O. It is immutable and safe for concurrent use. The
// embedded graph has its threads, runs, events and forks.
type Flow[I, O any] struct {
	*graph.Graph
	input  *state.Channel[I, I]
	output *state.Channel[O, O]
	saved  *state.Channel[savedValue, savedValue]
}

// channels are the names of the channels of a flow.
var channels = []string{"input", "output", "saved"}

// nodeName is the name of the node of a flow.
const nodeName = "flow"

// New returns a flow that calls fn. The name of a flow and its function may change while
// threads wait. Values of the types I and O must be storable: see package state. The error
// comes from [graph.Builder.Compile].
func New[I, O any](name string, fn func(context.Context, I) (O, error), o graph.Options) (*Flow[I, O], error) {
	f := &Flow[I, O]{
		input: state.Last[I](channels[0]), output: state.Last[O](channels[1]), saved: state.Last[savedValue](channels[2]).Internal(),
	}
	b := graph.New(name, f.input, f.output, f.saved)
	b.Node(nodeName, f.node(fn))
	b.Edge(graph.Start, nodeName)
	g, err := b.Compile(o)
	if err != nil {
		return nil, err
	}
	f.Graph = g
	return f, nil
}

// Input returns the input of a run. A run with an input begins a new turn of its thread, even
// if the thread waits for an answer. A run without input resumes the turn.
func (f *Flow[I, O]) Input(in I) state.Write { return f.input.Put(in) }

// Output returns the output of the newest completed turn, or the zero value if no turn has
// completed.
func (f *Flow[I, O]) Output(s state.View) O { return f.output.Get(s) }

// Call runs the flow as a task of another flow; see [Call].
func (f *Flow[I, O]) Call(ctx context.Context, key string, in I) (O, error) {
	return Call(ctx, key, f.Graph, f.Output, f.Input(in))
}

// node returns the node function of the flow.
func (f *Flow[I, O]) node(fn func(context.Context, I) (O, error)) graph.NodeFunc {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, s state.View) (state.Update, error) {
		sc := newScope(ctx)
		sc.previous = func() (json.RawMessage, error) {
			if saved := f.saved.Get(s).Value; saved != nil {
				return saved, nil
			}
			out, ok := f.output.Lookup(s)
			if !ok {
				return nil, nil
			}
			return jsonform.Marshal(out)
		}
		out, err := runIn(ctx, sc, func(ctx context.Context) (O, error) { return fn(ctx, f.input.Get(s)) })
		if err != nil {
			return nil, err
		}
		update := state.Update{f.output.Put(out)}
		if sc.saved != nil || f.saved.Get(s).Value != nil {
			update = append(update, f.saved.Put(savedValue{sc.saved}))
		}
		return update, nil
	}
}
