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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

	killTurns = 4 // the number of messages with calls before the model answers
	killCalls = 4 // the number of calls in each of these messages
)

var (
	killActions = state.Append[tools.Action]("actions")
	killResults = state.Map[string, plan.Result]("results")
)

// stubborn is a model whose replies depend only on the conversation, so that they are the same
// in every process.
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

// working returns a set with one tool, which calls run with the id of its call and then
// returns a result that names the id.
func working(run func(id string)) (*tools.Set, error) {
	return tools.NewSet(tools.New("work", "Works.", func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := tools.CallFrom(ctx)
		run(call.ID)
		return "result of " + call.ID, nil
	}))
}

// killable returns a graph that calls the tool: an agent, a graph with a plan node, or a
// graph with a model node and a tool node.
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

// worker runs in the child process. It runs or resumes the thread until the thread is done or
// the process is killed. A tool prints the id of its call and waits for a line of input.
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

// A resultRecorder records the results that a new process finds in the store.
type resultRecorder struct {
	checkpoint.Store
	stored map[string]bool
}

func (s *resultRecorder) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
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

// TestKilledGraphRunsNoStoredToolTwice kills a graph many times and resumes it in a new process
// each time. It proves that no tool runs again whose result was stored.
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
				require.LessOrEqual(t, kills, 200, "the graph does not end")
			}
			k.look(t)
			again := 0
			for _, n := range k.ran {
				again += n - 1
			}
			t.Logf("%d kills, %d tools, %d runs of tools whose result was not stored were repeated, %d results were found stored after a kill", kills, len(k.ran), again, k.spared)
			assert.NotZero(t, kills)
			assert.NotZero(t, k.spared)
			assert.Len(t, k.ran, killTurns*killCalls)
		})
	}
}

type killing struct {
	mode, file string
	stored     map[string]bool // the calls whose results were stored when a process was killed
	ran        map[string]int  // the number of runs by call
	spared     int             // the number of results that were found after a kill
}

// process runs a child process, lets n tools end, and kills it while the next tool runs. It
// returns false if the child process ended before.
func (k *killing) process(t *testing.T, n int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+k.mode, childFile+"="+k.file)
	var failure strings.Builder
	cmd.Stderr = &failure
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		id, ok := strings.CutPrefix(lines.Text(), "ran ")
		if !ok {
			continue
		}
		k.ran[id]++
		assert.False(t, k.stored[id], "%s ran again although its result is stored", id)
		if n--; n < 0 {
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait() // the error says that the process was killed
			return true
		}
		_, err := io.WriteString(in, "go\n")
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Wait(), failure.String())
	return false
}

// look reads the thread from the store, and records the results that it finds there.
func (k *killing) look(t *testing.T) {
	t.Helper()
	store, err := sqlitecheckpoint.Open(t.Context(), k.file, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	defer store.Close()
	before := len(k.stored)
	g, err := killable(k.mode, &resultRecorder{store, k.stored}, nil)
	require.NoError(t, err)
	_, err = g.Thread("t").Snapshot(t.Context())
	require.NoError(t, err)
	k.spared += len(k.stored) - before
}
