package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// askWrongly is an interrupt with the name of ask and another type of answer. A node that waits on ask cannot read an
// answer of askWrongly.
var askWrongly = graph.NewInterrupt[string, int]("ask")

// TestQuestionIsOpenAgainAfterAnUnreadableAnswer proves for questions of the root graph, of one node,
// of sent tasks and of nested subgraphs: after an answer that the node cannot read, the question is open
// in the snapshot of the failed run and in the stored thread, no other answer is lost, and the right
// answer completes the run.
func TestQuestionIsOpenAgainAfterAnUnreadableAnswer(t *testing.T) {
	for name, c := range answerCases {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, s checkpoint.Store) {
				for _, mode := range modes {
					for _, q := range c.asks {
						c.runRejected(t, s, fmt.Sprint(mode, "alone", q), mode, q, nil)
						var others []string
						for _, other := range c.asks {
							if other != q {
								others = append(others, other)
							}
						}
						c.runRejected(t, s, fmt.Sprint(mode, "beside", q), mode, q, others)
					}
				}
			})
		})
	}
}

// runRejected answers, in one run, the question rejected with a value of the wrong type and the questions in
// answered with valid values.
func (c answerCase) runRejected(t *testing.T, s checkpoint.Store, thread string, mode graph.Durability, rejected string, answered []string) {
	t.Helper()
	th := in(processGraph(t, c.graph, s, func(string) {}).Thread(thread), mode)
	_, ids, err := questions(invoke(t, th, note.Put("go")))
	require.NoError(t, err)
	writes := []state.Write{askWrongly.Answer(ids[rejected], 7)}
	for _, q := range answered {
		writes = append(writes, ask.Answer(ids[q], "yes "+q))
	}
	left := []string{rejected}
	if answered == nil {
		left = c.asks
	}
	snap, err := th.Invoke(t.Context(), writes...)
	require.ErrorContains(t, err, "the answer 7 cannot be read, and the question is open again", thread)
	for range 2 {
		for _, at := range []*graph.Snapshot{snap, snapshot(t, th)} {
			open, openIDs, err := questions(at)
			require.NoError(t, err)
			require.Equal(t, left, open, thread)
			require.Equal(t, ids[rejected], openIDs[rejected], thread)
		}
		snap = invoke(t, th) // a run without an answer does not close the question
	}
	writes = nil
	for _, q := range left {
		writes = append(writes, ask.Answer(ids[q], "yes "+q))
	}
	require.Equal(t, c.trail, trail.Get(done(t, th, writes...)), thread)
}

// TestUnreadableAnswerFailsEveryNodeAround proves that a node and its decorators cannot drop a question
// with an unreadable answer, in a graph and in a subgraph.
func TestUnreadableAnswerFailsEveryNodeAround(t *testing.T) {
	inner := func(ctx context.Context, _ state.View) (state.Update, error) {
		a, err := ask.Wait(ctx, "q?")
		if graph.IsPause(err) {
			return nil, err
		}
		if err != nil {
			return state.Update{trail.Put("dropped")}, nil
		}
		return state.Update{trail.Put(a)}, nil
	}
	failing := func(ctx context.Context, _ state.View) (state.Update, error) {
		a, err := ask.Wait(ctx, "q?")
		return state.Update{trail.Put(a)}, err
	}
	recovered := func(context.Context, state.View, error) (state.Update, error) {
		return state.Update{trail.Put("dropped")}, nil
	}
	nodes := map[string]graph.NodeFunc{
		"ignored":   inner,
		"swallowed": func(ctx context.Context, s state.View) (state.Update, error) { u, _ := failing(ctx, s); return u, nil },
		"recovered": node.Recover(recovered, failing),
		"retried":   node.Retry(node.RetryPolicy{Initial: -1}, failing),
	}
	around := func(next graph.NodeFunc) graph.NodeFunc {
		return node.Recover(recovered, node.Retry(node.RetryPolicy{Initial: -1}, next))
	}
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for name, fn := range nodes {
			for _, depth := range []int{0, 2} {
				g := nestedIn(t, graph.Options{Checkpoints: s, Middleware: []graph.Middleware{around}}, fn, depth)
				th := g.Thread(fmt.Sprint(name, depth))
				id := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
				snap, err := th.Invoke(t.Context(), askWrongly.Answer(id, 7))
				require.ErrorContains(t, err, "the question is open again", "%s at depth %d", name, depth)
				require.Len(t, pending(t, ask, snap), 1, "%s at depth %d", name, depth)
				require.Equal(t, []string{"yes"}, trail.Get(done(t, th, ask.Answer(id, "yes"))))
			}
		}
	})
}

// nestedIn returns a graph that runs a node inside nested subgraphs. The argument depth is their number.
func nestedIn(t *testing.T, o graph.Options, fn graph.NodeFunc, depth int) *graph.Graph {
	t.Helper()
	b := graph.New("test", trail, note)
	if depth == 0 {
		b.Node("n", fn)
	} else {
		b.Subgraph("n", nestedIn(t, graph.Options{}, fn, depth-1))
	}
	b.Edge(graph.Start, "n")
	return compile(t, b, o)
}

// TestRunKeepsItsOpenQuestionsWhenATaskFails proves that the snapshot of a failed run has the open
// questions that the stored thread has.
func TestRunKeepsItsOpenQuestionsWhenATaskFails(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := lone(t, s, func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err := ask.WaitKey(ctx, "x", "x?")
			if err == nil {
				return nil, errBroken
			}
			_, other := ask.WaitKey(ctx, "y", "y?")
			return nil, errors.Join(err, other)
		})
		_, ids, err := questions(invoke(t, th, note.Put("go")))
		require.NoError(t, err)
		snap, err := th.Invoke(t.Context(), ask.Answer(ids["x"], "yes"))
		require.ErrorIs(t, err, errBroken)
		for _, at := range []*graph.Snapshot{snapshot(t, th), snap} {
			open, _, err := questions(at)
			require.NoError(t, err)
			require.Equal(t, []string{"y"}, open)
		}
	})
}
