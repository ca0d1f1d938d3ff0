package durable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// asStep is an environment variable. If it is set, the test binary executes one step on
// the agent whose store is in the current folder, and exits.
const asStep = "AGENT_TEST_STEP"

// desk returns the agent. Each call of a tool adds a line to the file "calls".
func desk(store *sqlitecheckpoint.Store) (*graph.Graph, error) {
	note := func(text string) error {
		f, err := os.OpenFile("calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(f, text); err != nil {
			return err
		}
		return f.Close()
	}
	look := tools.New("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", note("look") })
	order := tools.New("order", "Orders.", func(_ context.Context, in struct {
		Cups int `json:"cups"`
	},
	) (string, error) {
		return fmt.Sprint("ordered ", in.Cups), note(fmt.Sprint("order ", in.Cups))
	}).Annotate(tools.Annotations{Destructive: true})
	crash := tools.New("crash", "Crashes, once.", func(context.Context, struct{}) (string, error) {
		if _, err := os.Stat("crashed"); err == nil {
			return "fine now", nil
		}
		if err := os.WriteFile("crashed", nil, 0o600); err != nil {
			return "", err
		}
		os.Exit(9) // one task runs at a time, so the result of the first call is stored
		return "", nil
	})
	set, err := tools.NewSet(look, order, crash)
	if err != nil {
		return nil, err
	}
	return agent.New("desk", llm.ModelFunc(deskModel), set, agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}, MaxParallel: 1},
		Graph: graph.Options{Checkpoints: store, MaxParallel: 1},
	})
}

// deskModel calls the tools that the user's message names, and then replies "done". If
// the message is "die", the process exits during the first reply.
func deskModel(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	last := r.Messages[len(r.Messages)-1]
	if last.Text() == "die" {
		return dying
	}
	if last.Role != llm.RoleUser {
		return llmtest.NewScript(llmtest.Say("done")).Stream(ctx, r)
	}
	var calls []llm.ToolCall
	for i, word := range strings.Fields(last.Text()) {
		name, cups, _ := strings.Cut(word, "=")
		c := llm.ToolCall{ID: fmt.Sprint("c", i), Name: name}
		if cups != "" {
			c.Arguments = json.RawMessage(`{"cups":` + cups + `}`)
		}
		calls = append(calls, c)
	}
	return llmtest.NewScript(llmtest.Calls(calls...)).Stream(ctx, r)
}

func dying(yield func(llm.Chunk, error) bool) {
	if !yield(llm.Chunk{Kind: llm.ChunkText, Text: "I live"}, nil) {
		return
	}
	if _, err := os.Stat("died"); err != nil {
		if err := os.WriteFile("died", nil, 0o600); err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		os.Exit(9)
	}
	yield(llm.Chunk{Kind: llm.ChunkEnd, StopReason: llm.StopEnd}, nil)
}

// roles returns the role and text of each message.
func roles(s state.View) string {
	var out []string
	for _, m := range agent.Messages.All(s) {
		entry := string(m.Role)
		if text := m.Text(); text != "" {
			entry += ":" + text
		}
		out = append(out, entry)
	}
	return strings.Join(out, " | ")
}

// takeStep executes one step: "ask WORDS" sends a message, "go" resumes, and "approve N",
// "reject N" or "edit N" answers the question about N cups. It prints the conversation
// and the number of open questions.
func takeStep(step string) int {
	ctx := context.Background()
	store, err := sqlitecheckpoint.Open(ctx, "desk.db", sqlitecheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	g, err := desk(store)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	th := g.Thread("t")
	verb, rest, _ := strings.Cut(step, " ")
	var snap *graph.Snapshot
	switch verb {
	case "ask":
		snap, err = th.Invoke(ctx, agent.Messages.Put(llm.User(rest)))
	case "go":
		snap, err = th.Invoke(ctx)
	default:
		if snap, err = th.Snapshot(ctx); err == nil {
			snap, err = decide(ctx, th, snap, verb, rest)
		}
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	open, _ := agent.Approval.Open(snap)
	fmt.Printf("%s; %d open", roles(snap), len(open))
	return 0
}

func decide(ctx context.Context, th *graph.Thread, snap *graph.Snapshot, verdict, cups string) (*graph.Snapshot, error) {
	open, err := agent.Approval.Open(snap)
	if err != nil {
		return nil, err
	}
	for _, q := range open {
		if string(q.Prompt.Arguments) != `{"cups":`+cups+`}` {
			continue
		}
		d := q.Prompt.Approve()
		switch verdict {
		case "reject":
			d = q.Prompt.Reject("too many")
		case "edit":
			d = q.Prompt.Edit(json.RawMessage(`{"cups":1}`))
		}
		return th.Invoke(ctx, agent.Approval.Answer(q.ID, d))
	}
	return nil, fmt.Errorf("there is no open question about %s cups", cups)
}

// TestAgentResumesInOtherProcesses executes each step in a separate process. It proves
// that waiting calls can be approved, rejected and edited in any order, and that no tool
// with a stored result runs again after a process was killed.
func TestAgentResumesInOtherProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	take := func(step, want string, status int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Dir, cmd.Env = dir, append(os.Environ(), asStep+"="+step)
		out, err := cmd.CombinedOutput()
		require.NotNil(t, cmd.ProcessState, "%s: %v", step, err)
		require.Equal(t, status, cmd.ProcessState.ExitCode(), "%s: %s", step, out)
		require.True(t, strings.HasSuffix(string(out), want), "%s: got %s, want %s", step, out, want)
	}
	take("ask look order=2 order=3 order=4", "; 3 open", 0)
	take("reject 4", "; 2 open", 0)
	take("edit 2", "; 1 open", 0)
	take("approve 3", "| tool:seen | tool:The arguments were changed by a person; the tool ran with {\"cups\":1}\n\nordered 1"+
		" | tool:ordered 3 | tool:a person rejected this call: too many | assistant:done; 0 open", 0)
	take("ask look crash", "", 9)
	take("go", "| tool:seen | tool:fine now | assistant:done; 0 open", 0)
	// If the process exits during a reply, the model is asked again, and the incomplete
	// reply is not stored.
	take("ask die", "", 9)
	take("go", "| assistant:done | user:die | assistant:I live; 0 open", 0)
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	require.NoError(t, err)
	require.Equal(t, strings.Fields("look order 1 order 3 look"), strings.Fields(string(data)))
}
