package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestThreadWithAnUnreadableAnswerIsListedAsPaused proves for questions of a node and of nested
// subgraphs, with and without an executor: after an answer that the node cannot read, a store lists the
// thread as paused and not as failed, even if the task had failed before. After any other failure of the
// node, the store lists the thread as failed, although the node has not accepted an answer.
func TestThreadWithAnUnreadableAnswerIsListedAsPaused(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for name, depth := range map[string]int{"node": 0, "nested": 2} {
			failing := false
			fn := func(ctx context.Context, _ state.View) (state.Update, error) {
				if failing {
					return nil, errBroken
				}
				a, err := ask.Wait(ctx, "q?")
				return state.Update{trail.Put(a)}, err
			}
			here := nestedIn(t, graph.Options{Checkpoints: s}, fn, depth)
			far := nestedIn(t, graph.Options{Checkpoints: s, Executor: elsewhere(func(ctx context.Context, sets []graph.TaskSet) error {
				return here.RunTasks(ctx, sets[0])
			})}, fn, depth)
			for place, g := range map[string]*graph.Graph{"here": here, "far": far} {
				for _, mode := range modes {
					if place == "far" && mode != graph.Sync {
						continue // an executor needs Sync
					}
					thread := mode.String() + "-" + name + "-" + place
					th := in(g.Thread(thread), mode)
					listed := func(want checkpoint.Status) {
						t.Helper()
						for _, status := range []checkpoint.Status{checkpoint.Paused, checkpoint.Failed} {
							found := statuses(t, s, status, mode)
							assert.Equal(t, status == want, slices.Contains(found, "n "+thread), "%s listed as %s: %q", thread, status, found)
						}
					}
					id := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
					for range 2 {
						snap, err := th.Invoke(t.Context(), askWrongly.Answer(id, 7))
						require.ErrorContains(t, err, "the question is open again", thread)
						require.Len(t, pending(t, ask, snap), 1, thread)
						listed(checkpoint.Paused)
					}
					failing = true
					_, err := th.Invoke(t.Context(), askWrongly.Answer(id, 7))
					require.ErrorContains(t, err, errBroken.Error(), thread)
					listed(checkpoint.Failed)
					failing = false
					_, err = th.Invoke(t.Context())
					require.ErrorContains(t, err, "the question is open again", thread)
					listed(checkpoint.Paused)
					invoke(t, th) // without an answer
					listed(checkpoint.Paused)
					require.Equal(t, []string{"yes"}, trail.Get(done(t, th, ask.Answer(id, "yes"))), thread)
					listed("")
				}
			}
		}
	})
}

// TestRefusedInputLeavesAThreadPaused proves that input which cannot be applied does not change the
// status or the question of a thread.
func TestRefusedInputLeavesAThreadPaused(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		refusing := state.NewChannel("refusing", func(int, int) (int, error) { return 0, errBroken })
		b := graph.New("test", trail, note, refusing)
		b.Node("n", asking("n", func(string) {}))
		chain(b, "n")
		g := compile(t, b, graph.Options{Checkpoints: s})
		for _, mode := range modes {
			thread := mode.String() + "-paused"
			th := in(g.Thread(thread), mode)
			id := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
			_, err := th.Invoke(t.Context(), refusing.Put(1))
			require.ErrorIs(t, err, errBroken)
			_, err = th.Invoke(t.Context(), ask.Answer("00000000000000000000000000000000", "yes"))
			require.ErrorIs(t, err, graph.ErrNoQuestion)
			assert.Contains(t, statuses(t, s, checkpoint.Paused, mode), "n "+thread)
			assert.Equal(t, id, pending(t, ask, snapshot(t, th))[0].ID)
		}
	})
}

type verdict struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
}

type verdicts struct {
	Names []verdict `json:"names"`
	Inner *verdicts `json:"inner"`
}

// lenient is a verdict whose UnmarshalJSON accepts unknown fields, and two names for its own field.
type lenient struct{ Approved bool }

