package research_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/offline"
	"github.com/weft-go/weft/examples/research/internal/research"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// onStores runs a test on each store.
func onStores(t *testing.T, test func(*testing.T, checkpoint.Store)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		store, err := sqlitecheckpoint.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"), sqlitecheckpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, store)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		store, err := pgcheckpoint.Open(t.Context(), pgtest.URL(t), pgcheckpoint.Options{Schema: pgtest.Schema(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		test(t, store)
	})
}

const text = "The library wants 40 chairs. They must be red. Offers are due on 2027-01-31."

// config returns a configuration with the document "d".
func config(store checkpoint.Store) research.Config {
	return research.Config{Model: offline.Model{}, Store: store, Load: func(_ context.Context, id string) (document.File, error) {
		switch id {
		case "d":
			return document.File{ID: id, Name: "chairs.txt", Text: text}, nil
		case "broken":
			return document.File{}, errors.New("the disk is gone")
		}
		return document.File{}, document.ErrNotFound
	}}
}

func newAgent(t *testing.T, c research.Config) *research.Agent {
	t.Helper()
	a, err := research.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The graph has three nodes, and these edges.
func TestTopology(t *testing.T) {
	t.Parallel()
	d := newAgent(t, config(nil)).Graph().Describe()
	var nodes, edges []string
	for _, n := range d.Nodes {
		nodes = append(nodes, n.Name)
	}
	for _, e := range d.Edges {
		edges = append(edges, fmt.Sprintf("%s %s %s", e.From, e.Kind, e.To))
	}
	slices.Sort(edges)
	want := []string{
		"__start__ edge documentLoader", "deepResearch branch __end__", "deepResearch branch solutionSought",
		"documentLoader branch __end__", "documentLoader branch deepResearch", "solutionSought edge __end__",
	}
	if !slices.Equal(nodes, []string{"deepResearch", "documentLoader", "solutionSought"}) || !slices.Equal(edges, want) {
		t.Errorf("got nodes %q, edges %q", nodes, edges)
	}
}

// ran returns the nodes that a run of a thread has run.
func ran(t *testing.T, events iter.Seq2[graph.Event, error]) (nodes []string) {
	t.Helper()
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := e.(graph.TaskStarted); ok {
			nodes = append(nodes, s.At().Node)
		}
	}
	return nodes
}

// The nodes that run depend on the status of the thread.
func TestRoutes(t *testing.T) {
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		a := newAgent(t, config(store))
		for id, want := range map[string][]string{"d": {"documentLoader", "deepResearch", "solutionSought"}, "none": {"documentLoader"}} {
			if got := ran(t, a.Graph().Thread(id).Stream(t.Context(), research.Initial(id))); !slices.Equal(got, want) {
				t.Errorf("document %s: ran %q want %q", id, got, want)
			}
		}
		for complete, want := range map[bool][]string{true: {"solutionSought"}, false: nil} {
			thread := a.Graph().Thread(fmt.Sprint("research complete ", complete))
			snap, err := thread.Update(t.Context(), "deepResearch", research.Progress.Put(research.Status{DocumentLoaded: true, ResearchComplete: complete}))
			if err != nil {
				t.Fatal(err)
			}
			if snap.Done() == complete {
				t.Errorf("complete %t: done %t", complete, snap.Done())
			}
			if got := ran(t, thread.Stream(t.Context())); !slices.Equal(got, want) {
				t.Errorf("complete %t: ran %q want %q", complete, got, want)
			}
		}
	})
}

// A run begins with the document's id. Without a thread it stores nothing.
func TestInvoke(t *testing.T) {
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		a := newAgent(t, config(store))
		r := a.Invoke(t.Context(), "d", "")
		if !r.Success || r.Error != "" || r.Err() != nil || !r.State.Status.SolutionSought || r.State.RFPDocument.Text != text {
			t.Fatalf("got %+v", r)
		}
		threads := 0
		for _, err := range store.(checkpoint.ThreadLister).ListThreads(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			threads++
		}
		if threads != 0 {
			t.Errorf("without a thread %d were kept", threads)
		}
		for e, err := range a.Graph().Thread("t").Stream(t.Context(), research.Initial("d")) {
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := e.(graph.RunStarted); ok {
				data, err := json.Marshal(research.RFPDocument.Get(s.State))
				if err != nil || string(data) != `{"id":"d","text":"","metadata":{}}` {
					t.Errorf("it begins with %s, error %v", data, err)
				}
			}
		}
		if s := a.Invoke(t.Context(), "d", "t2"); !s.Success || !reflect.DeepEqual(s.State.Findings, r.State.Findings) {
			t.Errorf("got %+v", s)
		}
		if snap, err := a.Snapshot(t.Context(), "t2"); err != nil || !snap.Done() {
			t.Errorf("the thread was not kept: %v", err)
		}
	})
}

