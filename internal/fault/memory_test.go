//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/learn"
	"github.com/weft-go/weft/memory/pgmemory"
)

// The database of what agents know is away for a minute: no turn fails for it, none waits
// for long, and all that was said meanwhile is known when it is back, once.
func TestMemoryAway(t *testing.T) {
	begin(t)
	server := newServer(t)
	db, err := pgmemory.Open(t.Context(), server.URL(), pgmemory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	facts, err := memory.New(db.Facts(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	learner, err := learn.New(facts, learn.Options{Queue: db.Turns(), Poll: 100 * time.Millisecond, Timeout: 5 * time.Second, Extractor: learn.ExtractorFunc(
		func(_ context.Context, turn learn.Turn) ([]learn.Proposal, error) {
			return []learn.Proposal{{Kind: memory.Plain, Content: turn.User, Evidence: turn.User}}, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	kit, err := agentmemory.New(agentmemory.Options{Facts: facts, Learner: learner})
	if err != nil {
		t.Fatal(err)
	}
	o := kit.Extend(agent.Options{})
	o.Graph.Checkpoints = memcheckpoint.New(memcheckpoint.Options{})
	bot, err := agent.New("bot", llmtest.Echo{}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	working, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { _ = learner.Work(working) }) // it ends with its context

	away := 5 * time.Second
	if long() {
		away = time.Minute
	}
	ann := memory.Scope{User: "ann"}
	const threads = 8
	told := make([]int, threads)
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
				said := fmt.Sprintf("Thread %d has the number %d", n, told[n])
				if _, err := bot.Thread(fmt.Sprint(n)).Invoke(agentmemory.For(t.Context(), ann), agent.Messages.Put(llm.User(said))); err != nil {
					t.Error(err)
					return
				}
				longest[n] = max(longest[n], time.Since(began))
				told[n]++
				<-time.After(100 * time.Millisecond)
			}
		})
	}
	<-time.After(time.Second)
	wantNoErr(t, "stop", server.Stop(fault.Immediate))
	<-time.After(away)
	wantNoErr(t, "start", server.Start(t.Context()))
	<-time.After(time.Second)
	close(over)
	talk.Wait()
	stop()
	work.Wait()
	wantNoErr(t, "drain", learner.Drain(t.Context()))

	all, waited := 0, time.Duration(0)
	for n := range threads {
		all += told[n]
		waited = max(waited, longest[n])
	}
	known := map[string]int{}
	for f, err := range facts.List(t.Context(), memory.Query{Scope: ann, Limit: -1}) {
		wantNoErr(t, "list", err)
		known[f.Content]++
	}
	t.Logf("away for %v: %d turns, none failed, the longest took %v; %d facts; %+v", away, all, waited.Round(time.Millisecond), len(known), learner.Stats())
	for n := range threads {
		for i := range told[n] {
			if said := fmt.Sprintf("Thread %d has the number %d", n, i); known[said] != 1 {
				t.Errorf("%q is known %d times", said, known[said])
			}
		}
	}
	if len(known) != all {
		t.Errorf("%d facts are known, want %d", len(known), all)
	}
	if most := 10 * time.Second; waited > most {
		t.Errorf("a turn took %v, want %v at most", waited, most)
	}
}
