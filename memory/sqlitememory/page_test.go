package sqlitememory_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
)

func count[T any](t *testing.T, list iter.Seq2[T, error]) (n int) {
	t.Helper()
	for _, err := range list {
		require.NoError(t, err)
		n++
	}
	return n
}

// An iteration over many pages yields each element once, in order and up to the limit.
func TestPages(t *testing.T) {
	t.Parallel()
	const many = 300
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path, options)
	third := []driver.Condition{driver.Where("n", driver.Equal, 1)}
	numbered := func(i int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, i%3)) }

	t.Run("messages", func(t *testing.T) {
		rows := make([]driver.MessageRow, 1100)
		for i := range rows {
			rows[i] = driver.MessageRow{ID: fmt.Sprint(i), Role: llm.RoleUser, Data: []byte(`{}`)}
		}
		large := driver.MessageRow{ID: "large", Role: llm.RoleUser, Data: []byte(`"` + strings.Repeat("x", 5<<20) + `"`)}
		rows = append(rows[:50:50], append([]driver.MessageRow{large}, rows[50:]...)...)
		_, err := db.Conversations().Apply(t.Context(), ann, driver.SessionChange{Session: "s", Rows: rows})
		require.NoError(t, err)
		position := int64(0)
		for r, err := range db.Conversations().Messages(t.Context(), driver.MessageRange{Scope: ann, Session: "s"}) {
			require.NoError(t, err)
			if position++; r.Position != position || r.Scope != ann || r.Session != "s" {
				t.Fatalf("got position %d of %q want %d", r.Position, r.Session, position)
			}
		}
		assert.EqualValues(t, 1101, position)
		for want, r := range map[int]driver.MessageRange{1060: {Last: 1060}, 1099: {To: 1100, From: 2}, 1030: {To: 1090, Last: 1030}} {
			r.Scope, r.Session = ann, "s"
			got := count(t, db.Conversations().Messages(t.Context(), r))
			assert.Equal(t, want, got, "%+v", r)
		}
	})
	t.Run("sessions", func(t *testing.T) {
		const many = 150
		for i := range many {
			c := driver.SessionChange{Session: fmt.Sprint(i)}
			_, err := db.Conversations().Apply(t.Context(), bob, c)
			require.NoError(t, err)
			c.Describe = &driver.SessionDescription{Metadata: numbered(i)}
			_, err = db.Conversations().Apply(t.Context(), bob, c)
			require.NoError(t, err)
		}
		for want, q := range map[int]driver.SessionQuery{
			many: {}, many / 3: {Limit: -1, Where: third}, 40: {Limit: 40, Where: third}, 140: {Limit: 140},
		} {
			q.Scope = bob
			got := count(t, db.Conversations().Sessions(t.Context(), q))
			assert.Equal(t, want, got, "%+v", q)
		}
		seen := map[string]bool{}
		for s, err := range db.Conversations().Sessions(t.Context(), driver.SessionQuery{Reach: bob.Only(), Limit: -1}) {
			require.NoError(t, err)
			require.False(t, seen[s.ID])
			if seen[s.ID] = true; len(seen)%50 == 0 { // a change moves the session to the front
				_, err := db.Conversations().Apply(t.Context(), bob, driver.SessionChange{Session: s.ID})
				require.NoError(t, err)
			}
		}
		assert.Len(t, seen, many)
	})
	t.Run("values", func(t *testing.T) {
		var writes []driver.ValueWrite
		for i := range many {
			w := driver.ValueWrite{Address: driver.Address{Namespace: []string{fmt.Sprintf("%03d", i)}, Key: "k"}, Value: numbered(i)}
			if i%150 == 0 {
				w.Value = []byte(`"` + strings.Repeat("x", 4<<20) + `"`)
			}
			writes = append(writes, w)
		}
		_, err := db.Values().Apply(t.Context(), ann, writes)
		require.NoError(t, err)
		for _, order := range []driver.Order{driver.Newest, driver.ByKey} {
			for want, q := range map[int]driver.ValueQuery{many: {}, many / 3: {Limit: -1, Where: third}, 70: {Limit: 70, Where: third}} {
				q.Order = order
				got := count(t, db.Values().Find(t.Context(), ann, driver.ValueSelection{ValueQuery: q}))
				assert.Equal(t, want, got, "%+v", q)
			}
		}
		assert.Equal(t, many, count(t, db.Values().Namespaces(t.Context(), ann, driver.NamespaceQuery{Limit: -1})))
		assert.Equal(t, 1, count(t, db.Values().Namespaces(t.Context(), ann, driver.NamespaceQuery{Prefix: []string{"007"}, Suffix: []string{driver.Any}})))
	})
	t.Run("knowledge", func(t *testing.T) {
		var swaps []driver.SourceSwap
		id := func(i int) string { return fmt.Sprintf("0197a6b0-7c1a-7e2f-8a3b-%012x", i) }
		for i := range many {
			swaps = append(swaps, driver.SourceSwap{Source: driver.Source{ID: id(i), URI: fmt.Sprintf("%03d", i), Format: "text", Metadata: numbered(i)}})
			swaps[0].Chunks = append(swaps[0].Chunks, driver.ChunkRecord{Chunk: driver.Chunk{ID: id(i), Ordinal: i, Content: "text"}})
		}
		require.NoError(t, db.Documents().Swap(t.Context(), driver.SourceChange{Scope: ann, Swaps: swaps}))
		for want, q := range map[int]driver.SourceQuery{many: {}, many / 3: {Where: third}, 10: {Prefix: "00"}} {
			q.Scope = ann
			got := count(t, db.Documents().Sources(t.Context(), q))
			assert.Equal(t, want, got, "%+v", q)
		}
		span := func(from, to int) driver.ChunkSpan {
			return driver.ChunkSpan{Scope: ann, Source: id(0), From: from, To: to}
		}
		assert.Equal(t, 190+many+10, count(t, db.Documents().Chunks(t.Context(), []driver.ChunkSpan{span(10, 200), span(0, many), span(290, 999), span(5, 5)})))
		for from, to := range map[int]int{0: 128, 100: 228, 172: many} {
			assert.Equal(t, 129, count(t, db.Documents().Chunks(t.Context(), []driver.ChunkSpan{span(from, to), span(0, 1)})), "a full page")
		}
	})
	checkIndex(t, path)
}
