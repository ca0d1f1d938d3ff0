package graph_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// record has a field of every kind that JSON encoding can easily damage.
type record struct {
	Big     int64
	Small   uint8
	When    time.Time
	For     time.Duration
	Raw     []byte
	Nested  struct{ Deep map[string][]*recordLeaf }
	Ptr     *string
	Nothing *string
	Text    string
	Ratio   float64
}

type recordLeaf struct{ N int64 }

var askRecord = graph.NewInterrupt[record, record]("askRecord")

// requireRecord compares two records. It compares times by instant and zone
// offset, since equal zones may have different pointers.
func requireRecord(t *testing.T, want, got record) {
	t.Helper()
	require.True(t, sameTime(want.When, got.When), "got time %v, want %v", got.When, want.When)
	want.When, got.When = time.Time{}, time.Time{}
	require.Equal(t, want, got)
}

func sameTime(a, b time.Time) bool {
	_, x := a.Zone()
	_, y := b.Zone()
	return a.Equal(b) && x == y
}

// TestValuesSurviveStorage proves that channel values, sent values and the prompts of
// questions do not change when they are stored and read again.
func TestValuesSurviveStorage(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		value, rows := state.Last[record]("value"), state.Append[record]("rows")
		table, any64 := state.Map[int64, record]("table"), state.Last[int64]("int64")
		text := "é\u2028 <&> \x00 \U0001F600"
		want := record{
			Big: 1<<53 + 1, Small: 255, When: time.Date(2026, 7, 1, 12, 30, 0, 123456789, time.FixedZone("", 5400)),
			For: 1<<62 + 1, Raw: []byte{0, 1, 254, 255}, Ptr: &text, Text: text, Ratio: 0.1 + 0.2,
		}
		want.Nested.Deep = map[string][]*recordLeaf{"": {{N: -1 << 63}, nil}, text: {}}
		sent := make(chan record, 4)
		newGraph := func() *graph.Graph {
			b := graph.New("values", value, rows, table, any64)
			b.Node("write", func(context.Context, state.View) (state.Update, error) {
				return state.Update{value.Put(want), rows.Put(want, want), table.Put(map[int64]record{1<<53 + 1: want}), any64.Put(-1 << 63)}, nil
			})
			b.Node("send", func(_ context.Context, v state.View) (state.Update, error) {
				return state.Update{graph.Send("check", value.Put(value.Get(v)))}, nil
			})
			b.Node("check", func(ctx context.Context, v state.View) (state.Update, error) {
				answer, err := askRecord.Wait(ctx, value.Get(v))
				if err != nil {
					return nil, err
				}
				sent <- answer
				sent <- value.Get(v)
				return nil, nil
			})
			chain(b, "write", "send")
			b.Destinations("send", "check")
			return compile(t, b, graph.Options{Checkpoints: s})
		}
		snap := invoke(t, newGraph().Thread("t"), graph.Begin())
		reread := newGraph().Thread("t") // a new graph reads everything from the store
		for _, v := range []state.View{snap, snapshot(t, reread)} {
			requireRecord(t, want, value.Get(v))
			requireRecord(t, want, rows.Get(v)[0])
			requireRecord(t, want, rows.Get(v)[1])
			requireRecord(t, want, table.Get(v)[1<<53+1])
			require.Equal(t, int64(-1<<63), any64.Get(v))
		}
		open := pending(t, askRecord, snapshot(t, reread))
		require.Len(t, open, 1)
		requireRecord(t, want, open[0].Prompt)
		done(t, reread, askRecord.Answer(open[0].ID, open[0].Prompt))
		requireRecord(t, want, <-sent)
		requireRecord(t, want, <-sent)
	})
}

// TestLossyTypesAreCompileErrors proves that Compile rejects a channel whose
// type loses data when it is stored, and names the channel.
func TestLossyTypesAreCompileErrors(t *testing.T) {
	t.Parallel()
	type hidden struct{ secret int }
	_ = hidden{secret: 1}
	for name, h := range map[string]state.Handle{
		"hidden field": state.Last[hidden]("bad"),
		"nested":       state.Append[map[string][]hidden]("bad"),
		"channel":      state.Last[chan int]("bad"),
		"function":     state.Map[string, func()]("bad"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := graph.New("lossy", h)
			b.Node("a", mark("a"))
			b.Edge(graph.Start, "a")
			_, err := b.Compile(graph.Options{})
			require.ErrorIs(t, err, state.ErrRoundTrip)
			require.ErrorContains(t, err, `"bad"`)
			require.ErrorContains(t, err, `graph "lossy"`)
		})
	}
}

// TestLossyValuesFailTheRun proves that a run fails if a value would change
// when it is stored, and that the thread can run again afterwards.
func TestLossyValuesFailTheRun(t *testing.T) {
	t.Parallel()
	text, ratio, loose := state.Last[string]("text"), state.Last[float64]("ratio"), state.Last[any]("loose")
	zero := 0.0
	for name, w := range map[string]state.Write{
		"text":  text.Put("\xff"),
		"ratio": ratio.Put(zero / zero),
		"loose": loose.Put(int64(1<<53 + 1)),
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, s checkpoint.Store) {
				bad := true
				b := graph.New("lossy", text, ratio, loose)
				b.Node("a", func(context.Context, state.View) (state.Update, error) {
					if bad {
						return state.Update{w}, nil
					}
					return nil, nil
				})
				b.Edge(graph.Start, "a")
				th := compile(t, b, graph.Options{Checkpoints: s}).Thread("t1")
				_, err := th.Invoke(t.Context(), graph.Begin())
				require.ErrorIs(t, err, state.ErrRoundTrip)
				require.ErrorContains(t, err, `"`+name+`"`)
				require.ErrorContains(t, err, `thread "t1"`)
				bad = false
				done(t, th)
			})
		})
	}
}
