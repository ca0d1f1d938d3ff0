//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/pgmemory"
)

// The test stops the database of an agent's memory. No turn fails or waits for long. After
// the restart of the database the memory learns every message once.
func TestAgentTurnsSurviveAnOutageOfTheMemory(t *testing.T) {
	begin(t)
	server := newServer(t)
	db, err := pgmemory.Open(t.Context(), server.URL(), pgmemory.Options{})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	facts, err := memory.New(db, memory.Options{})
	require.NoError(t, err)
	learner, err := extract.New(facts, extract.Options{Queue: db.Turns(), Poll: 100 * time.Millisecond, Timeout: 5 * time.Second, Extractor: extract.ExtractorFunc(
		func(_ context.Context, turn extract.Turn) ([]extract.Proposal, error) {
			return []extract.Proposal{{Kind: memory.Plain, Content: turn.User, Evidence: turn.User}}, nil
		})})
	require.NoError(t, err)
	kit, err := agentmemory.New(agentmemory.Options{Facts: facts, Learner: learner})
	require.NoError(t, err)
	o := agent.Options{Use: []agent.Middleware{kit.Middleware()}}
	o.Graph.Checkpoints = memcheckpoint.New(memcheckpoint.Options{})
	bot, err := agent.New("bot", llmtest.Echo{}, nil, o)
	require.NoError(t, err)
	working, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { _ = learner.Work(working) }) // returns the error of its context

	away := 5 * time.Second
	if long() {
		away = time.Minute
	}
	ann := memory.Scope{User: "ann"}
	const threads = 8
	sent := make([]int, threads)
	longest := make([]time.Duration, threads)
	over := make(chan struct{})
	var talk sync.WaitGroup
	for n := range threads {
		talk.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				began := time.Now()
				said := fmt.Sprintf("Thread %d has the number %d", n, sent[n])
				_, err := bot.Thread(fmt.Sprint(n)).Invoke(agentmemory.For(t.Context(), ann), agent.Messages.Put(llm.User(said)))
				if !assert.NoError(t, err) {
					return
				}
				longest[n] = max(longest[n], time.Since(began))
				sent[n]++
				<-time.After(100 * time.Millisecond)
			}
		})
	}
	<-time.After(time.Second)
	assert.NoError(t, server.Stop(fault.Immediate), "stop")
	<-time.After(away)
	assert.NoError(t, server.Start(t.Context()), "start")
	<-time.After(time.Second)
	close(over)
	talk.Wait()
	stop()
	work.Wait()
	assert.NoError(t, learner.Drain(t.Context()), "drain")

	all, waited := 0, time.Duration(0)
	for n := range threads {
		all += sent[n]
		waited = max(waited, longest[n])
	}
	known := map[string]int{}
	for f, err := range facts.List(t.Context(), memory.FactQuery{Reach: ann.Only(), Untrusted: true, Limit: -1}) {
		assert.NoError(t, err, "list")
		known[f.Content]++
	}
	t.Logf("away for %v: %d turns, none failed, the longest took %v; %d facts; %+v", away, all, waited.Round(time.Millisecond), len(known), learner.Stats())
	for n := range threads {
		for i := range sent[n] {
			said := fmt.Sprintf("Thread %d has the number %d", n, i)
			assert.Equal(t, 1, known[said], "facts with the text %q", said)
		}
	}
	assert.Len(t, known, all, "facts")
	assert.LessOrEqual(t, waited, 10*time.Second, "the longest turn")
}
