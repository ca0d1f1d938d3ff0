package sqlitememory_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// twice opens a file twice, as two programs do. It calls do in a loop for each DB, and both loops
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
	require.NoError(t, errors.Join(errs...))
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
	assert.Equal(t, 3*rounds, len(find(t, db.Facts(), driver.FactQuery{Reach: ann.Only(), Limit: -1})))
	assert.Equal(t, 5*rounds, len(find(t, db.Facts(), everything(ann))), "with those that were superseded")
	c, err := db.Facts().Search(t.Context(), driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"both"}, Limit: 100})
	require.NoError(t, err)
	require.Len(t, c.Records, rounds)
	assert.EqualValues(t, 3*rounds, c.Facts)
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
	require.NoError(t, err)
	history := m.Conversations()
	messages, err := history.Load(t.Context(), ann, "s")
	require.NoError(t, err)
	require.Len(t, messages, 4*rounds)
	for i, m := range messages {
		role := []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2]
		require.Equal(t, int64(i)+1, m.Position)
		assert.Equal(t, role, m.Role)
	}
	found, err := history.Search(t.Context(), memory.Question{Reach: ann.Only(), Text: "which question?", Limit: 100})
	require.NoError(t, err)
	assert.Len(t, found, 2*rounds)
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
	require.NoError(t, err)
	values := m.Values()
	n := values.In(ann, "n")
	got, _, err := memory.GetValue[int](t.Context(), n, "count")
	require.Equal(t, 2*rounds, got)
	assert.NoError(t, err)
	found, err := n.Search(t.Context(), memory.Question{Text: "apple", Limit: 100})
	require.NoError(t, err)
	assert.Len(t, found, 2*rounds)
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
		_, _, err = knowledge.Collect(base.Ingest(t.Context(), ann, knowledge.Documents(list...), knowledge.IngestOptions{}))
		return err
	})
	c, err := db.Documents().Search(t.Context(), driver.ChunkSearch{Query: driver.SourceQuery{Reach: ann.Only()}, Terms: []string{"document"}, Limit: 100})
	require.NoError(t, err)
	require.Len(t, c.Records, 10)
	require.Len(t, c.Sources, 10)
	require.EqualValues(t, 10, c.Chunks)
	assert.EqualValues(t, 10, c.Frequency[0])
}
