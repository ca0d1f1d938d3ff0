package sqlitememory_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/conversation"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/kv"
)

func count[T any](t *testing.T, list iter.Seq2[T, error]) (n int) {
	t.Helper()
	for _, err := range list {
		must(t, err)
		n++
	}
	return n
}

// What takes many pages is listed whole, once, in order and up to its limit.
func TestPages(t *testing.T) {
	t.Parallel()
	const many = 300
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path, options)
	third := []memory.Condition{memory.Where("n", memory.Equal, 1)}
	numbered := func(i int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"n":%d}`, i%3)) }

	t.Run("messages", func(t *testing.T) {
		rows := make([]conversation.Row, 1100)
		for i := range rows {
			rows[i] = conversation.Row{ID: fmt.Sprint(i), Role: llm.RoleUser, Data: []byte(`{}`)}
		}
		large := conversation.Row{ID: "large", Role: llm.RoleUser, Data: []byte(`"` + strings.Repeat("x", 5<<20) + `"`)}
		rows = append(rows[:50:50], append([]conversation.Row{large}, rows[50:]...)...)
		_, err := db.Conversations().Apply(t.Context(), ann, conversation.Change{Session: "s", Rows: rows})
		must(t, err)
		position := int64(0)
		for r, err := range db.Conversations().Messages(t.Context(), conversation.Range{Scope: ann, Session: "s"}) {
			must(t, err)
			if position++; r.Position != position || r.Scope != ann || r.Session != "s" {
				t.Fatalf("got position %d of %q want %d", r.Position, r.Session, position)
			}
		}
		if position != 1101 {
			t.Errorf("got %d messages want 1101", position)
		}
		for want, r := range map[int]conversation.Range{1060: {Last: 1060}, 1099: {To: 1100, From: 2}, 1030: {To: 1090, Last: 1030}} {
			r.Scope, r.Session = ann, "s"
			if got := count(t, db.Conversations().Messages(t.Context(), r)); got != want {
				t.Errorf("%+v: got %d messages want %d", r, got, want)
			}
		}
	})
	t.Run("sessions", func(t *testing.T) {
		const many = 150
		for i := range many {
			c := conversation.Change{Session: fmt.Sprint(i)}
			_, err := db.Conversations().Apply(t.Context(), bob, c)
			must(t, err)
			c.Describe = &conversation.Description{Metadata: numbered(i)}
			_, err = db.Conversations().Apply(t.Context(), bob, c)
			must(t, err)
		}
		for want, q := range map[int]conversation.Query{
			many: {Limit: -1}, many / 3: {Limit: -1, Where: third}, 40: {Limit: 40, Where: third}, 140: {Limit: 140}, 20: {},
		} {
			q.Scope = bob
			if got := count(t, db.Conversations().Sessions(t.Context(), q)); got != want {
				t.Errorf("%+v: got %d sessions want %d", q, got, want)
			}
		}
		seen := map[string]bool{}
		for s, err := range db.Conversations().Sessions(t.Context(), conversation.Query{Scope: bob, Limit: -1}) {
			must(t, err)
			if seen[s.ID] {
				t.Fatalf("%s comes twice", s.ID)
			}
			if seen[s.ID] = true; len(seen)%50 == 0 { // it comes first from now on
				_, err := db.Conversations().Apply(t.Context(), bob, conversation.Change{Session: s.ID})
				must(t, err)
			}
		}
		if len(seen) != many {
			t.Errorf("got %d sessions while they changed want %d", len(seen), many)
		}
	})
	t.Run("values", func(t *testing.T) {
		var writes []kv.Write
		for i := range many {
			w := kv.Write{Address: kv.Address{Namespace: []string{fmt.Sprintf("%03d", i)}, Key: "k"}, Value: numbered(i)}
			if i%150 == 0 {
				w.Value = []byte(`"` + strings.Repeat("x", 4<<20) + `"`)
			}
			writes = append(writes, w)
		}
		_, err := db.Values().Apply(t.Context(), ann, writes)
		must(t, err)
		for _, order := range []kv.Order{kv.Newest, kv.ByKey} {
			for want, q := range map[int]kv.Query{many: {Limit: -1}, many / 3: {Limit: -1, Where: third}, 70: {Limit: 70, Where: third}, 20: {}} {
				q.Order = order
				if got := count(t, db.Values().Find(t.Context(), ann, kv.Selection{Query: q})); got != want {
					t.Errorf("%+v: got %d values want %d", q, got, want)
				}
			}
		}
		if got := count(t, db.Values().Namespaces(t.Context(), ann, kv.NamespaceQuery{Limit: -1})); got != many {
			t.Errorf("got %d namespaces want %d", got, many)
		}
		if got := count(t, db.Values().Namespaces(t.Context(), ann, kv.NamespaceQuery{Prefix: []string{"007"}, Suffix: []string{kv.Any}})); got != 1 {
			t.Errorf("got %d namespaces want 1", got)
		}
	})
	t.Run("knowledge", func(t *testing.T) {
		var swaps []knowledge.Swap
		id := func(i int) string { return fmt.Sprintf("0197a6b0-7c1a-7e2f-8a3b-%012x", i) }
		for i := range many {
			swaps = append(swaps, knowledge.Swap{Source: knowledge.Source{ID: id(i), URI: fmt.Sprintf("%03d", i), Format: "text", Metadata: numbered(i)}})
			swaps[0].Chunks = append(swaps[0].Chunks, knowledge.Record{Chunk: knowledge.Chunk{ID: id(i), Ordinal: i, Content: "text"}})
		}
		must(t, db.Knowledge().Swap(t.Context(), knowledge.Change{Scope: ann, Swaps: swaps}))
		for want, q := range map[int]knowledge.Query{many: {}, many / 3: {Where: third}, 10: {Prefix: "00"}} {
			q.Scope = ann
			if got := count(t, db.Knowledge().Sources(t.Context(), q)); got != want {
				t.Errorf("%+v: got %d sources want %d", q, got, want)
			}
		}
		span := func(from, to int) knowledge.Span {
			return knowledge.Span{Scope: ann, Source: id(0), From: from, To: to}
		}
		if got := count(t, db.Knowledge().Chunks(t.Context(), []knowledge.Span{span(10, 200), span(0, many), span(290, 999), span(5, 5)})); got != 190+many+10 {
			t.Errorf("got %d chunks want %d", got, 190+many+10)
		}
		for from, to := range map[int]int{0: 128, 100: 228, 172: many} { // as many as one page has
			if got := count(t, db.Knowledge().Chunks(t.Context(), []knowledge.Span{span(from, to), span(0, 1)})); got != 129 {
				t.Errorf("got %d chunks want 129", got)
			}
		}
	})
	checkIndex(t, path)
}
