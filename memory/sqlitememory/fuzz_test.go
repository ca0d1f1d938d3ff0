package sqlitememory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/inmemory"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/sqlitememory"
)

var fuzzOps = []driver.Op{
	driver.Equal, driver.NotEqual, driver.Less, driver.LessEqual, driver.Greater, driver.GreaterEqual, driver.In, driver.Has, driver.Exists,
}

// For any metadata and condition, a query selects the facts of the scope that Condition.Match
// accepts, and no others.
func FuzzConditions(f *testing.F) {
	for op := range fuzzOps {
		for _, seed := range [][3]string{
			{`{"a":9}`, "a", `10`},
			{`{"a":"9","b":[1,{"c":null}]}`, "b", `[1,{"c":null}]`},
			{`{"a\"b":{"":1e400}}`, "a\"b\x00", `1e400`},
			{`{"a":1,"a":2}`, "a", `2`},
			{`{"'); DROP TABLE mem_fact; --":true}`, `'); DROP TABLE mem_fact; --`, `true`},
			{`{"$.a[0]":"\ud800"}`, `$.a[0]`, `"\ufffd"`},
			{`{"a":{"a":{"a":-0.0}}}`, "a\x00a\x00a", `0`},
			{``, "a", `null`},
		} {
			f.Add(seed[0], seed[1], op, seed[2])
		}
	}
	store := open(f, sqlitememory.Memory, options).Facts()
	var users atomic.Int64 // each run uses a new user
	f.Fuzz(func(t *testing.T, metadata, path string, op int, value string) {
		if op < 0 || op >= len(fuzzOps) {
			return
		}
		ctx := context.Background()
		m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
		require.NoError(t, err)
		ann := driver.Scope{Tenant: "acme", User: fmt.Sprint("ann ", users.Add(1))}
		stored, err := m.Store(ctx, ann, driver.Fact{Content: "fact", Metadata: json.RawMessage(metadata), Trust: driver.Stated})
		if err != nil {
			return
		}
		_, err = m.Store(ctx, driver.Scope{Tenant: "acme", User: "bob of " + ann.User}, driver.Fact{Content: "foreign", Metadata: json.RawMessage(metadata), Trust: driver.Stated})
		require.NoError(t, err)
		fact, err := m.Get(ctx, ann, stored[0].ID)
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSpace(metadata), string(fact.Metadata))
		c := driver.Condition{Path: strings.Split(path, "\x00"), Op: fuzzOps[op], Value: json.RawMessage(value)}
		q := driver.FactQuery{Reach: ann.Only(), Where: []driver.Condition{c}, Limit: -1}
		if q.Validate() != nil {
			return
		}
		want := 0
		if c.Match(fact.Metadata) {
			want = 1
		}
		got := find(t, store, q)
		assert.Len(t, got, want, "%q %q %s %q: listed", metadata, c.Path, c.Op, value)
		found, err := store.Search(ctx, driver.FactSearch{Query: q, Terms: []string{"fact", "foreign"}, Limit: 5})
		require.NoError(t, err)
		require.Len(t, found.Records, want, "%q %q %s %q: searched", metadata, c.Path, c.Op, value)
		assert.Equal(t, int64(want), found.Facts, "%q %q %s %q: searched", metadata, c.Path, c.Op, value)
	})
}

// Data of a scope is not found in a scope with any other name.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"", "a", "'", `"`, "%", "_", "\\", "a\x00b", "\xff", "'; DROP TABLE mem_fact; --", `") OR 1=1 --`, "NULL", "🙂", "terms:a", "a OR b", "*", "NEAR("} {
		f.Add(seed, "a")
		f.Add("b", seed)
	}
	store := open(f, sqlitememory.Memory, options).Facts()
	f.Fuzz(func(t *testing.T, name, other string) {
		ctx := context.Background()
		s, foreign := driver.Scope{Tenant: name, Workspace: name, User: name, Agent: name}, driver.Scope{Tenant: name, Workspace: name, User: name, Agent: other}
		if s.Validate() != nil || foreign.Validate() != nil || name == other {
			return
		}
		for _, scope := range []driver.Scope{s, foreign} {
			_, err := store.Forget(ctx, scope)
			require.NoError(t, err)
		}
		named := func(r *driver.FactRecord) {
			r.Conversation, r.Model, r.Embedding, r.Terms = name, name, []float32{1}, []string{name, other + name}
		}
		id := add(t, store, s, fmt.Sprintf("%q", name), named)
		add(t, store, foreign, fmt.Sprintf("%q", name), named)
		q := driver.FactQuery{Reach: s.Only(), Conversation: name}
		got := find(t, store, q)
		require.Len(t, got, 1)
		assert.Equal(t, id, got[0].ID)
		c, err := store.Search(ctx, driver.FactSearch{Query: q, Terms: []string{name}, Embedding: []float32{1}, Model: name, Limit: 5})
		require.NoError(t, err)
		require.Len(t, c.Records, 1)
		require.Equal(t, id, c.Records[0].ID)
		require.EqualValues(t, 1, c.Facts)
		assert.EqualValues(t, 1, c.Frequency[0])
		n, err := store.Forget(ctx, foreign)
		require.NoError(t, err)
		assert.NotEqual(t, 0, n)
	})
}
