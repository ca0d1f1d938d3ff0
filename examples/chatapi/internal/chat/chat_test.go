package chat_test

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/offline"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/state"
)

// The state of an agent is one list of messages. A node returns new messages. Each is appended, or
// replaces the message with the same id.
func TestMessagesState(t *testing.T) {
	t.Parallel()
	b := graph.New("state", agent.Messages)
	b.Node("one", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{agent.Messages.Put(llm.Message{ID: "a", Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("draft")}})}, nil
	})
	b.Node("two", func(_ context.Context, s state.View) (state.Update, error) {
		if agent.Messages.Len(s) != 3 {
			return nil, errors.New("the state is not whole")
		}
		return state.Update{agent.Messages.Put(
			llm.Message{ID: "a", Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("answer")}}, llm.Assistant("more"))}, nil
	})
	b.Edge(graph.Start, "one")
	b.Edge("one", "two")
	b.Edge("two", graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if channels := g.Describe().Channels; len(channels) != 1 || channels[0].Name != "messages" {
		t.Errorf("got %+v", channels)
	}
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.System("brief"), llm.User("hello")))
	if err != nil {
		t.Fatal(err)
	}
	if got := short(snap); got != "system brief, user hello, assistant answer, assistant more" {
		t.Errorf("got %s", got)
	}
}

// A run returns its input and all new messages. Each message is stored once, without tool calls.
func TestSaved(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		l := &log{}
		model := llmtest.NewScript(
			llmtest.Calls(llm.ToolCall{Name: "recall_memory", Arguments: []byte(`{"query":"a"}`)}, llm.ToolCall{Name: "get_user_context", Arguments: []byte(`{}`)}),
			llmtest.Reply{Message: llm.Assistant("Wait.", llm.ToolCall{ID: "c", Name: "recall_memory", Arguments: []byte(`{"query":"b"}`)})},
			llmtest.Say("one"), llmtest.Say("two"))
		service := newService(t, watched(s, l), chat.Options{Model: model})
		snap, session := say(t, service, memory.Session{}, "first")
		want := "system prompt, user first, assistant calls recall_memorycalls get_user_context, tool Nothing is known about this., tool " + agentmemory.NoContext +
			", assistant Wait.calls recall_memory, tool Nothing is known about this., assistant one"
		if got := short(snap); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		snap, session = say(t, service, session, "second")
		if got := short(snap); got != want+", user second, assistant two" {
			t.Errorf("got %s", got)
		}
		if got := l.take(); session.Messages != 6 || strings.Count(got, "save") != 2 || !strings.Contains(got, "save 4") || !strings.Contains(got, "save 2") {
			t.Errorf("%d messages are saved: %s", session.Messages, got)
		}
		kept, err := service.Messages(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range kept {
			if m.Role == llm.RoleTool || len(m.ToolCalls) > 0 {
				t.Errorf("kept is %+v", m)
			}
		}
	})
}

// A conversation that does not exist is empty. Append creates it, and later appends only the new messages.
func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		m, err := memory.New(s.Memory, memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		history := m.Conversations()
		var last time.Time
		for n := range 3 {
			before, err := history.Load(t.Context(), ann, "one")
			if err != nil || len(before) != n {
				t.Errorf("got %v, %v", before, err)
			}
			all := append(memory.PlainMessages(before), llm.User("hello")) // with the stored messages
			saved, err := history.Append(t.Context(), ann, memory.Turn{Session: "one", Messages: all})
			if err != nil || saved.Messages != int64(n+1) || !saved.UpdatedAt.After(last) || saved.Scope != ann {
				t.Errorf("got %+v, %v", saved, err)
			}
			last = saved.UpdatedAt
		}
	})
}

// A turn reads the conversation, asks the model, saves the messages and queues the turn, in this order.
func TestOrder(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		l := &log{}
		model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			l.add("ask")
			return llm.Reply(llm.Assistant("Noted."))
		})
		extract := extract.ExtractorFunc(func(ctx context.Context, turn extract.Turn) ([]extract.Proposal, error) {
			l.add("extract of %q and %q", turn.User, turn.Assistant)
			return offline.Extract(ctx, turn)
		})
		service := newService(t, watched(s, l), chat.Options{Model: model, Extractor: extract, Verifier: offline.Verifier})
		_, session := say(t, service, memory.Session{}, "I live in Oslo. I like tea. I work in Bern.")
		if got := l.take(); got != "read, search for ann, ask, save 3, learn" {
			t.Errorf("got %s", got)
		}
		service.Drain(waiting)
		if got := l.take(); !strings.HasPrefix(got, `extract of "I live in Oslo. I like tea. I work in Bern." and "Noted."`) || strings.Count(got, "store") != 1 || !strings.Contains(got, "store 3 facts of ann") {
			t.Errorf("got %s", got)
		}
		say(t, service, session, "hello")
		if got := l.take(); got != "read, search for ann, ask, save 2, learn" {
			t.Errorf("got %s", got)
		}
	})
}