func (l *lenient) UnmarshalJSON(data []byte) error {
	var fields map[string]bool
	err := json.Unmarshal(data, &fields)
	l.Approved = fields["approve"] || fields["approved"]
	return err
}

func (l lenient) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]bool{"approved": l.Approved})
}

// TestAnswerThatDoesNotFitItsTypeIsRefused proves that an answer with an unknown field or of another type
// is refused, and that the error says what the node wants and what it got.
func TestAnswerThatDoesNotFitItsTypeIsRefused(t *testing.T) {
	t.Parallel()
	const open = "cannot be read, and the question is open again: "
	refusesAnswer[verdict](t, `{"approve":true}`, open+`want a graph_test.verdict, got the unknown field "approve"; did you mean "approved"?`)
	refusesAnswer[[]verdict](t, `[{"approved":true,"x":1}]`, open+`want a []graph_test.verdict, got the unknown field "x"`)
	refusesAnswer[verdicts](t, `{"names":[{"approve":true}]}`, open+`want a graph_test.verdicts, got the unknown field "approve"; did you mean "approved"?`)
	refusesAnswer[verdicts](t, `{"inner":{"names":[],"nemas":[]}}`, open+`want a graph_test.verdicts, got the unknown field "nemas"; did you mean "names"?`)
	refusesAnswer[verdict](t, `"yes"`, open+"want a graph_test.verdict, got a string")
	refusesAnswer[verdict](t, `{"approved":"yes"}`, open+`want a bool in the field "approved", got a string`)
	refusesAnswer[verdict](t, `[true]`, open+"want a graph_test.verdict, got an array")
	refusesAnswer[int](t, `{}`, open+"want an int, got an object")
	refusesAnswer[verdict](t, `null`, open+"want a graph_test.verdict, got null")
	refusesAnswer[bool](t, ` null`, open+"want a bool, got null")
	refusesAnswer[uint8](t, `300`, open+"want a uint8, got the number 300")

	acceptsAnswer(t, `{"approved":true}`, verdict{Approved: true})
	acceptsAnswer(t, `{"approve":true}`, lenient{true})
	acceptsAnswer(t, `{"approve":true}`, map[string]bool{"approve": true})
	acceptsAnswer[any](t, `{"approve":true}`, map[string]any{"approve": true})
	acceptsAnswer(t, `null`, (*verdict)(nil))
	acceptsAnswer[any](t, `null`, nil)
	acceptsAnswer(t, `null`, struct{}{})
	acceptsAnswer(t, `{"a": 1}`, json.RawMessage(`{"a":1}`))
}

// TestAnswerOfAnEarlierRunIsReadAfterItsTypeLostAField proves that an answer which the node has already read stays
// readable when its type loses a field, although a new answer with this field is refused. The node runs with and
// without an executor, and runs again after another question or after a failure.
func TestAnswerOfAnEarlierRunIsReadAfterItsTypeLostAField(t *testing.T) {
	t.Parallel()
	type shorter struct {
		Approved bool `json:"approved"`
	}
	old, now := graph.NewInterrupt[string, verdict]("decide"), graph.NewInterrupt[string, shorter]("decide")
	for _, place := range []string{"here", "far"} {
		for _, after := range []string{"question", "failure"} {
			t.Run(place+" after a "+after, func(t *testing.T) {
				t.Parallel()
				store := memcheckpoint.New(memcheckpoint.Options{})
				version := func(fn graph.NodeFunc) *graph.Thread {
					here := nestedIn(t, graph.Options{Checkpoints: store}, fn, 0)
					if place == "here" {
						return here.Thread("t")
					}
					return nestedIn(t, graph.Options{Checkpoints: store, Executor: elsewhere(func(ctx context.Context, sets []graph.TaskSet) error {
						return here.RunTasks(ctx, sets[0])
					})}, fn, 0).Thread("t")
				}
				before := version(func(ctx context.Context, _ state.View) (state.Update, error) {
					if _, err := old.Wait(ctx, "?"); err != nil {
						return nil, err
					}
					if after == "failure" {
						return nil, errBroken
					}
					_, err := ask.Wait(ctx, "q?")
					return nil, err
				})
				id := pending(t, old, invoke(t, before, note.Put("go")))[0].ID
				_, err := before.Invoke(t.Context(), graph.NewInterrupt[string, json.RawMessage]("decide").Answer(id, json.RawMessage(`{"approve":true}`)))
				require.ErrorContains(t, err, "the question is open again")
				_, err = before.Invoke(t.Context(), old.Answer(id, verdict{Approved: true, Reason: "cheap"}))
				if after == "failure" {
					require.ErrorContains(t, err, errBroken.Error())
				} else {
					require.NoError(t, err)
				}
				next := version(func(ctx context.Context, _ state.View) (state.Update, error) {
					v, err := now.Wait(ctx, "?")
					if err != nil {
						return nil, err
					}
					a, err := ask.Wait(ctx, "q?")
					return state.Update{trail.Put(fmt.Sprintf("%t %s", v.Approved, a))}, err
				})
				q := pending(t, ask, invoke(t, next))[0].ID
				require.Equal(t, []string{"true yes"}, trail.Get(done(t, next, ask.Answer(q, "yes"))))
			})
		}
	}
}

