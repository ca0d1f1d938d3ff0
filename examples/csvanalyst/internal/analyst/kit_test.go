package analyst

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const sales = "city,amount\nAthens,1\nBern,2\nAthens,4\n"

// kit is a service with its own stores.
type kit struct {
	*Service
	t      *testing.T
	files  *files.Store
	folder string
}

// stores opens the stores of each kind.
var stores = map[string]func(*testing.T, string) (*records.DB, checkpoint.Store){
	"sqlite": func(t *testing.T, folder string) (*records.DB, checkpoint.Store) {
		db, err := records.OpenSQLite(t.Context(), filepath.Join(folder, "records.db"))
		if err != nil {
			t.Fatal(err)
		}
		store, err := sqlitecheckpoint.Open(t.Context(), filepath.Join(folder, "checkpoints.db"), sqlitecheckpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close(); db.Close() })
		return db, store
	},
	"postgres": func(t *testing.T, _ string) (*records.DB, checkpoint.Store) {
		schema := pgtest.Schema(t)
		db, err := records.OpenPostgres(t.Context(), pgtest.DirectURL(t), schema)
		if err != nil {
			t.Fatal(err)
		}
		store, err := pgcheckpoint.Open(t.Context(), pgtest.DirectURL(t), pgcheckpoint.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close(); db.Close() })
		return db, store
	},
}

// onEach runs a test on each kind of store.
func onEach(t *testing.T, test func(t *testing.T, open func(llm.Model) *kit)) {
	t.Helper()
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(model llm.Model) *kit { return newKit(t, open, model) })
		})
	}
}

func newKit(t *testing.T, open func(*testing.T, string) (*records.DB, checkpoint.Store), model llm.Model) *kit {
	t.Helper()
	folder := t.TempDir()
	db, store := open(t, folder)
	f, err := files.Open(folder, db)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(model, db, f, store)
	if err != nil {
		t.Fatal(err)
	}
	return &kit{s, t, f, folder}
}

// onSQLite is a kit on SQLite.
func onSQLite(t *testing.T, model llm.Model) *kit {
	t.Helper()
	return newKit(t, stores["sqlite"], model)
}

// session makes a session with CSV files, given as name and content.
func (k *kit) session(content ...string) string {
	k.t.Helper()
	s, err := k.records.CreateSession(k.t.Context(), "ann")
	if err != nil {
		k.t.Fatal(err)
	}
	for i := 0; i+1 < len(content); i += 2 {
		k.add(s.ID, content[i], content[i+1])
	}
	return s.ID
}

func (k *kit) add(session, name, content string) records.Resource {
	k.t.Helper()
	r, err := k.files.Add(k.t.Context(), session, name, strings.NewReader(content))
	if err != nil {
		k.t.Fatal(err)
	}
	return r
}

// say streams an answer and returns its pieces.
func (k *kit) say(session, text string, images ...records.Image) []string {
	k.t.Helper()
	var out []string
	for piece, err := range k.StreamAgent(k.t.Context(), Turn{User: "ann", Session: session, Text: text, Images: images}) {
		if err != nil {
			k.t.Fatal(err)
		}
		out = append(out, piece)
	}
	return out
}

// stored are the messages of a session, as "role: content".
func (k *kit) stored(session string) []string {
	k.t.Helper()
	rows, err := k.records.Messages(k.t.Context(), session)
	if err != nil {
		k.t.Fatal(err)
	}
	out := []string{}
	for _, r := range rows {
		out = append(out, r.Role+": "+r.Content)
	}
	return out
}

func wantStored(t *testing.T, k *kit, session string, want ...string) {
	t.Helper()
	if got := k.stored(session); !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
}

// turns is a model: a function that returns the reply to a request.
type turns func(r llm.Request) llm.Message

func (f turns) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return llm.Reply(f(r))
}

// chunks runs the graph and returns all chunks.
func (k *kit) chunks(session, text string) []agent.Chunk {
	k.t.Helper()
	var out []agent.Chunk
	for c, err := range k.Run(k.t.Context(), Turn{User: "ann", Session: session, Text: text}) {
		if err != nil {
			k.t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}
