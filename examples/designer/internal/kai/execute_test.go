package kai_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/offline"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
)

func mine(agent string) memory.Scope {
	return memory.Scope{Workspace: "w", User: "ann", Agent: agent}
}

func list(t *testing.T, p *kai.Platform, q memory.FactQuery) (out []string) {
	t.Helper()
	for f, err := range p.Facts.List(t.Context(), q) {
		check(t, err)
		out = append(out, f.Content)
	}
	return out
}

// spy records the calls of a platform to its parts, in order.
type spy struct {
	mu    sync.Mutex
	steps []string
}

func (s *spy) note(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step)
}

// facts, checkpoints and queue record their calls in the spy.
type (
	facts struct {
		driver.FactStore
		*spy
	}
	checkpoints struct {
		checkpoint.Store
		*spy
	}
	queue struct {
		driver.TurnStore
		*spy
	}
)

func (f facts) Find(ctx context.Context, q memory.FactQuery) iter.Seq2[memory.FactRecord, error] {
	f.note("recall")
	return f.FactStore.Find(ctx, q)
}

func (c checkpoints) Put(ctx context.Context, p checkpoint.Checkpoint, head string) error {
	err := c.Store.Put(ctx, p, head)
	c.note("persist " + p.Thread)
	return err
}

func (q queue) Enqueue(ctx context.Context, j extract.Job) error {
	q.note("enqueue")
	return q.TurnStore.Enqueue(ctx, j)
}

// Execute recalls facts, selects the model, stores checkpoints, enqueues the turn and returns. The learner learns the
// turn afterwards.
func TestExecuteOrder(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, where := &spy{}, newPlace(t)
			model := llm.ModelFunc(nil)
			script := llmtest.NewScript(llmtest.Say("Noted."))
			model = script.Stream
			p := where.platform(t, nil, func(p *kai.Parts) {
				store, turns := where.queue(t)
				var err error
				p.Facts, err = memory.New(inmemory.Fill(driver.Stores{FactStore: facts{store, s}}), memory.Options{})
				check(t, err)
				p.Learner, err = extract.New(p.Facts, extract.Options{Queue: queue{turns, s}, Verifier: offline.Verifier, Extractor: extract.ExtractorFunc(func(ctx context.Context, turn extract.Turn) ([]extract.Proposal, error) {
					s.note("extract")
					return offline.Extractor(ctx, turn)
				})})
				check(t, err)
				p.Checkpoints = checkpoints{p.Checkpoints, s}
				p.Model = func(c kai.Config) (llm.Model, error) {
					s.note("select model of " + c.Name)
					return model, nil
				}
			})
			_, err := p.Facts.Store(t.Context(), mine("scout"), memory.Fact{Kind: memory.Preference, Content: "Prefers modern minimalist style", Trust: memory.Stated})
			check(t, err)
			r, err := p.Execute(t.Context(), turn("We are working on a hotel lobby."), func(c kai.Chunk) {
				if c.Kind == agent.ChunkEnd {
					s.note("return")
				}
			})
			check(t, err)
			check(t, p.Learner.Drain(t.Context()))
			want := []string{"recall", "select model of Kai, interior designer", "persist kai-c1", "enqueue", "persist kai-c1", "return", "extract"}
			if steps := slices.Compact(s.steps); len(steps) < len(want) || !slices.Equal(steps[:len(want)], want) {
				t.Errorf("the steps are %q, want %q", steps, want)
			}
			if prompt := script.Requests()[0].Messages[0].Text(); !strings.HasPrefix(prompt, p.Agents["kai"].Prompt) || !strings.Contains(prompt, "Prefers modern minimalist style") {
				t.Errorf("the prompt is %q", prompt)
			}
			if r.ThreadID != "kai-c1" || r.Reason != kai.Answered || *r.Response != "Noted." {
				t.Errorf("got %+v", r)
			}
			if got := list(t, p, memory.FactQuery{Reach: mine("kai").Only()}); !reflect.DeepEqual(got, []string{"We are working on a hotel lobby"}) {
				t.Errorf("learned %q", got)
			}
		})
	}
}

