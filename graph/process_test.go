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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// actor is a graph that asks once, and acts on the answer.
func actor(s checkpoint.Store, act func(ctx context.Context) error) (*graph.Graph, error) {
	b := graph.New("actor", trail, note)
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
	// resume EFFECTS reads lines "THREAD QUESTION ANSWER hold|go" and answers
	// those questions. The node notes its effect in a file; with hold it says
	// so and waits for a line.
	children["resume"] = func(c *child) error {
		hold := false
		g, err := actor(c.store, func(ctx context.Context) error {
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

// TestTwoProcesses: of two processes that resume one thread, one proceeds and
// the other is refused; what the node does happens once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, effects := filepath.Join(dir, "weft.db"), filepath.Join(dir, "effects")
	g, err := actor(openFile(t, file), func(context.Context) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	ps := []*process{spawn(t, "resume", file, effects), spawn(t, "resume", file, effects)}
	won := map[string]int{}
	for round := range 40 {
		how := []string{"hold", "go"}[round%2]
		id := fmt.Sprint(how, round)
		q := pending(t, ask, invoke(t, g.Thread(id), note.Put("go")))[0].ID
		for i := range ps {
			p := ps[(round/2+i)%2]
			p.tell(t, words(id, q, fmt.Sprint("by", (round/2+i)%2), how))
		}
		said := []string{ps[0].line(t), ps[1].line(t)}
		if how == "hold" {
			winner := slices.Index(said, "holding")
			if winner < 0 || said[1-winner] != "conflict" {
				t.Fatalf("round %d: got %q, want one to hold the thread and one conflict", round, said)
			}
			ps[winner].tell(t, "release")
			said[winner] = ps[winner].line(t)
		}
		winner := slices.Index(said, "ok")
		if winner < 0 || said[1-winner] != "conflict" && (how == "hold" || said[1-winner] != "late") {
			t.Fatalf("round %d: got %q, want one ok and one refused", round, said)
		}
		won[said[1-winner]]++
		wantTrail(t, snapshot(t, g.Thread(id)), fmt.Sprint("by", winner))
		if n := len(history(t, g.Thread(id), graph.HistoryQuery{})); n != 2 {
			t.Fatalf("round %d: got %d checkpoints, want 2", round, n)
		}
	}
	t.Logf("refused: %v", won)
	for _, p := range ps {
		p.wait(t)
	}
	data, err := os.ReadFile(effects)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(data))
	if slices.Sort(lines); len(lines) != 40 || len(slices.Compact(lines)) != 40 {
		t.Fatalf("the effects are %q, want one of each round", lines)
	}
}

// TestManyResumes: of 64 runs at once that answer one question, on graphs of
// their own, one proceeds.
func TestManyResumes(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		const n = 64
		for round := range 5 {
			var acts, refused counter
			others := make(chan struct{})
			var all sync.WaitGroup
			var out sync.WaitGroup
			out.Add(n - 1)
			go func() { out.Wait(); close(others) }()
			run := func() (*graph.Thread, error) {
				g, err := actor(s, func(context.Context) error {
					acts.add("act")
					<-others // every other one has been turned away
					return nil
				})
				if err != nil {
					return nil, err
				}
				return g.Thread(fmt.Sprint("t", round)), nil
			}
			th, err := run()
			if err != nil {
				t.Fatal(err)
			}
			q := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
			for range n {
				all.Go(func() {
					th, err := run()
					if err == nil {
						_, err = th.Invoke(t.Context(), ask.Answer(q, "yes"))
					}
					switch {
					case err == nil:
						refused.add("no")
						return
					case errors.Is(err, checkpoint.ErrConflict):
						refused.add("yes")
					default:
						t.Errorf("got error %v", err)
					}
					out.Done()
				})
			}
			all.Wait()
			acts.want(t, "act", 1)
			refused.want(t, "no", 1)
			refused.want(t, "yes", n-1)
			wantTrail(t, snapshot(t, th), "yes")
		}
	})
}