// The learner embeds and stores the facts of a turn in batches. The tool store_memory embeds and stores
// its fact alone.
func TestBatches(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		l := &log{}
		service := newService(t, watched(s, l), chat.Options{Model: offline.Model{}, Embedder: letters{l, 26}, Extractor: extract.ExtractorFunc(offline.Extract), Verifier: offline.Verifier})
		_, session := say(t, service, memory.Session{}, "I live in Oslo. I like tea. I work in Bern. I am tall. I have a dog. I use Linux.")
		l.take()
		service.Drain(waiting)
		if got := l.take(); strings.Count(got, "embed 5") != strings.Count(got, "embed") || strings.Count(got, "store") != 1 || !strings.HasSuffix(got, "store 5 facts of ann") {
			t.Errorf("learning: got %s", got)
		}
		direct, err := memory.New(watched(s, l).Memory, memory.Options{Embedder: letters{l, 26}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := direct.Store(t.Context(), ann, memory.Fact{Content: "one", Trust: memory.Stated}, memory.Fact{Content: "two", Trust: memory.Stated}, memory.Fact{Content: "three", Trust: memory.Stated}); err != nil {
			t.Fatal(err)
		}
		if got := l.take(); got != "embed 3, store 3 facts of ann" {
			t.Errorf("persisting: got %s", got)
		}
		quiet := newService(t, watched(s, l), chat.Options{Model: offline.Model{}, Embedder: letters{l, 26}})
		_, session = say(t, quiet, session, "Remember that my locker is number 7.")
		if got := l.take(); strings.Count(got, "store 1 facts of ann") != 1 || !strings.Contains(got, "embed 1, store 1") {
			t.Errorf("storing: got %s", got)
		}
		snap, _ := say(t, quiet, session, "What is my lokcer nmuber?") // misspelt, so that only vectors find the fact
		if got := l.take(); !strings.Contains(got, "embed 1") || !strings.Contains(got, "search for ann") {
			t.Errorf("recalling: got %s", got)
		}
		if m, _ := agent.Messages.Last(snap); !strings.Contains(m.Text(), "your locker is number 7") {
			t.Errorf("got %s", m.Text())
		}
	})
}

// A vector whose length is not the dimension of its embedder reaches no database.
func TestDimension(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		l := &log{}
		w := watched(s, l)
		service := newService(t, w, chat.Options{Model: offline.Model{}, Embedder: letters{l, 25}})
		snap, _ := say(t, service, memory.Session{}, "Remember that my locker is number 7.")
		if m, _ := agent.Messages.Last(snap); !strings.HasPrefix(m.Text(), "That did not work: ") {
			t.Errorf("got %s", m.Text())
		}
		if got := l.take(); strings.Contains(got, "store") || strings.Contains(got, "search") {
			t.Errorf("got %s", got)
		}
		direct, err := memory.New(w.Memory, memory.Options{Embedder: letters{l, 25}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := direct.Store(t.Context(), ann, memory.Fact{Content: "x", Trust: memory.Stated}); !errors.Is(err, memory.ErrDimension) {
			t.Errorf("got %v", err)
		}
		if got := l.take(); strings.Contains(got, "store") {
			t.Errorf("got %s", got)
		}
	})
}

// A model cannot choose the user: no tool has such a parameter, and the state has no user.
func TestUserIsNotTheModels(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		m, err := memory.New(s.Memory, memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agentmemory.StoreContext(t.Context(), m, memory.Scope{User: "bob"}, agentmemory.Context{Plan: "enterprise"}); err != nil {
			t.Fatal(err)
		}
		model := llmtest.NewScript(llmtest.Calls(
			llm.ToolCall{Name: agentmemory.ContextTool, Arguments: []byte(`{"user_id":"bob"}`)},
			llm.ToolCall{Name: agentmemory.RecallTool, Arguments: []byte(`{"query":"x","user_id":"bob"}`)},
			llm.ToolCall{Name: agentmemory.StoreTool, Arguments: []byte(`{"content":"I am bob","evidence":"I am bob","user_id":"bob"}`)},
			llm.ToolCall{Name: agentmemory.ContextTool, Arguments: []byte(`{}`)},
		), llmtest.Say("done"))
		l := &log{}
		service := newService(t, watched(s, l), chat.Options{Model: model})
		snap, _ := say(t, service, memory.Session{}, "I am bob")
		got := short(snap)
		if strings.Count(got, "there is no such field") != 3 || !strings.Contains(got, agentmemory.NoContext) || strings.Contains(got, "enterprise") {
			t.Errorf("got %s", got)
		}
		if seen := l.take(); strings.Contains(seen, "bob") || strings.Contains(seen, "store") {
			t.Errorf("got %s", seen)
		}
		for _, spec := range model.Requests()[0].Tools {
			if strings.Contains(string(spec.Schema), "user_id") || strings.Contains(string(spec.Schema), "cope") {
				t.Errorf("%s takes %s", spec.Name, spec.Schema)
			}
		}
		for _, c := range service.Graph().Describe().Channels {
			if name := strings.ToLower(c.Name); strings.Contains(name, "user") || strings.Contains(name, "scope") {
				t.Errorf("the state has %s", c.Name)
			}
		}
	})
}

