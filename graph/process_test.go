package graph_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// approval builds a graph of one node that asks a question, calls act when it
// is answered, and appends the answer to the trail.
func approval(s checkpoint.Store, act func(ctx context.Context) error) (*graph.Graph, error) {
	b := graph.New("approval", trail, note)
	b.Node("act", func(ctx context.Context, _ state.View) (state.Update, error) {
		a, err := ask.Wait(ctx, "act?")
		if err == nil {
			err = act(ctx)
		}
		return state.Update{trail.Put(a)}, err
	})
	b.Edge(graph.Start, "act")
	return b.Compile(graph.Options{Checkpoints: s})
}

func init() {
	// resume EFFECTS reads lines of the form "THREAD QUESTION ANSWER hold|go"
	// and answers each question. The node appends the thread to the file
	// EFFECTS. With hold, it first prints "holding" and waits for a line.
	children["resume"] = func(c *child) error {
		hold := false
		g, err := approval(c.store, func(ctx context.Context) error {
			if hold {
				c.say("holding")
				c.in.Scan()
			}
			at, _ := graph.FromContext(ctx)
			return appendLine(c.args[0], at.Thread)
		})
		if err != nil {
			return err
		}
		for c.in.Scan() {
			f := strings.Fields(c.in.Text())
			hold = f[3] == "hold"
			_, err := g.Thread(f[0]).Invoke(c.ctx, ask.Answer(f[1], f[2]))
			switch {
			case err == nil:
				c.say("ok")
			case errors.Is(err, checkpoint.ErrConflict):
				c.say("conflict")
			case errors.Is(err, graph.ErrNoQuestion):
				c.say("late")
			default:
				c.say("error", err.Error())
			}
		}
		return nil
	}
}

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// TestOneOfTwoProcessesResumes proves that if two processes resume one thread,
// exactly one succeeds, the other gets an error, and the node's effect happens
// once.
func TestOneOfTwoProcessesResumes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, effects := filepath.Join(dir, "weft.db"), filepath.Join(dir, "effects")
	g, err := approval(openFile(t, file), func(context.Context) error { return nil })
	require.NoError(t, err)
	ps := []*process{spawn(t, "resume", file, effects), spawn(t, "resume", file, effects)}
	refusals := map[string]int{}
	for round := range 40 {
		how := []string{"hold", "go"}[round%2]
		id := fmt.Sprint(how, round)
		q := pending(t, ask, invoke(t, g.Thread(id), note.Put("go")))[0].ID
		for i := range ps {
			p := (round/2 + i) % 2 // alternate which process is first
			ps[p].send(t, words(id, q, fmt.Sprint("by", p), how))
		}
		got := []string{ps[0].line(t), ps[1].line(t)}
		if how == "hold" {
			require.ElementsMatch(t, []string{"holding", "conflict"}, got, "round %d", round)
			winner := slices.Index(got, "holding")
			ps[winner].send(t, "release")
			got[winner] = ps[winner].line(t)
		}
		winner := slices.Index(got, "ok")
		require.GreaterOrEqual(t, winner, 0, "round %d: no process succeeded: %q", round, got)
		refusal := got[1-winner]
		if how == "hold" {
			require.Equal(t, "conflict", refusal, "round %d", round)
		} else {
			require.Contains(t, []string{"conflict", "late"}, refusal, "round %d", round)
		}
		refusals[refusal]++
		wantTrail(t, snapshot(t, g.Thread(id)), fmt.Sprint("by", winner))
		require.Len(t, history(t, g.Thread(id), graph.HistoryQuery{}), 2, "round %d: checkpoints", round)
	}
	t.Logf("refusals: %v", refusals)
	for _, p := range ps {
		p.wait(t)
	}
	data, err := os.ReadFile(effects)
	require.NoError(t, err)
	lines := strings.Fields(string(data))
	slices.Sort(lines)
	assert.Len(t, lines, 40, "effects")
	assert.Len(t, slices.Compact(lines), 40, "threads with an effect")
}

// TestOneOfManyResumesProceeds lets 64 concurrent runs, each on a separate graph, answer
// the same question. It proves that one run proceeds and the others get ErrConflict.
func TestOneOfManyResumesProceeds(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		const n = 64
		for round := range 5 {
			var acts, outcomes counter
			var refused sync.WaitGroup
			refused.Add(n - 1)
			thread := func() (*graph.Thread, error) {
				g, err := approval(s, func(context.Context) error {
					acts.add("act")
					refused.Wait() // hold the thread until every other run has failed
					return nil
				})
				if err != nil {
					return nil, err
				}
				return g.Thread(fmt.Sprint("t", round)), nil
			}
			th, err := thread()
			require.NoError(t, err)
			q := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					th, err := thread()
					if err == nil {
						_, err = th.Invoke(t.Context(), ask.Answer(q, "yes"))
					}
					if err == nil {
						outcomes.add("ok")
						return
					}
					if assert.ErrorIs(t, err, checkpoint.ErrConflict) {
						outcomes.add("conflict")
					}
					refused.Done()
				})
			}
			all.Wait()
			require.Equal(t, 1, acts.get("act"), "executions of the node")
			require.Equal(t, map[string]int{"ok": 1, "conflict": n - 1}, outcomes.n)
			wantTrail(t, snapshot(t, th), "yes")
		}
	})
}
