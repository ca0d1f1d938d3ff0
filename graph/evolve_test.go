package graph_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestUnknownPending: after a change of the code a thread whose pending node is
// gone fails with an error that says so, and Update steers it out.
func TestUnknownPending(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		version := func(v string, fill func(b *graph.Builder)) *graph.Graph {
			b := graph.New("g", trail, note, item)
			fill(b)
			return compile(t, b, graph.Options{Checkpoints: s, Version: v})
		}
		old := func(b *graph.Builder) {
			b.Node("a", mark("a"))
			b.Edge(graph.Start, "a")
			b.Node("gone", asking("gone", func(string) {}))
			b.Node("sent", asking("sent", func(string) {}))
			b.Edge("a", "gone")
			b.BranchMany("gone", func(state.View) (state.Update, error) { return state.Update{graph.Send("sent", item.Put(1))}, nil }, "sent")
		}
		renamed := func(b *graph.Builder) {
			b.Node("a", mark("a"))
			b.Edge(graph.Start, "a")
			b.Node("b", mark("b"))
			b.Edge("a", "b")
		}
		one, two := version("1", old), version("2", renamed)
		for _, kind := range []string{"plain", "sent"} {
			th := one.Thread(kind)
			snap := invoke(t, th, note.Put("go"))
			name := "gone"
			if kind == "sent" {
				name = "sent"
				snap = invoke(t, th, ask.Answer(snap.Pauses[0].ID, "x"))
			}
			after := two.Thread(kind)
			_, err := after.Invoke(t.Context())
			wantErr(t, err, graph.ErrUnknownNode)
			wantText(t, err, `"`+name+`"`, `thread "`+kind+`"`)
			_, err = after.Invoke(t.Context(), ask.Answer(snap.Pauses[0].ID, "x"))
			wantErr(t, err, graph.ErrUnknownNode)
			if _, err = after.Update(t.Context(), "a", trail.Put("steered")); err != nil {
				t.Fatalf("update: %v", err)
			}
			end := done(t, after)
			if got := trail.Get(end); got[len(got)-1] != "b" || got[len(got)-2] != "steered" {
				t.Fatalf("got %q", got)
			}
			all := history(t, after, graph.HistoryQuery{})
			if all[0].Version != "1" || all[len(all)-1].Version != "2" {
				t.Fatalf("got versions %q and %q", all[0].Version, all[len(all)-1].Version)
			}
		}
		// New input goes on too: what was due is dropped with the turn.
		invoke(t, one.Thread("turn"), note.Put("go"))
		wantTrail(t, done(t, two.Thread("turn"), note.Put("go")), "a", "a", "b")
	})
}

// TestRemovedChannel: what a removed channel held is passed over, and said so.
func TestRemovedChannel(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var log bytes.Buffer
		thread := func(h ...state.Handle) *graph.Thread {
			b := graph.New("g", h...)
			b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
				_, err := ask.Wait(ctx, "a?")
				return state.Update{trail.Put("a")}, err
			})
			b.Edge(graph.Start, "a")
			return compile(t, b, graph.Options{Checkpoints: s, Logger: slog.New(slog.NewTextHandler(&log, nil))}).Thread("t")
		}
		invoke(t, thread(trail, note), note.Put("go"), trail.Put("in"))
		th := thread(trail)
		snap := invoke(t, th)
		wantTrail(t, done(t, th, ask.Answer(snap.Pauses[0].ID, "x")), "in", "a")
		if !bytes.Contains(log.Bytes(), []byte("channel=note")) {
			t.Fatalf("got log %s", log.String())
		}
		// The channel comes back with what it held.
		if got := note.Get(snapshot(t, thread(trail, note))); got != "go" {
			t.Fatalf("got %q", got)
		}
	})
}

// TestUnknownChannelReads: a view read through a channel that the graph lacks
// is the node's error, and names the channel.
func TestUnknownChannelReads(t *testing.T) {
	t.Parallel()
	strange := state.Last[int]("strange")
	_, err := single(t, func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{total.Put(strange.Get(v))}, nil
	}).Invoke(t.Context())
	wantErr(t, err, state.ErrUnknownChannel)
	wantText(t, err, `node "n"`, `"strange"`)
}