func refusesAnswer[A any](t *testing.T, answer, want string) {
	t.Helper()
	_, th, raw := rawAnswer[A](t, answer)
	snap, err := th.Invoke(t.Context(), raw)
	require.ErrorContains(t, err, want)
	assert.NotContains(t, err.Error(), "stored")
	assert.Len(t, snap.Pauses, 1)
}

func acceptsAnswer[A any](t *testing.T, answer string, want A) {
	t.Helper()
	got, th, raw := rawAnswer[A](t, answer)
	snap, err := th.Invoke(t.Context(), raw)
	require.NoError(t, err)
	require.True(t, snap.Done())
	assert.Equal(t, want, *got)
}

// rawAnswer returns the variable to which a node copies its answer, a thread that waits for the answer, and the write
// that answers with raw JSON.
func rawAnswer[A any](t *testing.T, answer string) (*A, *graph.Thread, state.Write) {
	t.Helper()
	got := new(A)
	question := graph.NewInterrupt[string, A]("decide")
	b := graph.New("test", note)
	b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
		a, err := question.Wait(ctx, "?")
		*got = a
		return nil, err
	})
	chain(b, "n")
	th := compile(t, b, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}).Thread("t")
	id := pending(t, question, invoke(t, th, note.Put("go")))[0].ID
	return got, th, graph.NewInterrupt[string, json.RawMessage]("decide").Answer(id, json.RawMessage(answer))
}

// A seat is a number from 1 to 3.
type seat int

func (s *seat) UnmarshalJSON(data []byte) error {
	var n int
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if n < 1 || n > 3 {
		return fmt.Errorf("want 1, 2 or 3, got %d", n)
	}
	*s = seat(n)
	return nil
}

// TestTypedAnswerThatItsTypeRefusesLeavesTheQuestionOpen proves that if UnmarshalJSON of the answer's type refuses a
// value that a Go program passed to Answer, the run fails with the error of UnmarshalJSON, and the question stays open.
func TestTypedAnswerThatItsTypeRefusesLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	choose := graph.NewInterrupt[string, seat]("choose")
	b := graph.New("seats")
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := choose.Wait(ctx, "which seat?")
		return nil, err
	})
	b.Edge(graph.Start, "ask")
	th := compile(t, b, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}).Thread("t")
	snap, err := th.Invoke(t.Context(), graph.Begin())
	require.NoError(t, err)
	_, err = th.Invoke(t.Context(), choose.Answer(snap.Pauses[0].ID, 7))
	require.ErrorContains(t, err, `interrupt "choose": the answer 7 cannot be read, and the question is still open: want 1, 2 or 3, got 7`)
	assert.NotContains(t, err.Error(), "storage")
	snap, err = th.Snapshot(t.Context())
	require.NoError(t, err)
	require.Len(t, snap.Pauses, 1)
	_, err = th.Invoke(t.Context(), choose.Answer(snap.Pauses[0].ID, 2))
	require.NoError(t, err)
}
