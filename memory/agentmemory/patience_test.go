package agentmemory_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/extract"
)

// An embedding is an embedder that does as it likes.
type embedding func() [][]float32

func (e embedding) Embed(context.Context, []string) ([][]float32, error) { return e(), nil }
func (embedding) Model() string                                          { return "odd" }
func (embedding) Dimension() int                                         { return 1 }

// odd returns a bot whose embedder does something, that looks and stores before it answers.
func odd(t *testing.T, log *slog.Logger, do func()) func(ctx context.Context, thread string) string {
	t.Helper()
	m, err := memory.New(inMemory(), memory.Options{Embedder: embedding(func() [][]float32 { do(); return [][]float32{{1}} })})
	wantNoErr(t, err)
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

// A turn does not fail for an embedder that panics.
func TestEmbedderPanics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	turn := odd(t, slog.New(slog.NewTextHandler(&log, nil)), func() { panic("ouch") })
	if got := turn(agentmemory.For(t.Context(), ann), "1"); got != "Noted." || !strings.Contains(log.String(), "ouch") {
		t.Errorf("got %q, logged %s", got, log.String())
	}
}

// One that ends its goroutine has failed, and not returned nothing.
func TestEmbedderExits(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	turn := odd(t, slog.New(slog.NewTextHandler(&log, nil)), runtime.Goexit)
	if got := turn(agentmemory.For(t.Context(), ann), "1"); got != "Noted." || !strings.Contains(log.String(), "ended its goroutine") {
		t.Errorf("got %q, logged %s", got, log.String())
	}
}

// A turn does not wait for an embedder that ignores its context, and waits for it once. Later it is asked again.
func TestEmbedderHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pause, calls atomic.Int64
		pause.Store(int64(time.Minute))
		turn := odd(t, nil, func() { calls.Add(1); time.Sleep(time.Duration(pause.Load())) })
		began := time.Now()
		if got := turn(agentmemory.For(t.Context(), ann), "1"); got != "Noted." || time.Since(began) != 2*time.Second || calls.Load() != 1 {
			t.Errorf("got %q after %v and %d calls", got, time.Since(began), calls.Load())
		}
		time.Sleep(time.Minute)
		pause.Store(0)
		if got := turn(agentmemory.For(t.Context(), ann), "2"); got != "Noted." || calls.Load() < 4 {
			t.Errorf("got %q after %d calls", got, calls.Load())
		}
	})
}

// A run in the scope of nobody fails, unless that is meant.
func TestNobody(t *testing.T) {
	t.Parallel()
	nobody := memory.Scope{Tenant: "acme"}
	m := newFacts(t, inMemory())
	learner, err := extract.New(m, extract.Options{Extractor: said})
	wantNoErr(t, err)
	for name, o := range map[string]agentmemory.Options{
		"facts": {Facts: m}, "learner": {Learner: learner},
		"by the options": {Facts: m, Scope: func(context.Context) (memory.Scope, error) { return nobody, nil }},
	} {
		bot := newBot(t, newKit(t, o), llmtest.NewScript(llmtest.Say("Hello.")), agent.Options{})
		_, err := bot.Thread("1").Invoke(agentmemory.For(t.Context(), nobody), agent.Messages.Put(llm.User("hello")))
		if !errors.Is(err, extract.ErrNoUser) || !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	model := llmtest.NewScript(llmtest.Call(agentmemory.StoreTool, `{"content":"The office is in Oslo","evidence":"the office is in Oslo"}`), llmtest.Say("Noted."))
	bot := newBot(t, newKit(t, agentmemory.Options{Facts: m, Learner: learner, Shared: true}), model, agent.Options{})
	if got := say(agentmemory.For(t.Context(), nobody), t, bot, "2", "the office is in Oslo"); got != "Noted." {
		t.Errorf("got %q", got)
	}
	wantNoErr(t, learner.Drain(t.Context()))
	if got := known(t, m, nobody); len(got) != 1 || learner.Stats().Learned != 1 {
		t.Errorf("known is %q, %+v", got, learner.Stats())
	}
}