// The result has the error of a run, even if the run panicked.
func TestInvokeFails(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	panics := config(store)
	panics.Model = llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] { panic("oh") })
	noModel := config(store)
	noModel.Model = nil
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		config research.Config
		id     string
		want   string
	}{
		"a model that panics": {t.Context(), panics, "d", "oh"},
		"no model":            {t.Context(), noModel, "d", "no model"},
		"a broken folder":     {t.Context(), config(store), "broken", "the disk is gone"},
		"who has gone":        {cancelled, config(store), "d", "context canceled"},
	} {
		a := newAgent(t, c.config)
		for _, r := range []research.Result{a.Invoke(c.ctx, c.id, ""), a.Invoke(c.ctx, c.id, name)} {
			data, err := json.Marshal(r)
			if err != nil || r.Success || r.State != nil || r.Err() == nil || !strings.Contains(r.Error, c.want) || !strings.HasPrefix(string(data), `{"success":false,"error":"`) {
				t.Errorf("%s: got %s, error %v", name, data, err)
			}
		}
	}
	if r := newAgent(t, config(store)).Continue(t.Context(), "none"); r.Success || !errors.Is(r.Err(), graph.ErrNoInput) {
		t.Errorf("a thread that is not there: got %+v", r)
	}
}

// failsAt is the offline model, which fails a request once.
type failsAt struct {
	at    int
	asked int
}

func (f *failsAt) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	if f.asked++; f.asked == f.at {
		return func(yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, llm.ErrOverloaded) }
	}
	return offline.Model{}.Stream(ctx, r)
}

// Continue resumes a thread from its stored state.
func TestContinue(t *testing.T) {
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		c := config(store)
		model := &failsAt{at: 4}
		c.Model = model
		if r := newAgent(t, c).Invoke(t.Context(), "d", "t"); r.Success {
			t.Fatal("it did not fail")
		}
		r := newAgent(t, c).Continue(t.Context(), "t")
		if !r.Success || !r.State.Status.SolutionSought || len(r.State.Findings) != 6 || r.State.RFPDocument.Text != text {
			t.Errorf("got %+v", r)
		}
		if model.asked != 8 { // six topics, the solution, and the one that failed
			t.Errorf("the model was asked %d times want 8", model.asked)
		}
		again := newAgent(t, c).Continue(t.Context(), "t")
		if !reflect.DeepEqual(again.State, r.State) || model.asked != 8 {
			t.Errorf("what had ended: got %+v after %d requests", again, model.asked)
		}
	})
}

// long is a question of about n tokens.
func long(i, n int) string {
	return fmt.Sprintf("Question %d? ", i) + strings.Repeat("chairs ", n)
}

// Each run appends to the conversation and prunes it, also in storage.
func TestConversationIsPruned(t *testing.T) {
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		a := newAgent(t, config(store))
		if r := a.Invoke(t.Context(), "d", "t"); !r.Success {
			t.Fatal(r.Error)
		}
		for i := range 12 {
			before, err := a.Snapshot(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			question := llm.User(long(i, 700))
			if r := a.Run(t.Context(), "t", research.Messages.Put(question)); !r.Success {
				t.Fatal(r.Error)
			}
			after, err := a.Snapshot(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			got := research.Messages.Get(after)
			reply := got[len(got)-1]
			want := llm.Prune(append(llm.Prune(append(research.Messages.Get(before), got[len(got)-2]), llm.Pruning{}), reply), llm.Pruning{})
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("after question %d: got %v want %v", i, got, want)
			}
			total := 0
			for _, m := range got {
				total += llm.EstimateTokens(m)
			}
			if got[0].Role != llm.RoleSystem || total > llm.DefaultMaxTokens || got[len(got)-2].Text() != question.Text() {
				t.Errorf("after question %d: %d tokens, the first is %s", i, total, got[0].Role)
			}
		}
	})
}

