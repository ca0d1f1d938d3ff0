package graph_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
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

// TestOneAnswerAmongMany proves the cost of one answer while n questions are open: the run
// stores a constant number of bytes, and the number of bytes that it allocates is at most
// linear in n. It is not parallel, so that other tests are not counted.
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

// countedItem is an integer. Each call of its UnmarshalJSON increments countedDecodes.
type countedItem int

var countedDecodes atomic.Int64

func (c countedItem) MarshalJSON() ([]byte, error) { return json.Marshal(int(c)) }

func (c *countedItem) UnmarshalJSON(data []byte) error {
	countedDecodes.Add(1)
	return json.Unmarshal(data, (*int)(c))
}

var counted = state.Last[countedItem]("counted")

// TestAnswerDecodesWhatItsTaskWasSent proves that a run with answers and no other input decodes
// only the sent values of the tasks that it runs, and that every task sees its own sent value.
// The test is not parallel, so that other tests do not count.
func TestAnswerDecodesWhatItsTaskWasSent(t *testing.T) {
	const n = 50
	b := graph.New("test", total, counted)
	b.Node("first", func(context.Context, state.View) (state.Update, error) {
		var u state.Update
		for i := range n {
			u = append(u, graph.Send("ask", counted.Put(countedItem(i))))
		}
		return u, nil
	})
	b.Node("ask", func(ctx context.Context, v state.View) (state.Update, error) {
		answer, err := askItem.Wait(ctx, int(counted.Get(v)))
		return state.Update{total.Put(answer * int(counted.Get(v)))}, err
	})
	b.Edge(graph.Start, "first")
	b.Destinations("first", "ask")
	g := compile(t, b, graph.Options{Checkpoints: newStore()})
	th := g.Thread("t")
	questions := pending(t, askItem, invoke(t, th, total.Put(0)))
	require.Len(t, questions, n)
	sum := 0
	for _, q := range questions[:10] {
		before := countedDecodes.Load()
		invoke(t, th, askItem.Answer(q.ID, 2))
		assert.EqualValues(t, 1, countedDecodes.Load()-before, "decoded items of the answer to question %d", q.Prompt)
		sum += 2 * q.Prompt
	}
	before := countedDecodes.Load()
	snap := invoke(t, th, askItem.Answer(questions[10].ID, 3), askItem.Answer(questions[11].ID, 3))
	assert.EqualValues(t, 2, countedDecodes.Load()-before, "decoded items of two answers")
	sum += 3 * (questions[10].Prompt + questions[11].Prompt)
	require.Equal(t, sum, total.Get(snap))

	require.Len(t, invoke(t, th, graph.Continue()).Pauses, n-12, "a run that continues asks again")
	var answers []state.Write
	for _, q := range pending(t, askItem, snapshot(t, th)) {
		answers = append(answers, askItem.Answer(q.ID, 5))
		sum += 5 * q.Prompt
	}
	require.Equal(t, sum, total.Get(invoke(t, th, answers...)))
}

// BenchmarkAnswersOneAtATime answers n open questions, each in a separate run.
func BenchmarkAnswersOneAtATime(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		for _, n := range []int{250, 500, 1_000, 2_000} {
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for b.Loop() {
					th, ids := openQuestions(b, stores[name](b), n)
					for i, id := range ids {
						invoke(b, th, askItem.Answer(id, i))
					}
					require.Equal(b, n*(n-1)/2, total.Get(snapshot(b, th)))
				}
			})
		}
	}
}

// BenchmarkAnswersOfOneNode answers the n open questions of one node, each in a separate
// run. The node runs again for each answer, and asks the questions that are still open.
func BenchmarkAnswersOfOneNode(b *testing.B) {
	for _, n := range []int{250, 500, 1_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := build(b, newStore(), func(gb *graph.Builder) {
				gb.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
					var u state.Update
					var open error
					for i := range n {
						answer, err := askItem.WaitKey(ctx, strconv.Itoa(i), i)
						u, open = append(u, total.Put(answer)), cmp.Or(err, open)
					}
					return u, open
				})
				gb.Edge(graph.Start, "ask")
			})
			for b.Loop() {
				th := g.Thread("t")
				snap := invoke(b, th, graph.Begin(), total.Overwrite(0))
				for _, q := range pending(b, askItem, snap) {
					snap = invoke(b, th, askItem.Answer(q.ID, q.Prompt))
				}
				require.Equal(b, n*(n-1)/2, total.Get(snap))
			}
		})
	}
}
