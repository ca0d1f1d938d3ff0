package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

type emptyAnswer struct{}

// TestZeroAnswersAreAnswers proves that an answer which is false, zero, empty or null
// answers its question.
func TestZeroAnswersAreAnswers(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		answerWithZero(t, s, "bool", false)
		answerWithZero(t, s, "int", 0)
		answerWithZero(t, s, "string", "")
		answerWithZero(t, s, "null", (*int)(nil))
		answerWithZero(t, s, "struct", emptyAnswer{})
		answerWithZero(t, s, "any", any(nil))
		answerWithZero(t, s, "float", 0.0)
	})
}

func answerWithZero[A comparable](t *testing.T, s checkpoint.Store, name string, zero A) {
	t.Helper()
	q := graph.NewInterrupt[A, A](name)
	g := build(t, s, func(b *graph.Builder) {
		b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
			a, err := q.Wait(ctx, zero)
			if err != nil {
				return nil, err
			}
			return state.Update{trail.Put(fmt.Sprint(a == zero))}, nil
		})
		b.Edge(graph.Start, "n")
	})
	th := g.Thread(name)
	open := pending(t, q, invoke(t, th, note.Put("go")))
	require.Len(t, open, 1, name)
	require.Equal(t, zero, open[0].Prompt, name)
	require.Equal(t, []string{"true"}, trail.Get(done(t, th, q.Answer(open[0].ID, zero))))
}

// TestInvalidAnswerFailsTheRun proves that an answer to a question which is not open, or
// of the wrong type, fails the run and leaves the open questions unchanged.
func TestInvalidAnswerFailsTheRun(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		other, odd := graph.NewInterrupt[string, string]("other"), graph.NewInterrupt[string, int]("ask")
		bad := graph.NewInterrupt[string, func()]("ask")
		th := processGraph(t, "parallel", s, func(string) {}).Thread("t")
		for _, before := range [][]state.Write{{}, {note.Put("go")}, {graph.Goto("a")}} {
			_, err := th.Invoke(t.Context(), append(before, ask.Answer("x", "y"))...)
			require.ErrorIs(t, err, graph.ErrNoQuestion, "a thread without a checkpoint")
			require.ErrorContains(t, err, "no checkpoint")
		}
		_, ids, err := questions(invoke(t, th, note.Put("go")))
		require.NoError(t, err)
		for name, w := range map[string]state.Write{
			"unknown id":      ask.Answer("nobody", "x"),
			"no id":           ask.Answer("", "x"),
			"other interrupt": other.Answer(ids["a"], "x"),
		} {
			_, err = th.Invoke(t.Context(), w)
			require.ErrorIs(t, err, graph.ErrNoQuestion, name)
			// An invalid answer also voids the valid ones of its run.
			_, err = th.Invoke(t.Context(), ask.Answer(ids["a"], "lost"), w)
			require.ErrorIs(t, err, graph.ErrNoQuestion, name)
		}
		_, err = th.Invoke(t.Context(), bad.Answer(ids["a"], nil))
		require.ErrorContains(t, err, `interrupt "ask"`)
		require.ErrorContains(t, err, "the answer")
		open, _, err := questions(snapshot(t, th))
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "d"}, open)
		open, _, err = answered(t.Context(), th, "a")
		require.NoError(t, err)
		require.Equal(t, []string{"b", "d"}, open)
		_, err = th.Invoke(t.Context(), ask.Answer(ids["a"], "again"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
		_, err = th.Invoke(t.Context(), odd.Answer(ids["b"], 7), ask.Answer(ids["d"], "yes d"))
		require.ErrorContains(t, err, `node "b"`)
		require.ErrorContains(t, err, `interrupt "ask"`)
		require.ErrorContains(t, err, "the answer")
		done(t, th, ask.Answer(ids["b"], "yes b"))
		require.Equal(t, []string{"a=yes a", "b=yes b", "c", "d=yes d", "end"}, trail.Get(snapshot(t, th)))
		_, err = th.Invoke(t.Context(), ask.Answer(ids["b"], "late"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
		// A run from an earlier checkpoint asks its questions again, with other ids.
		first := history(t, th, graph.HistoryQuery{})[0].ID
		_, err = th.At(first).Invoke(t.Context(), ask.Answer(ids["b"], "late"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
	})
}

// TestDuplicateQuestionKeyFails proves that a node which uses one question key twice
// fails with ErrDuplicateKey, once its other questions are answered.
func TestDuplicateQuestionKeyFails(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for name, waits := range map[string][]string{
			"plain": {"", ""},
			"keyed": {"k", "k"},
			"mixed": {"k", "", "k"},
		} {
			th := build(t, s, func(b *graph.Builder) {
				b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
					var errs []error
					for _, key := range waits {
						_, err := ask.WaitKey(ctx, key, "q?")
						errs = append(errs, err)
					}
					if !errors.Is(errs[len(errs)-1], graph.ErrDuplicateKey) {
						return nil, fmt.Errorf("got %v", errs)
					}
					return nil, errs[len(errs)-1]
				})
				b.Edge(graph.Start, "n")
			}).Thread(name)
			snap, err := th.Invoke(t.Context(), note.Put("go"))
			// If the run pauses, the node fails once its questions are answered.
			if err == nil {
				require.Len(t, snap.Pauses, len(waits)-1, name)
			}
			var answers []state.Write
			for _, p := range snap.Pauses {
				answers = append(answers, ask.Answer(p.ID, "a"))
			}
			_, err = th.Invoke(t.Context(), answers...)
			require.ErrorIs(t, err, graph.ErrDuplicateKey)
			require.ErrorContains(t, err, `node "n"`)
			require.ErrorContains(t, err, `interrupt "ask"`)
		}
	})
}

