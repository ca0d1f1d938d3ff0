package sqlitememory_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// twice opens a file twice, as two programs do. For each DB it calls do in a loop, and both loops
// run at the same time. The argument who is the index of the DB.
func twice(t *testing.T, rounds int, do func(db *sqlitememory.DB, who, round int) error) *sqlitememory.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "memory.db")
	dbs := []*sqlitememory.DB{open(t, path, patient), open(t, path, patient)}
	errs := make([]error, len(dbs))
	var wait sync.WaitGroup
	for who, db := range dbs {
		wait.Go(func() {
			for round := 0; round < rounds && errs[who] == nil; round++ {
				errs[who] = do(db, who, round)
			}
		})
	}
	wait.Wait()
	must(t, errors.Join(errs...))
	t.Cleanup(func() { checkIndex(t, path) })
	return dbs[0]
}

func TestFactsOfTwo(t *testing.T) {
	t.Parallel()
	const rounds = 20
	db := twice(t, rounds, func(db *sqlitememory.DB, who, round int) error {
		m, err := memory.New(db, memory.Options{})
		if err != nil {
			return err
		}
		stored, err := m.Store(t.Context(), ann, driver.Fact{Content: fmt.Sprint("Both say ", round), Trust: driver.Stated}, driver.Fact{Content: fmt.Sprintf("%d says %d", who, round), Trust: driver.Stated})
		if err != nil {
			return err
		}
		_, err = m.Supersede(t.Context(), ann, driver.Fact{Content: fmt.Sprintf("%d says now %d", who, round), Trust: driver.Stated}, stored[1].ID)
		return err
	})
	if got := len(find(t, db.Facts(), driver.FactQuery{Reach: ann.Only(), Limit: -1})); got != 3*rounds {
		t.Errorf("got %d facts want %d", got, 3*rounds)
	}
	if got := len(find(t, db.Facts(), everything(ann))); got != 5*rounds {
		t.Errorf("with those that were superseded: got %d facts want %d", got, 5*rounds)
	}
	c, err := db.Facts().Search(t.Context(), driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"both"}, Limit: 100})
	if err != nil || len(c.Records) != rounds || c.Facts != 3*rounds {
		t.Errorf("got %d candidates of %d facts, error %v want %d of %d", len(c.Records), c.Facts, err, rounds, 3*rounds)
	}
}

func TestConversationsOfTwo(t *testing.T) {
	t.Parallel()
	const rounds = 20
	db := twice(t, rounds, func(db *sqlitememory.DB, who, round int) error {
		m, err := memory.New(db, memory.Options{})
		if err != nil {
			return err
		}
		history := m.Conversations()
		question, answer := llm.User(fmt.Sprintf("question %d of %d", round, who)), llm.Assistant("answer")
		_, err = history.Append(t.Context(), ann, memory.Turn{Session: "s", Messages: []llm.Message{question, answer}, Began: time.Now()})
		return err
	})
	m, err := memory.New(db, memory.Options{})
	must(t, err)
	history := m.Conversations()
	messages, err := history.Load(t.Context(), ann, "s")
	must(t, err)
	if len(messages) != 4*rounds {
		t.Fatalf("got %d messages want %d", len(messages), 4*rounds)
	}
	for i, m := range messages {
		role := []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2]
		if m.Position != int64(i)+1 || m.Role != role {
			t.Errorf("message %d: got %s at %d", i, m.Role, m.Position)
		}
	}
	found, err := history.Search(t.Context(), memory.FindMessages{Query: driver.SessionQuery{Reach: ann.Only(), Limit: 100}, Text: "which question?"})
	if err != nil || len(found) != 2*rounds {
		t.Errorf("found %d, error %v want %d", len(found), err, 2*rounds)
	}
}

func TestValuesOfTwo(t *testing.T) {
	t.Parallel()
	const rounds = 25
	db := twice(t, rounds, func(db *sqlitememory.DB, who, round int) error {
		m, err := memory.New(db, memory.Options{Values: memory.ValueOptions{Index: [][]string{{}}}})
		if err != nil {
			return err
		}
		values := m.Values()
		n := values.In(ann, "n")
		if _, err := memory.PutValue(t.Context(), n.In(fmt.Sprint(who)), fmt.Sprint(round), "red apple", memory.PutOptions{}); err != nil {
			return err
		}
		_, err = memory.UpdateValue(t.Context(), n, "count", memory.PutOptions{}, func(n int) (int, error) { return n + 1, nil })
		return err
	})
	m, err := memory.New(db, memory.Options{})
	must(t, err)
	values := m.Values()
	n := values.In(ann, "n")
	if got, _, err := memory.GetValue[int](t.Context(), n, "count"); got != 2*rounds || err != nil {
		t.Errorf("counted %d, error %v want %d", got, err, 2*rounds)
	}
	found, err := n.Search(t.Context(), memory.FindValues{Query: driver.ValueQuery{Limit: 100}, Text: "apple"})
	if err != nil || len(found) != 2*rounds {
		t.Errorf("found %d, error %v want %d", len(found), err, 2*rounds)
	}
}

func TestKnowledgeOfTwo(t *testing.T) {
	t.Parallel()
	const rounds = 5
	db := twice(t, rounds, func(db *sqlitememory.DB, who, round int) error {
		m, err := memory.New(db, memory.Options{})
		if err != nil {
			return err
		}
		base, err := knowledge.New(m, knowledge.Options{})
		if err != nil {
			return err
		}
		var list []knowledge.Document
		for i := range 10 {
			list = append(list, knowledge.Document{URI: fmt.Sprint(i), Text: fmt.Sprintf("Document %d in round %d", i, round)})
		}
		if who == 1 {
			slices.Reverse(list)
		}
		_, troubles, err := knowledge.Collect(base.Ingest(t.Context(), ann, knowledge.Documents(list...), knowledge.IngestOptions{}))
		for _, p := range troubles {
			err = errors.Join(err, p.Err)
		}
		return err
	})
	c, err := db.Documents().Search(t.Context(), driver.ChunkSearch{Query: driver.SourceQuery{Reach: ann.Only()}, Terms: []string{"document"}, Limit: 100})
	if err != nil || len(c.Records) != 10 || len(c.Sources) != 10 || c.Chunks != 10 || c.Frequency[0] != 10 {
		t.Errorf("got %d chunks of %d sources, of %d, error %v want 10", len(c.Records), len(c.Sources), c.Chunks, err)
	}
}
