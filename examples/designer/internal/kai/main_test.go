package kai_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory/inmemory"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/offline"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// A place opens the stores of a platform. Each call of open and queue opens the same data again.
type place struct {
	open  func(t *testing.T) kai.Parts
	queue func(t *testing.T) (driver.FactStore, driver.TurnStore)
}

// places has functions that make a new place for a test.
var places = map[string]func(t *testing.T) place{"SQLite": sqlitePlace, "PostgreSQL": postgresPlace}

func check(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func sqlitePlace(t *testing.T) place {
	folder := t.TempDir()
	queue := func(t *testing.T) (driver.FactStore, driver.TurnStore) {
		db, err := sqlitememory.Open(context.Background(), filepath.Join(folder, "memory.db"), sqlitememory.Options{})
		check(t, err)
		t.Cleanup(func() { check(t, db.Close()) })
		return db.Facts(), db.Turns()
	}
	return place{func(t *testing.T) (p kai.Parts) {
		store, err := sqlitecheckpoint.Open(context.Background(), filepath.Join(folder, "checkpoints.db"), sqlitecheckpoint.Options{})
		check(t, err)
		t.Cleanup(func() { check(t, store.Close()) })
		p.Checkpoints = store
		p.Studio, err = studio.OpenSQLite(context.Background(), filepath.Join(folder, "studio.db"))
		check(t, err)
		return p
	}, queue}
}

func postgresPlace(t *testing.T) place {
	url, schema := pgtest.URL(t), pgtest.Schema(t)
	queue := func(t *testing.T) (driver.FactStore, driver.TurnStore) {
		db, err := pgmemory.Open(context.Background(), url, pgmemory.Options{Schema: schema})
		check(t, err)
		t.Cleanup(db.Close)
		return db.Facts(), db.Turns()
	}
	return place{func(t *testing.T) (p kai.Parts) {
		store, err := pgcheckpoint.Open(context.Background(), url, pgcheckpoint.Options{Schema: schema})
		check(t, err)
		t.Cleanup(store.Close)
		p.Checkpoints = store
		p.Studio, err = studio.OpenPostgres(context.Background(), url, schema)
		check(t, err)
		return p
	}, queue}
}

// platform opens a platform whose agents all use one model.
func (p place) platform(t *testing.T, model llm.Model, changes ...func(*kai.Parts)) *kai.Platform {
	t.Helper()
	parts := p.open(t)
	t.Cleanup(func() { check(t, parts.Studio.Close()) })
	store, queue := p.queue(t)
	var err error
	parts.Agents, err = kai.ReadConfigs(nil)
	check(t, err)
	parts.Catalogue, err = catalogue.Own()
	check(t, err)
	parts.Facts, err = memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
	check(t, err)
	parts.Learner, err = extract.New(parts.Facts, extract.Options{Extractor: offline.Extractor, Verifier: offline.Verifier, Queue: queue})
	check(t, err)
	parts.Model = func(kai.Config) (llm.Model, error) { return model, nil }
	for _, change := range changes {
		change(&parts)
	}
	platform, err := kai.New(parts)
	check(t, err)
	return platform
}

func turn(text string) kai.Turn {
	return kai.Turn{User: "ann", Workspace: "w", Agent: "kai", Conversation: "c1", Input: text}
}

// run runs a turn and approves calls until none waits.
func run(t *testing.T, p *kai.Platform, in kai.Turn) *kai.Result {
	t.Helper()
	r, err := p.Execute(t.Context(), in, nil)
	check(t, err)
	in.Conversation = r.ConversationID
	for r.Reason == kai.Waiting {
		for _, w := range r.Waits {
			for c, err := range p.Answer(t.Context(), in, w.ID, w.Question.Approve()) {
				check(t, err)
				if c.Result != nil {
					r = c.Result
				}
			}
		}
	}
	return r
}

const (
	searchCall = `{"category":"chair","material":"oak","max_price":700,"limit":2}`
	sceneCall  = `{"prompt":"a lobby","product_ids":["P042","P050"]}`
)

// calls returns a reply with a call for each pair of a tool and its arguments.
func calls(pairs ...string) llmtest.Reply {
	var list []llm.ToolCall
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, llm.ToolCall{Name: pairs[i], Arguments: []byte(pairs[i+1])})
	}
	return llmtest.Calls(list...)
}

func costing(r llmtest.Reply, in, out int64) llmtest.Reply {
	return r.Costing(llm.Usage{Input: in, Output: out})
}

// kinds counts the chunks of each kind.
func kinds(chunks []kai.Chunk) map[agent.ChunkKind]int {
	n := map[agent.ChunkKind]int{}
	for _, c := range chunks {
		n[c.Kind]++
	}
	return n
}