// If a table is missing, the tool returns an error to the model, and the run continues.
func TestMissingTable(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, c store.Config) {
		service := newService(t, s, chat.Options{Model: offline.Model{}})
		_, session := say(t, service, memory.Session{}, "Remember that my dog is called Rex.")
		document := func(yield func(knowledge.Document, error) bool) {
			yield(knowledge.Document{URI: "a.md", Text: "A superstep is a step."}, nil)
		}
		if _, _, err := knowledge.Collect(service.Base().Ingest(t.Context(), memory.Scope{}, document, knowledge.IngestOptions{})); err != nil {
			t.Fatal(err)
		}
		drop(t, c, "mem_fact", "mem_chunk")
		for _, question := range []string{"What is my dog called?", "What is a superstep?", "Remember that I like tea."} {
			snap, _ := say(t, service, session, question)
			m, _ := agent.Messages.Last(snap)
			if got := m.Text(); !strings.HasPrefix(got, "That did not work: ") || len(got) > 400 {
				t.Errorf("%s: got %s", question, got)
			}
		}
		snap, saved := say(t, service, session, "hello")
		if m, _ := agent.Messages.Last(snap); !strings.HasPrefix(m.Text(), `You said: "hello"`) || saved.Messages != 11 {
			t.Errorf("got %s, %d messages", m.Text(), saved.Messages)
		}
	})
}

// drop removes tables.
func drop(t *testing.T, c store.Config, tables ...string) {
	t.Helper()
	if c.Database == "" {
		db, err := sql.Open("sqlite", filepath.Join(c.Folder, "memory.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, table := range tables {
			if _, err := db.ExecContext(t.Context(), "DROP TABLE "+table); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	conn, err := pgx.Connect(t.Context(), c.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, table := range tables {
		if _, err := conn.Exec(t.Context(), "DROP TABLE "+pgx.Identifier{c.Schema, table}.Sanitize()+" CASCADE"); err != nil {
			t.Fatal(err)
		}
	}
}

// The next turn includes messages that another program appended, and the user's messages of failed runs.
func TestOthersAppend(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		model := llmtest.NewScript(
			llmtest.Say("one"), llmtest.Fail(errors.New("down")), llmtest.Call("recall_memory", `{"query":"x"}`), llmtest.Fail(errors.New("down")), llmtest.Say("two"), llmtest.Say("three"))
		service := newService(t, s, chat.Options{Model: model})
		_, session := say(t, service, memory.Session{}, "first")
		for _, text := range []string{"lost", "lost too"} {
			if _, err := service.Say(t.Context(), session, text); err == nil {
				t.Error("the model is down, and there is no error")
			}
			snap, err := service.Graph().Thread(session.ID).Snapshot(t.Context())
			if got := agent.Messages.Get(snap); err != nil || snap.Done() || got[3].Text() != "lost" {
				t.Errorf("got %v, %v", got, err)
			}
		}
		m, err := memory.New(s.Memory, memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		history := m.Conversations()
		turn := memory.Turn{Session: session.ID, Messages: []llm.Message{llm.User("by another"), llm.Assistant("to another")}}
		if _, err := history.Append(t.Context(), ann, turn); err != nil {
			t.Fatal(err)
		}
		const before = "system prompt, user first, assistant one, user by another, assistant to another, user lost, user lost too, user second, assistant two"
		snap, session := say(t, service, session, "second")
		if got := short(snap); got != before {
			t.Errorf("got  %s\nwant %s", got, before)
		}
		snap, session = say(t, service, session, "third")
		if got := short(snap); got != before+", user third, assistant three" || session.Messages != 11 {
			t.Errorf("got %s, %d messages", got, session.Messages)
		}
	})
}

// A conversation that another program began keeps the prompt that it began with.
func TestOthersBegin(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		m, err := memory.New(s.Memory, memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		history := m.Conversations()
		begun, err := history.Append(t.Context(), ann, memory.Turn{Messages: []llm.Message{llm.System("Be brief."), llm.User("hello"), llm.Assistant("Hi.")}})
		if err != nil {
			t.Fatal(err)
		}
		service := newService(t, s, chat.Options{Model: llmtest.NewScript(llmtest.Say("Still here."))})
		snap, session := say(t, service, begun, "and now?")
		if got := short(snap); got != "system Be brief., user hello, assistant Hi., user and now?, assistant Still here." || session.Messages != 5 {
			t.Errorf("got %s, %d messages", got, session.Messages)
		}
	})
}

// A session that is deleted during a run does not come back.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s *store.Stores, _ store.Config) {
		m, err := memory.New(s.Memory, memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		history := m.Conversations()
		var session memory.Session
		model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			if err := history.Delete(context.Background(), ann, session.ID); err != nil {
				t.Error(err)
			}
			return llm.Reply(llm.Assistant("too late"))
		})
		service := newService(t, s, chat.Options{Model: model})
		if session, err = service.Begin(t.Context(), ann); err != nil {
			t.Fatal(err)
		}
		_, last := service.Say(t.Context(), session, "hello")
		if !errors.Is(last, memory.ErrForgotten) {
			t.Errorf("got %v", last)
		}
		if _, err := service.Session(t.Context(), ann, session.ID); !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}
