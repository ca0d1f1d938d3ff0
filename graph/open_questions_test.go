package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var askItem = graph.NewInterrupt[int, int]("item")

// openQuestions returns a thread with n open questions, and their ids by item.
func openQuestions(tb testing.TB, s checkpoint.Store, n int) (th *graph.Thread, ids []string) {
	tb.Helper()
	g := build(tb, s, func(b *graph.Builder) {
		b.Node("first", func(context.Context, state.View) (state.Update, error) {
			var u state.Update
			for i := range n {
				u = append(u, graph.Send("ask", item.Put(i)))
			}
			return u, nil
		})
		b.Node("ask", func(ctx context.Context, v state.View) (state.Update, error) {
			answer, err := askItem.Wait(ctx, item.Get(v))
			return state.Update{total.Put(answer)}, err
		})
		b.Edge(graph.Start, "first")
		b.Destinations("first", "ask")
	})
	th = g.Thread("t")
	snap := invoke(tb, th, total.Put(0))
	ids = make([]string, n)
	for _, q := range pending(tb, askItem, snap) {
		ids[q.Prompt] = q.ID
	}
	return th, ids
}

// TestOneAnswerAmongMany proves the cost of one answer while n questions are open: one node
// runs, a constant number of bytes is written, and the number of bytes that are read is at
// most linear in n. It is not parallel, so that other tests are not counted.
func TestOneAnswerAmongMany(t *testing.T) {
	few, fewWritten := oneAnswer(t, 250)
	many, manyWritten := oneAnswer(t, 2_000)
	require.LessOrEqual(t, many, 8*few*3/2, "bytes that an answer among 2,000 allocates; one among 250 allocates %d", few)
	require.LessOrEqual(t, manyWritten, fewWritten+64, "bytes that an answer stores")
}

func oneAnswer(t *testing.T, n int) (allocated uint64, written int) {
	t.Helper()
	s := &gatedStore{Store: newStore()}
	th, ids := openQuestions(t, s, n)
	s.putWrites = func(_ context.Context, writes []checkpoint.Write) error {
		for _, w := range writes {
			written += len(w.Data) + len(w.Task) + len(w.Channel)
		}
		return nil
	}
	const answers = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range answers {
		snap := invoke(t, th, askItem.Answer(ids[i], i))
		require.Len(t, snap.Pauses, n-1-i)
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / answers, written / answers
}

// BenchmarkAnswersOneAtATime answers n open questions, each in a separate run.
func BenchmarkAnswersOneAtATime(b *testing.B) {
	for _, n := range []int{500, 1_000, 2_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				th, ids := openQuestions(b, newStore(), n)
				for i, id := range ids {
					invoke(b, th, askItem.Answer(id, i))
				}
				require.Equal(b, n*(n-1)/2, total.Get(snapshot(b, th)))
			}
		})
	}
}
