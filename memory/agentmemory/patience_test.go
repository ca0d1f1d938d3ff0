package agentmemory_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/state"
)

// An embedding is an embedder that calls a function.
type embedding func() [][]float32

func (e embedding) Embed(context.Context, []string) ([][]float32, error) { return e(), nil }
func (embedding) Model() string                                          { return "odd" }
func (embedding) Dimension() int                                         { return 1 }

// odd returns a function that runs a turn of a bot. The bot recalls and stores a fact before it answers. The
// embedder calls do.
func odd(t *testing.T, log *slog.Logger, do func()) func(ctx context.Context, thread string) string {
	t.Helper()
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: inMemory()}), memory.Options{Embedder: embedding(func() [][]float32 { do(); return [][]float32{{1}} })})
	require.NoError(t, err)
	replies := []llmtest.Reply{
		llmtest.Call(agentmemory.RecallTool, `{"query":"tea"}`),
		llmtest.Call(agentmemory.StoreTool, `{"content":"Likes tea","evidence":"I like tea"}`),
		llmtest.Say("Noted."),
	}
	model := llmtest.NewScript(append(replies, replies...)...)
	k := newKit(t, agentmemory.Options{Facts: m, Logger: log})
	bot := newBot(t, k, model, agent.Options{})
	return func(ctx context.Context, thread string) string {
		return say(ctx, t, bot, thread, "I like tea")
	}
}

// An embedder that panics does not fail a turn.
func TestEmbedderPanics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	turn := odd(t, slog.New(slog.NewTextHandler(&log, nil)), func() { panic("ouch") })
	assert.Equal(t, "Noted.", turn(agentmemory.For(t.Context(), ann), "1"))
	assert.Contains(t, log.String(), "ouch")
}

// An embedder that ends its goroutine has failed.
func TestEmbedderExits(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	turn := odd(t, slog.New(slog.NewTextHandler(&log, nil)), runtime.Goexit)
	assert.Equal(t, "Noted.", turn(agentmemory.For(t.Context(), ann), "1"))
	assert.Contains(t, log.String(), "ended its goroutine")
}

// If an embedder ignores its context, only one turn waits for it. After the call has returned,
// later turns use the embedder again.
func TestEmbedderHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pause, calls atomic.Int64
		pause.Store(int64(time.Minute))
		turn := odd(t, nil, func() { calls.Add(1); time.Sleep(time.Duration(pause.Load())) })
		began := time.Now()
		assert.Equal(t, "Noted.", turn(agentmemory.For(t.Context(), ann), "1"))
		assert.Equal(t, 2*time.Second, time.Since(began))
		assert.EqualValues(t, 1, calls.Load(), "calls of the embedder")
		time.Sleep(time.Minute)
		pause.Store(0)
		assert.Equal(t, "Noted.", turn(agentmemory.For(t.Context(), ann), "2"))
		assert.GreaterOrEqual(t, calls.Load(), int64(4), "calls of the embedder")
	})
}

// A run in a scope without a user fails, unless Options.Shared is set.
func TestNobody(t *testing.T) {
	t.Parallel()
	nobody := memory.Scope{Tenant: "acme"}
	m := newFacts(t, inMemory())
	learner, err := extract.New(m, extract.Options{Extractor: said, Verifier: verdict(true)})
	require.NoError(t, err)
	for name, o := range map[string]agentmemory.Options{
		"facts": {Facts: m}, "learner": {Learner: learner},
		"by the options": {Facts: m, Scope: func(context.Context, state.View) (memory.Scope, error) { return nobody, nil }},
	} {
		bot := newBot(t, newKit(t, o), llmtest.NewScript(llmtest.Say("Hello.")), agent.Options{})
		_, err := bot.Thread("1").Invoke(agentmemory.For(t.Context(), nobody), agent.Messages.Put(llm.User("hello")))
		assert.ErrorIs(t, err, extract.ErrNoUser, name)
		assert.ErrorIs(t, err, memory.ErrInvalid, name)
	}
	model := llmtest.NewScript(llmtest.Call(agentmemory.StoreTool, `{"content":"The office is in Oslo","evidence":"the office is in Oslo"}`), llmtest.Say("Noted."))
	bot := newBot(t, newKit(t, agentmemory.Options{Facts: m, Learner: learner, Shared: true}), model, agent.Options{})
	assert.Equal(t, "Noted.", say(agentmemory.For(t.Context(), nobody), t, bot, "2", "the office is in Oslo"))
	require.NoError(t, learner.Drain(t.Context()))
	assert.Len(t, known(t, m, nobody), 2, "the fact of the tool and the fact of the learner")
	assert.EqualValues(t, 1, learner.Stats().Learned)
}
