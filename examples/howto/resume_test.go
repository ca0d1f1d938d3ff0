package howto_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin test-resume
var receipt = state.Last[string]("receipt")

// newPayment returns the graph under test. The calls to other systems are arguments, so that a test can
// replace them.
func newPayment(store checkpoint.Store, transfer func() (string, error), notify func() error) (*graph.Graph, error) {
	b := graph.New("payment", receipt)
	b.Node("pay", func(ctx context.Context, _ state.View) (state.Update, error) {
		id, err := graph.Once(ctx, "transfer", func(context.Context) (string, error) { return transfer() })
		if err != nil {
			return nil, err
		}
		return state.Update{receipt.Put(id)}, notify()
	})
	b.Edge(graph.Start, "pay")
	return b.Compile(graph.Options{Checkpoints: store})
}

func TestPaymentIsResumedAndPaysOnce(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{}) // outlives the "process"
	transfers := 0
	transfer := func() (string, error) { transfers++; return "R-1", nil }

	// The first process ends in the middle of the node: after the transfer, before the node returns.
	first, err := newPayment(store, transfer, func() error { return errors.New("killed") })
	require.NoError(t, err)
	_, err = first.Thread("order-1").Invoke(t.Context(), graph.Begin())
	require.ErrorContains(t, err, "killed")

	// The second process builds the graph again, and resumes the thread with a run without input.
	second, err := newPayment(store, transfer, func() error { return nil })
	require.NoError(t, err)
	snap, err := second.Thread("order-1").Invoke(t.Context())
	require.NoError(t, err)
	require.Equal(t, "R-1", receipt.Get(snap))
	require.Equal(t, 1, transfers, "the stored result of Once is used")
	require.Empty(t, snap.Next, "nothing is due")
}

// docs:end
