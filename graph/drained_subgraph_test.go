package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestRunDrainedInsideSubgraphHasNoFailure proves that a run which is drained inside a subgraph ends with ErrDrained, also if
// the node around it handles the error, that no task of the thread has failed, and that the next run repeats no node.
func TestRunDrainedInsideSubgraphHasNoFailure(t *testing.T) {
	type canceler struct{}
	handles := func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			if update, err := next(ctx, s); err == nil {
				return update, nil
			}
			return state.Update{note.Put("handled")}, nil
		}
	}
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		inner := build(t, nil, func(b *graph.Builder) {
			b.Node("one", func(ctx context.Context, _ state.View) (state.Update, error) {
				ctx.Value(canceler{}).(context.CancelCauseFunc)(graph.ErrDrained)
				return state.Update{trail.Put("one")}, nil
			})
			b.Node("two", mark("two"))
			chain(b, "one", "two", graph.End)
		})
		middle := build(t, nil, func(b *graph.Builder) {
			b.Subgraph("inner", inner)
			chain(b, "inner", graph.End)
		})
		b := graph.New("outer", trail, total, note, item)
		b.SubgraphWith("sub", middle, graph.SubgraphOptions{Middleware: []graph.Middleware{handles}})
		b.Node("beside", mark("beside"))
		chain(b, "sub")
		chain(b, "beside")
		here := compile(t, b, graph.Options{Checkpoints: s})
		far := compile(t, b, graph.Options{Checkpoints: s, Executor: elsewhere(func(ctx context.Context, sets []graph.TaskSet) error {
			ctx, drain := context.WithCancelCause(ctx) // the worker is drained, and not the run
			defer drain(nil)
			for _, set := range sets {
				if err := here.RunTasks(context.WithValue(ctx, canceler{}, drain), set); err != nil {
					return err
				}
			}
			return nil
		})})
		for name, g := range map[string]*graph.Graph{"here": here, "far": far} {
			for _, mode := range modes {
				if name == "far" && mode != graph.Sync {
					continue
				}
				thread := mode.String() + "-" + name
				ctx, drain := context.WithCancelCause(t.Context())
				th := in(g.Thread(thread), mode)
				_, err := th.Invoke(context.WithValue(ctx, canceler{}, drain), note.Put("go"))
				require.ErrorIs(t, err, graph.ErrDrained, thread)
				snap := snapshot(t, th)
				for _, task := range snap.Tasks {
					assert.Empty(t, task.Err, "%s: task %s", thread, task.ID)
				}
				assert.Contains(t, snap.Next, "sub", thread)
				assert.NotContains(t, statuses(t, s, checkpoint.Failed, mode), "sub "+thread)
				snap = done(t, th)
				assert.ElementsMatch(t, []string{"beside", "one", "two"}, trail.Get(snap), thread)
				assert.Equal(t, "go", note.Get(snap), thread)
			}
		}
	})
}
