package chat_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/extract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

var ann = memory.Scope{User: "ann"}

// eachStore runs a test on SQLite and on PostgreSQL.
func eachStore(t *testing.T, test func(t *testing.T, s *store.Stores, c store.Config)) {
	t.Helper()
	database := supatest.Database(t, nil)
	for name, c := range map[string]store.Config{"SQLite": {Folder: t.TempDir()}, "PostgreSQL": {Database: database}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.Database != "" {
				c.Schema = pgtest.SchemaIn(t, database)
			}
			s, err := store.Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, s, c)
		})
	}
}

func newService(t *testing.T, s *store.Stores, o chat.Options) *chat.Service {
	t.Helper()
	made, err := chat.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// say runs a message, in a new session of Ann if session has no id, and returns the state and the session
// after the run.
func say(t *testing.T, s *chat.Service, session memory.Session, text string) (*graph.Snapshot, memory.Session) {
	t.Helper()
	var err error
	if session.ID == "" {
		if session, err = s.Begin(t.Context(), ann); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := s.Say(t.Context(), session, text)
	if err != nil {
		t.Fatal(err)
	}
	if session, err = s.Session(t.Context(), session.Scope, session.ID); err != nil {
		t.Fatal(err)
	}
	return snap, session
}

// short returns the messages of a state in one line.
func short(snap *graph.Snapshot) string {
	var lines []string
	for _, m := range agent.Messages.All(snap) {
		text := m.Text()
		if strings.HasPrefix(text, "You help the users") {
			text = "prompt"
		}
		for _, c := range m.ToolCalls {
			text += "calls " + c.Name
		}
		lines = append(lines, string(m.Role)+" "+text)
	}
	return strings.Join(lines, ", ")
}

// log records calls in their order.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() { l.lines = nil }()
	return strings.Join(l.lines, ", ")
}

// watched returns stores that record their calls in a log.
func watched(s *store.Stores, l *log) *store.Stores {
	w := *s
	m := s.Memory
	w.Memory = driver.Stores{
		FactStore: facts{m.Facts(), l}, ValueStore: m.Values(), DocumentStore: m.Documents(),
		ConversationStore: conversations{m.Conversations(), l}, TurnStore: turns{m.Turns(), l},
	}
	return &w
}

type conversations struct {
	driver.ConversationStore
	log *log
}

func (c conversations) Apply(ctx context.Context, s memory.Scope, change driver.SessionChange) (memory.Session, error) {
	if len(change.Rows) > 0 {
		c.log.add("save %d", len(change.Rows))
	}
	return c.ConversationStore.Apply(ctx, s, change)
}

func (c conversations) Messages(ctx context.Context, r driver.MessageRange) iter.Seq2[driver.MessageRow, error] {
	c.log.add("read")
	return c.ConversationStore.Messages(ctx, r)
}

type facts struct {
	driver.FactStore
	log *log
}

func (f facts) Apply(ctx context.Context, s memory.Scope, changes []memory.FactChange) ([]memory.Applied, error) {
	f.log.add("store %d facts of %s", len(changes), s.User)
	return f.FactStore.Apply(ctx, s, changes)
}

func (f facts) Search(ctx context.Context, s driver.FactSearch) (driver.FactCandidates, error) {
	f.log.add("search for %s", s.Query.Scope.User)
	return f.FactStore.Search(ctx, s)
}

type turns struct {
	driver.TurnStore
	log *log
}

func (q turns) Enqueue(ctx context.Context, j extract.Job) error {
	q.log.add("learn")
	return q.TurnStore.Enqueue(ctx, j)
}

// letters is an embedder whose vectors count each letter of a text.
type letters struct {
	log  *log
	size int // the dimension that it reports
}

func (e letters) Model() string { return "letters" }

func (e letters) Dimension() int { return e.size }

func (e letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.log.add("embed %d", len(texts))
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 26)
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				vectors[i][r-'a']++
			}
		}
	}
	return vectors, nil
}

// waiting limits the time for queued turns to be learned.
const waiting = 30 * time.Second