// The reducer of a conversation appends new messages to the old ones, if there are any, and then prunes them by its
// options.
func TestPruningReducer(t *testing.T) {
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		count := llm.TokenCounterFunc(func(llm.Message) int { return 10 })
		options := llm.Pruning{MaxTokens: 40, MinMessages: 2, Counter: count}
		talk := state.Keyed("talk", llm.ByID).Prune(func(m []llm.Message) []llm.Message { return llm.Prune(m, options) })
		b := graph.New("reducer", talk)
		b.Node("say", func(context.Context, state.View) (state.Update, error) { return nil, nil })
		b.Edge(graph.Start, "say")
		b.Edge("say", graph.End)
		g, err := b.Compile(graph.Options{Checkpoints: store})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"a", "abc", "abcd", "bcde", "fgh"} {
			var said []llm.Message
			for _, c := range []string{"a", "bc", "d", "e", "fgh"}[i] {
				said = append(said, llm.User(string(c)))
			}
			if i == 4 {
				options.MaxTokens = 30
			}
			if _, err := g.Thread("t").Invoke(t.Context(), talk.Put(said...)); err != nil {
				t.Fatal(err)
			}
			snap, err := g.Thread("t").Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, m := range talk.Get(snap) {
				got += m.Text()
			}
			if got != want {
				t.Errorf("after %d: got %q want %q", i+1, got, want)
			}
		}
	})
}

// By default, pruning removes the oldest messages beyond 4,000 tokens. It keeps the last four messages and the system
// messages, and makes no summary.
func TestPruningDefaults(t *testing.T) {
	t.Parallel()
	if llm.DefaultMaxTokens != 4000 || llm.DefaultMinMessages != 4 {
		t.Errorf("got %d tokens and %d messages", llm.DefaultMaxTokens, llm.DefaultMinMessages)
	}
	messages := func(n, each int) []llm.Message {
		all := []llm.Message{llm.System("be brief")}
		for i := range n {
			all = append(all, llm.User(fmt.Sprint(i, " ", each)))
		}
		return all
	}
	for name, c := range map[string]struct {
		n, each, want int
	}{
		"4000 tokens":         {8, 500, 9},
		"a little more":       {8, 501, 8},
		"five of 1000":        {8, 1000, 5}, // with the system message, which has no tokens here
		"the last four stay":  {8, 9000, 5},
		"four are not pruned": {3, 9000, 4},
	} {
		give := messages(c.n, c.each)
		p := llm.Pruning{Counter: llm.TokenCounterFunc(func(m llm.Message) int {
			if m.Role == llm.RoleSystem {
				return 0
			}
			return c.each
		})}
		got := llm.Prune(give, p)
		if len(got) != c.want || got[0].Role != llm.RoleSystem || !reflect.DeepEqual(got[len(got)-1], give[len(give)-1]) {
			t.Errorf("%s: got %d messages want %d", name, len(got), c.want)
		}
		for _, m := range got { // no new messages
			if !slices.ContainsFunc(give, func(g llm.Message) bool { return reflect.DeepEqual(g, m) }) {
				t.Errorf("%s: got %s", name, m)
			}
		}
	}
}

// Other programs get messages with a type, a content that is a text or a list, and perhaps an object
// additional_kwargs.
func TestMessageShape(t *testing.T) {
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		a := newAgent(t, config(store))
		odd, err := llm.FromLangChain([]byte(`[{"type":"human","data":{"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}},
			{"type":"ai","data":{"content":"b","additional_kwargs":{"reason":"c"}}}]`))
		if err != nil {
			t.Fatal(err)
		}
		if r := a.Run(t.Context(), "t", research.Initial("none"), research.Messages.Put(odd...)); !r.Success {
			t.Fatal(r.Error)
		}
		r := a.Continue(t.Context(), "t")
		data, err := json.Marshal(r.State.Messages)
		if err != nil {
			t.Fatal(err)
		}
		var got []struct {
			Type    string
			Content any
			More    map[string]any `json:"additional_kwargs"`
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[0].Type != "human" || got[1].Type != "ai" || got[1].Content != "b" || got[1].More["reason"] != "c" {
			t.Errorf("got %s", data)
		}
		if blocks, ok := got[0].Content.([]any); !ok || len(blocks) != 2 {
			t.Errorf("got content %v", got[0].Content)
		}
		list, err := llm.FromLangChain([]byte(`[{"type":"ai","data":{"content":"a","additional_kwargs":[1]}}]`))
		if err != nil {
			t.Fatal(err)
		}
		if r := a.Run(t.Context(), "t2", research.Initial("none"), research.Messages.Put(list...)); r.Success || !strings.Contains(r.Error, "additional_kwargs") {
			t.Errorf("additional_kwargs of a list: got %+v", r)
		}
	})
	for _, bad := range []string{
		`[{"data":{"content":"a"}}]`, `[{"type":1,"data":{"content":"a"}}]`, `[{"type":"ai","data":{"content":1}}]`,
		`[{"type":"ai","data":{"content":{"text":"a"}}}]`, `{"type":"ai"}`,
	} {
		if got, err := llm.FromLangChain([]byte(bad)); !errors.Is(err, llm.ErrInvalid) {
			t.Errorf("%s: got %v, error %v", bad, got, err)
		}
	}
}