// TestInvalidPromptIsAnError proves that a prompt which cannot be stored fails its node,
// and that Open fails for a prompt of another type.
func TestInvalidPromptIsAnError(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		bad, odd := graph.NewInterrupt[any, string]("bad"), graph.NewInterrupt[int, string]("bad")
		var prompt any = func() {}
		th := lone(t, s, func(ctx context.Context, _ state.View) (state.Update, error) {
			a, err := bad.Wait(ctx, prompt)
			return state.Update{trail.Put(a)}, err
		})
		_, err := th.Invoke(t.Context(), note.Put("go"))
		require.ErrorContains(t, err, `interrupt "bad"`)
		require.ErrorContains(t, err, "the prompt")
		prompt = "text"
		snap := invoke(t, th)
		_, err = odd.Open(snap)
		require.ErrorContains(t, err, `interrupt "bad"`)
		require.ErrorContains(t, err, snap.Pauses[0].ID)
		require.Equal(t, "bad", bad.Name())
		require.Empty(t, pending(t, ask, snap), "questions of another interrupt")
		require.Equal(t, []string{"a"}, trail.Get(done(t, th, odd.Answer(snap.Pauses[0].ID, "a"))))
	})
}

// TestNewTurnVoidsOpenQuestions proves that input begins a new turn, in which the open
// questions of the turn before can no longer be answered, and that a question which is
// asked again in one turn keeps its id.
func TestNewTurnVoidsOpenQuestions(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := processGraph(t, "parallel", s, func(string) {}).Thread("t")
		_, old, err := questions(invoke(t, th, note.Put("one")))
		require.NoError(t, err)
		_, ids, err := questions(invoke(t, th, note.Put("two")))
		require.NoError(t, err)
		require.NotEqual(t, old["a"], ids["a"])
		_, err = th.Invoke(t.Context(), ask.Answer(old["a"], "x"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
		_, again, err := questions(invoke(t, th))
		require.NoError(t, err)
		require.Equal(t, ids["a"], again["a"])
		_, snap, err := answered(t.Context(), th, "a", "b", "d")
		require.NoError(t, err)
		require.True(t, snap.Done())
		require.Equal(t, "two", note.Get(snap))
	})
}

// TestAnswerOfAnotherTypeLeavesQuestionOpen proves that the question of a node is open
// again after an answer of the wrong type, that it takes one answer only, and that the
// right answer completes the run.
func TestAnswerOfAnotherTypeLeavesQuestionOpen(t *testing.T) {
	sure, wrong := graph.NewInterrupt[string, bool]("sure"), graph.NewInterrupt[string, string]("sure")
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		th := lone(t, store, func(ctx context.Context, _ state.View) (state.Update, error) {
			ok, err := sure.Wait(ctx, "sure?")
			return state.Update{trail.Put(fmt.Sprint(ok))}, err
		})
		id := invoke(t, th, trail.Put("in")).Pauses[0].ID
		_, err := th.Invoke(t.Context(), wrong.Answer(id, "yes"))
		require.Error(t, err)
		snap := snapshot(t, th)
		require.Len(t, snap.Pauses, 1)
		require.Equal(t, id, snap.Pauses[0].ID)
		_, err = th.Invoke(t.Context(), sure.Answer(id, true), sure.Answer(id, false))
		require.ErrorIs(t, err, graph.ErrDuplicateKey)
		done(t, th, sure.Answer(id, true))
	})
}

// TestDuplicateKeyFailsBesideAnOpenQuestion proves that a node which asks a second
// question without a key fails, although its first question is open.
func TestDuplicateKeyFailsBesideAnOpenQuestion(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		th := lone(t, store, func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err1 := ask.Wait(ctx, "one?")
			_, err2 := ask.Wait(ctx, "two?")
			return nil, errors.Join(err1, err2)
		})
		_, err := th.Invoke(t.Context(), trail.Put("in"))
		require.ErrorIs(t, err, graph.ErrDuplicateKey)
	})
}