// A turn begins with one message and with counters at zero. Earlier messages come from the checkpoint.
func TestInitialState(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newPlace(t)
			script := llmtest.NewScript(costing(calls("search_products", searchCall), 10, 2), costing(llmtest.Say("One."), 20, 3), costing(llmtest.Say("Two."), 7, 1))
			first := run(t, where.platform(t, script), turn("first"))
			if first.InputTokens != 30 || first.OutputTokens != 5 || first.TotalTokens != 35 || len(first.Products) != 2 || first.Iterations != 2 || first.Turns != 1 {
				t.Errorf("first: %+v", first)
			}
			second := run(t, where.platform(t, script), turn("second")) // a new platform, as in another process
			if second.TotalTokens != 8 || len(second.Products) != 0 || second.Iterations != 1 || second.Turns != 2 || *second.Response != "Two." {
				t.Errorf("second: %+v", second)
			}
			var roles []string
			for _, m := range script.Requests()[2].Messages {
				roles = append(roles, string(m.Role))
			}
			if got := strings.Join(roles, " "); got != "system user assistant tool assistant user" {
				t.Errorf("the model saw %s", got)
			}
		})
	}
}

// The thread's id is the agent's id, a dash, and the conversation's id, or a new UUID without a conversation.
func TestThreadID(t *testing.T) {
	t.Parallel()
	p := sqlitePlace(t).platform(t, llmtest.NewScript(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c")))
	if r := run(t, p, turn("hi")); r.ThreadID != "kai-c1" || r.ConversationID != "c1" {
		t.Errorf("got %+v", r)
	}
	form := regexp.MustCompile(`^kai-[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 2 {
		r := run(t, p, kai.Turn{User: "ann", Agent: "kai", Input: "hi"})
		if !form.MatchString(r.ThreadID) || seen[r.ThreadID] || r.Turns != 1 || "kai-"+r.ConversationID != r.ThreadID {
			t.Errorf("got %+v", r)
		}
		seen[r.ThreadID] = true
	}
}

func TestUnknownAgent(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Say("x"))
	p := sqlitePlace(t).platform(t, script)
	in := turn("hi")
	in.Agent = "nobody"
	_, err := p.Execute(t.Context(), in, nil)
	if !errors.Is(err, kai.ErrUnknownAgent) || !strings.Contains(err.Error(), `"nobody"`) || len(script.Requests()) != 0 {
		t.Errorf("got %v, the model was asked %d times", err, len(script.Requests()))
	}
	if _, err := p.Studio.Conversation(t.Context(), "ann", "c1"); err == nil {
		t.Error("a conversation was begun")
	}
}

// onChunk gets every chunk of a run, also of a run that fails.
func TestChunks(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		costing(calls("search_products", searchCall), 10, 2),
		costing(calls("generate3D", sceneCall), 10, 2),
		costing(llmtest.Say("Here it is, all of it."), 20, 3),
		llmtest.Fail(llm.ErrOverloaded),
	)
	p := sqlitePlace(t).platform(t, script, func(p *kai.Parts) {
		c := p.Agents["kai"]
		c.Critical = []string{"submitOrder"}
		p.Agents["kai"] = c
	})
	var chunks []kai.Chunk
	r, err := p.Execute(t.Context(), turn("go"), func(c kai.Chunk) { chunks = append(chunks, c) })
	check(t, err)
	n := kinds(chunks)
	for kind, want := range map[agent.ChunkKind]int{
		agent.ChunkNodeStarted: 5, agent.ChunkNodeFinished: 5, agent.ChunkTurn: 3, agent.ChunkUsage: 3,
		agent.ChunkToolStarted: 2, agent.ChunkToolFinished: 2, kai.ProductsFound: 1, kai.JobStarted: 1, kai.FinalAnswer: 1, agent.ChunkEnd: 1,
	} {
		if n[kind] != want {
			t.Errorf("%s came %d times, want %d", kind, n[kind], want)
		}
	}
	var text, arguments strings.Builder
	total := int64(0)
	for _, c := range chunks {
		total += c.Usage.Total
		arguments.WriteString(c.Delta.Arguments)
		switch c.Kind {
		case agent.ChunkText:
			text.WriteString(c.Text)
		case kai.FinalAnswer:
			if c.Text != "Here it is, all of it." {
				t.Errorf("the final answer is %q", c.Text)
			}
		case kai.ProductsFound:
			if len(c.Products) != 2 || c.Products[0].ID != "P042" {
				t.Errorf("the products are %+v", c.Products)
			}
		case kai.JobStarted:
			if c.Job.ID != r.GenerationJob.ID {
				t.Errorf("the job is %+v", c.Job)
			}
		}
	}
	if text.String() != "Here it is, all of it." || n[agent.ChunkText] < 2 || total != 47 || r.TotalTokens != 47 || !strings.Contains(arguments.String(), `"max_price":700`) {
		t.Errorf("the text is %q in %d pieces, %d tokens, arguments %q", text.String(), n[agent.ChunkText], total, arguments.String())
	}
	chunks = nil
	_, err = p.Execute(t.Context(), turn("again"), func(c kai.Chunk) { chunks = append(chunks, c) })
	if last := chunks[len(chunks)-1]; !errors.Is(err, llm.ErrOverloaded) || last.Kind != agent.ChunkError || last.Problem == "" {
		t.Errorf("a failure ends with %+v, %v", last, err)
	}
}

// The result sums the usage of all replies. A reply without usage counts as zero.
func TestUsage(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		costing(calls("search_products", searchCall), 100, 20), calls("search_products", searchCall), costing(llmtest.Say("x"), 50, 5),
	)
	r := run(t, sqlitePlace(t).platform(t, script), turn("go"))
	if r.InputTokens != 150 || r.OutputTokens != 25 || r.TotalTokens != 175 || r.Iterations != 3 {
		t.Errorf("got %+v", r)
	}
}

// Execute returns before the learner learns the turn. Learning continues after the turn's context has ended.
func TestLearnedAfterTheTurn(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, goOn := make(chan struct{}), make(chan struct{})
			where := newPlace(t)
			p := where.platform(t, llmtest.NewScript(llmtest.Say("Fine.")), func(p *kai.Parts) {
				store, turns := where.queue(t)
				var err error
				p.Facts, err = memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
				check(t, err)
				p.Learner, err = extract.New(p.Facts, extract.Options{Queue: turns, Verifier: offline.Verifier, Extractor: extract.ExtractorFunc(func(ctx context.Context, turn extract.Turn) ([]extract.Proposal, error) {
					close(begun)
					<-goOn
					return offline.Extractor(ctx, turn)
				})})
				check(t, err)
			})
			ctx, cancel := context.WithCancel(t.Context())
			var work sync.WaitGroup
			work.Go(func() { _ = p.Learner.Work(ctx) })
			defer func() { cancel(); work.Wait() }()
			turnCtx, over := context.WithCancel(t.Context())
			if _, err := p.Execute(turnCtx, turn("My client is ABC Corp."), nil); err != nil {
				t.Fatal(err)
			}
			over()
			select {
			case <-begun:
			case <-time.After(time.Minute):
				t.Fatal("nothing is learned")
			}
			if got := list(t, p, memory.FactQuery{Reach: mine("kai").Only()}); len(got) != 0 {
				t.Errorf("known already: %q", got)
			}
			close(goOn)
			check(t, p.Learner.Drain(t.Context()))
			if got := list(t, p, memory.FactQuery{Reach: mine("kai").Only(), Kinds: []memory.Kind{memory.Relationship}}); !reflect.DeepEqual(got, []string{"My client is ABC Corp"}) {
				t.Errorf("learned %q", got)
			}
		})
	}
}

// A failure to recall facts or to learn a turn does not fail the turn.
func TestMemoryFails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := sqlitePlace(t).platform(t, llmtest.NewScript(llmtest.Say("Fine.")), func(p *kai.Parts) {
		var err error
		p.Logger = slog.New(slog.NewTextHandler(&log, nil))
		p.Facts, err = memory.New(inmemory.Fill(driver.Stores{FactStore: broken{inmemory.NewFacts(inmemory.Options{})}}), memory.Options{})
		check(t, err)
		p.Learner, err = extract.New(p.Facts, extract.Options{Attempts: 1, Logger: p.Logger, Extractor: extract.ExtractorFunc(func(context.Context, extract.Turn) ([]extract.Proposal, error) {
			return nil, errors.New("no model")
		})})
		check(t, err)
	})
	r, err := p.Execute(t.Context(), turn("I prefer oak."), nil)
	if err != nil || *r.Response != "Fine." {
		t.Fatalf("got %+v, %v", r, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	check(t, p.Learner.Drain(ctx)) // a parked turn is no error
	if s := p.Learner.Stats(); s.Failed != 1 || s.Parked != 1 {
		t.Errorf("the statistics are %+v", s)
	}
	for _, want := range []string{"goes on without what is known", "memory is away", "no model"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q: %s", want, log.String())
		}
	}
}

type broken struct{ driver.FactStore }

func (broken) Search(context.Context, driver.FactSearch) (driver.FactCandidates, error) {
	return driver.FactCandidates{}, errors.New("memory is away")
}

func (broken) Find(context.Context, memory.FactQuery) iter.Seq2[memory.FactRecord, error] {
	return func(yield func(memory.FactRecord, error) bool) {
		yield(memory.FactRecord{}, errors.New("memory is away"))
	}
}

// Another process can answer a question of a turn and resume the turn. Calls with stored results do not run again.
func TestAnotherPlatformGoesOn(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newPlace(t)
			script := llmtest.NewScript(
				calls("search_products", searchCall, "createQuote", `{"items":[{"product_id":"P042","quantity":2}]}`),
				llmtest.Fail(llm.ErrOverloaded), llmtest.Say("Quoted."),
			)
			r, err := where.platform(t, script).Execute(t.Context(), turn("go"), nil)
			check(t, err)
			if r.Reason != kai.Waiting || len(r.Waits) != 1 || r.Waits[0].Question.Tool != "createQuote" || len(r.Products) != 2 {
				t.Fatalf("got %+v", r)
			}
			second := where.platform(t, script)
			var failed error
			for _, err := range second.Answer(t.Context(), turn(""), r.Waits[0].ID, r.Waits[0].Question.Approve()) {
				failed = err
			}
			if !errors.Is(failed, llm.ErrOverloaded) {
				t.Fatalf("got %v", failed)
			}
			third := where.platform(t, script)
			for c, err := range third.Resume(t.Context(), turn("")) {
				check(t, err)
				if c.Kind == agent.ChunkToolStarted {
					t.Errorf("%s ran again", c.Call.Name)
				}
				r = cmp.Or(c.Result, r)
			}
			if r.Reason != kai.Answered || *r.Response != "Quoted." || len(r.Products) != 2 {
				t.Errorf("got %+v", r)
			}
			for _, err := range third.Resume(t.Context(), turn("")) {
				check(t, err) // there is nothing to do
			}
			if script.Remaining() != 0 || len(script.Requests()) != 3 {
				t.Errorf("the model was asked %d times", len(script.Requests()))
			}
		})
	}
}

// A quote can be ordered once. A user cannot order the quote of another user or use the other's conversation.
func TestOrderOnce(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := newPlace(t)
			p := where.platform(t, offline.Model{})
			r := run(t, p, turn("quote 6 of P042"))
			id := regexp.MustCompile(`Q-[0-9a-f]+`).FindString(*r.Response)
			if !strings.Contains(*r.Response, "Total: 3,240 €") {
				t.Errorf("got %s", *r.Response)
			}
			run(t, p, turn("order "+id))
			r = run(t, p, turn("order "+id))
			if !strings.Contains(*r.Response, "was ordered before") {
				t.Errorf("the second order: %s", *r.Response)
			}
			orders, err := p.Orders(t.Context(), "ann")
			if err != nil || len(orders) != 1 || orders[0].QuoteID != id || orders[0].Total != 3240 {
				t.Errorf("the orders are %+v, %v", orders, err)
			}
			other := kai.Turn{User: "bob", Workspace: "w", Agent: "kai", Conversation: "c2", Input: "order " + id}
			if r = run(t, p, other); !strings.Contains(*r.Response, "there is no quote") {
				t.Errorf("bob: %s", *r.Response)
			}
			other.Conversation = "c1"
			if _, err := p.Execute(t.Context(), other, nil); err == nil {
				t.Error("bob speaks in ann's conversation")
			}
		})
	}
}

func TestReadConfigs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:          "unexpected EOF",
		`{}`:         "there are none",
		`{"a":{}}`:   "needs a name and a prompt",
		`{"a-b":{}}`: "an id is",
		`{"a":{"name":"A","prompt":"p","tolls":[]}}`: "tolls",
	} {
		if _, err := kai.ReadConfigs([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	c, err := kai.ReadConfigs([]byte(`{"a":{"name":"A","prompt":"p","tools":["fly"]}}`))
	check(t, err)
	own, err := catalogue.Own()
	check(t, err)
	if _, err := kai.New(kai.Parts{Agents: c, Catalogue: own}); err == nil || !strings.Contains(fmt.Sprint(err), `there is no tool "fly"`) {
		t.Errorf("got %v", err)
	}
}
