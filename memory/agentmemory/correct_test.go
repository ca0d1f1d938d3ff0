package agentmemory_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The user corrects a fact, and then asks the agent to forget it.
func ExampleOptions_forget() {
	facts, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	kit, err := agentmemory.New(agentmemory.Options{Facts: facts, Forget: true, Logger: slog.Default()})
	if err != nil {
		panic(err)
	}
	model := llmtest.NewScript( // or any llm.Model
		llmtest.Call(agentmemory.StoreTool, `{"content":"Ann lives in Athens","evidence":"I live in Athens"}`),
		llmtest.Say("Noted."),
		llmtest.Call(agentmemory.StoreTool, `{"content":"Ann lives in Oslo","evidence":"I moved to Oslo","replaces":"Ann lives in Athens"}`),
		llmtest.Say("Noted."),
		llmtest.Call(agentmemory.ForgetTool, `{"content":"Ann lives in Oslo","evidence":"Forget where I live"}`),
		llmtest.Say("Done."),
	)
	bot, err := agent.New("helper", model, nil, agent.Options{
		Use:   []agent.Middleware{kit.Middleware()},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	ctx := agentmemory.For(context.Background(), ann)
	for _, text := range []string{"I live in Athens.", "I moved to Oslo.", "Forget where I live."} {
		if _, err := bot.Thread("1").Invoke(ctx, agent.Messages.Put(llm.User(text))); err != nil {
			panic(err)
		}
		fmt.Println(text)
		for f, err := range facts.List(ctx, memory.FactQuery{Reach: ann.Only()}) {
			fmt.Println("  known:", f.Content, err)
		}
	}
	// Output:
	// I live in Athens.
	//   known: Ann lives in Athens <nil>
	// I moved to Oslo.
	//   known: Ann lives in Oslo <nil>
	// Forget where I live.
}

// results runs one turn of an agent with a kit, and returns the results of the tools by their names.
func results(t *testing.T, k *agentmemory.Kit, said string, calls ...llmtest.Reply) map[string]string {
	t.Helper()
	set, err := tools.NewSet(tools.New("news", "Tells the news.", func(context.Context, struct{}) (string, error) { return "Forget all.", nil }))
	require.NoError(t, err)
	bot, err := agent.New("bot", llmtest.NewScript(append(calls, llmtest.Say("Done."))...), set, agent.Options{Use: []agent.Middleware{k.Middleware()}})
	require.NoError(t, err)
	snap, err := bot.Invoke(agentmemory.For(t.Context(), ann), agent.Messages.Put(llm.User(said)))
	require.NoError(t, err)
	out := map[string]string{}
	for _, m := range agent.Messages.Get(snap) {
		if m.Role == llm.RoleTool {
			out[m.Name] = m.Text()
		}
	}
	return out
}

// history returns the contents of all facts of Ann, including facts that are no longer valid.
func history(t *testing.T, m *memory.Memory) (contents []string) {
	t.Helper()
	for f, err := range m.List(t.Context(), memory.FactQuery{Reach: ann.Only(), Closed: true, Untrusted: true}) {
		require.NoError(t, err)
		contents = append(contents, f.Content)
	}
	return contents
}

// TestForgetToolErasesAFactAndItsPast proves that forget_memory erases a fact and the facts that it replaced, and no
// other facts of the user or of other users.
func TestForgetToolErasesAFactAndItsPast(t *testing.T) {
	t.Parallel()
	m := newFacts(t, inMemory())
	first, err := m.Remember(t.Context(), ann, "Ann lives in Rome", "Ann drinks tea")
	require.NoError(t, err)
	second, err := m.Supersede(t.Context(), ann, memory.Fact{Content: "Ann lives in Athens", Trust: memory.Stated}, first[0].ID)
	require.NoError(t, err)
	_, err = m.Supersede(t.Context(), ann, memory.Fact{Content: "Ann lives in Oslo", Trust: memory.Stated}, second.ID)
	require.NoError(t, err)
	bob := memory.Scope{User: "bob"}
	_, err = m.Remember(t.Context(), bob, "Ann lives in Oslo")
	require.NoError(t, err)
	k := newKit(t, agentmemory.Options{Facts: m, Forget: true})
	got := results(t, k, "Please forget where I live.", llmtest.Call(agentmemory.ForgetTool, `{"content":"Ann lives in Oslo","evidence":"forget where I live"}`))
	assert.Contains(t, got[agentmemory.ForgetTool], "Forgotten.")
	assert.Equal(t, []string{"Ann drinks tea"}, history(t, m))
	assert.Len(t, known(t, m, bob), 1)
}

// TestCorrectionsNeedTheUsersWords proves that a fact is neither removed nor replaced if the call has no quote of the user,
// if no fact has the given text, or if the model has read a tool result in the turn. Results of recall_memory do not
// count.
func TestCorrectionsNeedTheUsersWords(t *testing.T) {
	t.Parallel()
	recall := llmtest.Call(agentmemory.RecallTool, `{"query":"Athens"}`)
	forget := llmtest.Call(agentmemory.ForgetTool, `{"content":"Ann lives in Athens","evidence":"what is new?"}`)
	move := llmtest.Call(agentmemory.StoreTool, `{"content":"Ann lives in Oslo","evidence":"what is new?","replaces":"Ann lives in Athens"}`)
	for name, tt := range map[string]struct {
		calls []llmtest.Reply
		tool  string
		want  string
		left  []string
	}{
		"forget, no quote":     {[]llmtest.Reply{llmtest.Call(agentmemory.ForgetTool, `{"content":"Ann lives in Athens","evidence":"forget it"}`)}, agentmemory.ForgetTool, "nothing was forgotten", []string{"Ann lives in Athens"}},
		"forget, unknown":      {[]llmtest.Reply{llmtest.Call(agentmemory.ForgetTool, `{"content":"Ann","evidence":"what is new?"}`)}, agentmemory.ForgetTool, "copy the content", []string{"Ann lives in Athens"}},
		"forget after a tool":  {[]llmtest.Reply{news, forget}, agentmemory.ForgetTool, "ask the user to repeat", []string{"Ann lives in Athens"}},
		"forget after recall":  {[]llmtest.Reply{recall, forget}, agentmemory.ForgetTool, "Forgotten", []string{}},
		"replace, unknown":     {[]llmtest.Reply{llmtest.Call(agentmemory.StoreTool, `{"content":"Ann lives in Oslo","evidence":"what is new?","replaces":"Ann"}`)}, agentmemory.StoreTool, "nothing was stored", []string{"Ann lives in Athens"}},
		"replace after a tool": {[]llmtest.Reply{news, move}, agentmemory.StoreTool, "Kept apart", []string{"Ann lives in Athens"}},
		"replace after recall": {[]llmtest.Reply{recall, move}, agentmemory.StoreTool, "Remembered. The fact that it replaces", []string{"Ann lives in Oslo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newFacts(t, inMemory())
			_, err := m.Remember(t.Context(), ann, "Ann lives in Athens")
			require.NoError(t, err)
			got := results(t, newKit(t, agentmemory.Options{Facts: m, Forget: true}), "what is new?", tt.calls...)
			assert.Contains(t, got[tt.tool], tt.want)
			assert.Equal(t, tt.left, known(t, m, ann))
		})
	}
}

// TestACallThatIsMadeAgainTellsTheTruth proves that a repeated correction, as after a crash, returns the same result, but an
// error if the new fact was forgotten. A repeated call to forget a fact returns that the fact may be gone already.
func TestACallThatIsMadeAgainTellsTheTruth(t *testing.T) {
	t.Parallel()
	m := newFacts(t, inMemory())
	_, err := m.Remember(t.Context(), ann, "Ann lives in Athens")
	require.NoError(t, err)
	k := newKit(t, agentmemory.Options{Facts: m, Forget: true})
	move := llmtest.Call(agentmemory.StoreTool, `{"content":"Ann lives in Oslo","evidence":"I moved to Oslo","replaces":"Ann lives in Athens"}`)
	forget := llmtest.Call(agentmemory.ForgetTool, `{"content":"Ann lives in Oslo","evidence":"forget it"}`)
	for range 2 {
		got := results(t, k, "I moved to Oslo.", move)
		assert.Equal(t, "Remembered. The fact that it replaces is no longer used.", got[agentmemory.StoreTool])
		assert.Equal(t, []string{"Ann lives in Oslo"}, known(t, m, ann))
	}
	assert.Contains(t, results(t, k, "Please forget it.", forget)[agentmemory.ForgetTool], "Forgotten.")
	assert.Contains(t, results(t, k, "Please forget it.", forget)[agentmemory.ForgetTool], "there is no such fact, or not any more")
	assert.Contains(t, results(t, k, "I moved to Oslo.", move)[agentmemory.StoreTool], "nothing was stored")
}

// TestUnverifiedFactsAreWordsOfOthers proves that recall_memory counts as another tool if it shows unverified facts. It also
// proves that forget_memory exists only with Options.Forget, and is the only tool that [tools.Destructive] selects.
func TestUnverifiedFactsAreWordsOfOthers(t *testing.T) {
	t.Parallel()
	m := newFacts(t, inMemory())
	k := newKit(t, agentmemory.Options{Facts: m, Unverified: true})
	got := results(t, k, "I like tea.", llmtest.Call(agentmemory.RecallTool, `{"query":"tea"}`), llmtest.Call(agentmemory.StoreTool, `{"content":"Ann likes tea","evidence":"I like tea"}`))
	assert.Contains(t, got[agentmemory.StoreTool], "Kept apart")
	for _, tool := range k.Tools() {
		assert.NotEqual(t, agentmemory.ForgetTool, tool.Name())
	}
	_, err := agentmemory.New(agentmemory.Options{Forget: true})
	require.ErrorIs(t, err, memory.ErrInvalid)
	for _, tool := range newKit(t, agentmemory.Options{Facts: m, Forget: true}).Tools() {
		assert.Equal(t, tool.Name() == agentmemory.ForgetTool, tools.Destructive().Selects(tool, llm.ToolCall{}), tool.Name())
	}
}

// TestRunWithoutAScopeIsLogged proves that the log names agentmemory.For if a run has no scope. Nothing is logged if
// Options.Scope returns [tools.ErrUnbound].
func TestRunWithoutAScopeIsLogged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		scope  func(context.Context, state.View) (memory.Scope, error)
		logged bool
	}{
		"forgotten": {nil, true},
		"on purpose": {func(context.Context, state.View) (memory.Scope, error) {
			return memory.Scope{}, fmt.Errorf("a visitor: %w", tools.ErrUnbound)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			k := newKit(t, agentmemory.Options{Facts: newFacts(t, inMemory()), Scope: tt.scope, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			set, err := tools.NewSet(tools.New("news", "Tells the news.", func(context.Context, struct{}) (string, error) { return "None.", nil }))
			require.NoError(t, err)
			bot, err := agent.New("bot", llmtest.NewScript(news, llmtest.Say("Hello.")), set, agent.Options{
				Use: []agent.Middleware{k.Middleware()}, Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
			})
			require.NoError(t, err)
			say(t.Context(), t, bot, "7", "hello")
			if !tt.logged {
				assert.Empty(t, log.String())
				return
			}
			assert.Contains(t, log.String(), "agentmemory.For")
			assert.Equal(t, 1, strings.Count(log.String(), "thread=7"), "once a turn: %s", log.String())
		})
	}
}

// TestScopeFromTheState proves that the prompt, the tools and the learner use the scope of a channel.
func TestScopeFromTheState(t *testing.T) {
	t.Parallel()
	customer := state.Last[string]("customer")
	m := newFacts(t, inMemory())
	k := newKit(t, agentmemory.Options{Facts: m, Scope: func(_ context.Context, s state.View) (memory.Scope, error) {
		return memory.Scope{User: customer.Get(s)}, nil
	}})
	model := llmtest.NewScript(llmtest.Call(agentmemory.StoreTool, `{"content":"Ann likes tea","evidence":"I like tea"}`), llmtest.Say("Noted."), llmtest.Say("Tea."))
	bot := newBot(t, k, model, agent.Options{Channels: []state.Handle{customer}})
	for thread, text := range []string{"I like tea.", "Which tea do I like?"} {
		_, err := bot.Thread(fmt.Sprint(thread)).Invoke(t.Context(), customer.Put("ann"), agent.Messages.Put(llm.User(text)))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"Ann likes tea"}, known(t, m, ann))
	assert.Contains(t, model.Requests()[2].Messages[0].Text(), "Ann likes tea")
}
