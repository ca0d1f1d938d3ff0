package durable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

const (
	childMode = "WEFT_TOOLS_CHILD"
	childFile = "WEFT_TOOLS_FILE"

	killTurns = 4 // how often the model calls tools before it answers
	killCalls = 4 // how many tools it calls then
)

var (
	killActions = state.Append[tools.Action]("actions")
	killResults = state.Map[string, plan.Result]("results")
)

// stubborn is a model without a memory of its own: what it says follows from the
// conversation alone, so that it is the same in every process.
func stubborn(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	turn := 0
	for _, m := range r.Messages {
		if m.Role == llm.RoleAssistant {
			turn++
		}
	}
	if turn >= killTurns {
		return llm.Reply(llm.Assistant("done"))
	}
	var calls []llm.ToolCall
	for i := range killCalls {
		calls = append(calls, llm.ToolCall{ID: fmt.Sprintf("t%d_%d", turn, i), Name: "work", Arguments: json.RawMessage(`{}`)})
	}
	return llm.Reply(llm.Assistant("", calls...))
}

// working returns a set whose tool says on a line that it runs, waits to be told
// so, and says that it ran.
func working(run func(id string)) (*tools.Set, error) {
	return tools.NewSet(tools.New("work", "Works.", func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := tools.CallFrom(ctx)
		run(call.ID)
		return "result of " + call.ID, nil
	}))
}

// killable returns a graph of model and tool nodes, in one of three shapes.
func killable(mode string, s checkpoint.Store, run func(id string)) (*graph.Graph, error) {
	set, err := working(run)
	if err != nil {
		return nil, err
	}
	o := tools.Options{Once: graph.Once[llm.Message]}
	opts := graph.Options{Checkpoints: s}
	switch mode {
	case "agent": // a task for each call
		return agent.New("killed", llm.ModelFunc(stubborn), set, agent.Options{Tools: o, Graph: opts})
	case "plan": // actions, some of which wait for others
		b := graph.New("killed", agent.Messages, killActions, killResults)
		b.Node("plan", func(context.Context, state.View) (state.Update, error) {
			var all []tools.Action
			for turn := range killTurns {
				for i := range killCalls {
					a := tools.Action{ID: fmt.Sprintf("t%d_%d", turn, i), Tool: "work"}
					if turn > 0 {
						a.DependsOn = []string{fmt.Sprintf("t%d_%d", turn-1, i)}
					}
					all = append(all, a)
				}
			}
			return state.Update{killActions.Put(all...)}, nil
		})
		b.Node("run", plan.Node(set, killActions, killResults, o))
		b.Edge(graph.Start, "plan")
		b.Edge("plan", "run")
		return b.Compile(opts)
	default: // one task for all calls of a turn
		b := graph.New("killed", agent.Messages)
		b.Node("model", func(ctx context.Context, s state.View) (state.Update, error) {
			reply, err := llm.Generate(ctx, llm.ModelFunc(stubborn), llm.Request{Messages: agent.Messages.Get(s), Tools: set.Specs()})
			return state.Update{agent.Messages.Put(reply)}, err
		})
		b.Node("tools", tools.Node(set, agent.Messages, o))
		b.Edge(graph.Start, "model")
		b.Branch("model", func(s state.View) (string, error) {
			if last, _ := agent.Messages.Last(s); len(last.ToolCalls) == 0 {
				return graph.End, nil
			}
			return "tools", nil
		}, "tools", graph.End)
		b.Edge("tools", "model")
		return b.Compile(opts)
	}
}

// worker is the child process: it goes on with the thread until it is done or
// killed. A tool prints its call and waits for any line before it ends.
func worker(mode, file string) error {
	ctx := context.Background()
	store, err := sqlitecheckpoint.Open(ctx, file, sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	in := make(chan struct{})
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			in <- struct{}{}
		}
	}()
	g, err := killable(mode, store, func(id string) {
		if _, err := fmt.Fprintln(os.Stdout, "ran", id); err == nil {
			<-in
		}
	})
	if err != nil {
		return err
	}
	th := g.Thread("t")
	if _, err := th.Snapshot(ctx); err != nil {
		_, err = th.Invoke(ctx, agent.Messages.Put(llm.User("work")))
		return err
	}
	_, err = th.Invoke(ctx)
	return err
}

// onceStore notes the results that are stored: those that a new process finds.
type onceStore struct {
	checkpoint.Store
	stored map[string]bool
}

func (s *onceStore) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.Store.Get(ctx, k)
	text := fmt.Sprintf("%s", []any{c.Lineage, c.Writes}) // bytes as text
	for turn := range killTurns {
		for i := range killCalls {
			id := fmt.Sprintf("t%d_%d", turn, i)
			if strings.Contains(text, "result of "+id) {
				s.stored[id] = true
			}
		}
	}
	return c, err
}

// A graph of model and tool nodes that is killed again and again, and goes on in
// a new process, runs no tool whose result is stored.
func TestKilledGraphRunsNoStoredToolTwice(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"agent", "node", "plan"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			k := killing{mode: mode, file: t.TempDir() + "/weft.db", stored: map[string]bool{}, ran: map[string]int{}}
			kills := 0
			for k.process(t, 1+kills%6) {
				kills++
				k.look(t)
				if kills > 200 {
					t.Fatal("it does not come to an end")
				}
			}
			k.look(t)
			again := 0
			for _, n := range k.ran {
				again += n - 1
			}
			t.Logf("%d kills, %d tools, %d runs of tools whose result was not stored were repeated, %d results were found stored after a kill", kills, len(k.ran), again, k.spared)
			if kills == 0 || k.spared == 0 || len(k.ran) != killTurns*killCalls {
				t.Errorf("%d kills, %d results spared, %d tools ran", kills, k.spared, len(k.ran))
			}
		})
	}
}

type killing struct {
	mode, file string
	stored     map[string]bool // the results that were stored when a process was killed
	ran        map[string]int
	spared     int
}

// process runs a child, lets n tools end and kills it while the next runs. It
// returns false when the child came to its end.
func (k *killing) process(t *testing.T, n int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+k.mode, childFile+"="+k.file)
	var failure strings.Builder
	cmd.Stderr = &failure
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		id, ok := strings.CutPrefix(lines.Text(), "ran ")
		if !ok {
			continue
		}
		k.ran[id]++
		if k.stored[id] {
			t.Errorf("%s ran again, and its result was stored", id)
		}
		if n--; n < 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			return true
		}
		if _, err := io.WriteString(in, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, failure.String())
	}
	return false
}

// look reads from the file what is stored.
func (k *killing) look(t *testing.T) {
	t.Helper()
	store, err := sqlitecheckpoint.Open(t.Context(), k.file, sqlitecheckpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	before := len(k.stored)
	g, err := killable(k.mode, &onceStore{store, k.stored}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Thread("t").Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.spared += len(k.stored) - before
}
