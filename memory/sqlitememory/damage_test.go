package sqlitememory_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// errorOf returns the error that ends an iteration.
func errorOf[T any](list iter.Seq2[T, error]) (err error) {
	for _, e := range list {
		err = e
	}
	return err
}

// A read of a damaged row returns an error, and never different data.
func TestCorruptElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const id = "0197a6b0-7c1a-7e2f-8a3b-000000000001"
	messages := func(db *sqlitememory.DB) error {
		_, err := db.Conversations().Search(ctx, driver.MessageSearch{Query: driver.SessionQuery{Reach: ann.Only()}, Roles: []llm.Role{"user"}, Terms: []string{"one"}, Limit: 9})
		return errors.Join(errorOf(db.Conversations().Messages(ctx, driver.MessageRange{Scope: ann, Session: "s"})), err)
	}
	values := func(db *sqlitememory.DB) error {
		return errorOf(db.Values().Find(ctx, ann, driver.ValueSelection{}))
	}
	sources := func(db *sqlitememory.DB) error {
		return errorOf(db.Documents().Sources(ctx, driver.SourceQuery{Reach: ann.Only()}))
	}
	chunks := func(db *sqlitememory.DB) error {
		return errorOf(db.Documents().Chunks(ctx, []driver.ChunkSpan{{Scope: ann, Source: id, To: 9}}))
	}
	for damage, read := range map[string]func(*sqlitememory.DB) error{
		`mem_message SET text = 'two'`:                messages,
		`mem_message SET data = '{}'`:                 messages,
		`mem_message SET id = 'other'`:                messages,
		`mem_message SET terms = x'0374776f'`:         messages,
		`mem_message SET terms = x'7f00'`:             messages,
		`mem_message SET digest = x'00'`:              messages,
		`mem_value SET value = '2'`:                   values,
		`mem_value SET terms = x'0374776f'`:           values,
		`mem_value SET address = x'6e00'`:             values,
		`mem_value SET address = x'6d00006b'`:         values,
		`mem_value SET embedding = x'0000803f'`:       values,
		`mem_value SET dimension = 3`:                 values,
		`mem_source SET uri = 'b'`:                    sources,
		`mem_source SET metadata = '{}'`:              sources,
		`mem_source SET id = x'00'`:                   sources,
		`mem_source SET trust = 9`:                    sources,
		`mem_source SET sha256 = 'other'`:             sources,
		`mem_chunk SET content = 'two'`:               chunks,
		`mem_chunk SET headings = x'0374776f'`:        chunks,
		`mem_chunk SET terms = x'0374776f'`:           chunks,
		`mem_chunk SET words = 2`:                     chunks,
		`mem_chunk SET embedding = x'00'`:             chunks,
		`mem_chunk SET id = x'00'`:                    chunks,
		`mem_chunk SET dimension = 0, embedding = ''`: chunks,
	} {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "memory.db")
			db := open(t, path, options)
			_, err := db.Conversations().Apply(ctx, ann, driver.SessionChange{Session: "s", Rows: []driver.MessageRow{
				{ID: "m", Role: llm.RoleUser, Text: "one", Data: []byte(`{"a":1}`), Terms: []string{"one"}},
			}})
			require.NoError(t, err)
			_, err = db.Values().Apply(ctx, ann, []driver.ValueWrite{{
				Address: driver.Address{Namespace: []string{"n"}, Key: "k"}, Value: []byte(`1`), Terms: []string{"one"}, Model: "m", Embedding: []float32{1, 2},
			}})
			require.NoError(t, err)
			require.NoError(t, db.Documents().Swap(ctx, driver.SourceChange{Scope: ann, Swaps: []driver.SourceSwap{{
				Source: driver.Source{ID: id, URI: "a", Format: "text", Metadata: []byte(`{"a":1}`)},
				Chunks: []driver.ChunkRecord{{Chunk: driver.Chunk{ID: id, Content: "one", Headings: []string{"one"}, Model: "m"}, Terms: []string{"one"}, Embedding: []float32{1, 2}}},
			}}}))
			require.NoError(t, read(db))
			_, err = rawDB(t, path).Exec(`UPDATE ` + damage)
			require.NoError(t, err)
			assert.ErrorIs(t, read(db), sqlitememory.ErrCorrupt)
		})
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, sqlitememory.Memory, sqlitememory.Options{MaxMessages: 3, MaxValues: 2})
	for name, store := range map[string]driver.ConversationStore{"sqlite": db.Conversations(), "in memory": inmemory.NewConversations(inmemory.Options{MaxMessages: 3})} {
		say := func(want error, c driver.SessionChange, ids ...string) {
			t.Helper()
			c.Session = "s"
			for _, id := range ids {
				c.Rows = append(c.Rows, driver.MessageRow{ID: id, Role: llm.RoleUser, Data: []byte(`{}`)})
			}
			_, err := store.Apply(ctx, ann, c)
			assert.ErrorIs(t, err, want, "%s: %q", name, ids)
		}
		say(driver.ErrQuota, driver.SessionChange{}, "1", "2", "3", "4")
		say(nil, driver.SessionChange{}, "1", "2", "3")
		say(driver.ErrQuota, driver.SessionChange{}, "4")
		say(nil, driver.SessionChange{}, "3")
		say(nil, driver.SessionChange{From: 3}, "4")
		say(driver.ErrQuota, driver.SessionChange{From: 3}, "5", "6")
	}
	for name, store := range map[string]driver.ValueStore{"sqlite": db.Values(), "in memory": inmemory.NewValues(inmemory.Options{MaxValues: 2})} {
		put := func(want error, s driver.Scope, keys ...string) {
			t.Helper()
			var writes []driver.ValueWrite
			for _, key := range keys {
				w := driver.ValueWrite{Address: driver.Address{Namespace: []string{"n"}, Key: key}}
				if key != "gone" {
					w.Value = []byte(`1`)
				}
				writes = append(writes, w)
			}
			_, err := store.Apply(ctx, s, writes)
			assert.ErrorIs(t, err, want, "%s: %q", name, keys)
		}
		put(driver.ErrQuota, ann, "1", "2", "3")
		put(nil, ann, "1", "2")
		put(nil, ann, "2", "1", "gone")
		put(driver.ErrQuota, ann, "3")
		put(nil, driver.Scope{}, "3")
	}
}
