package pgmemory_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// A tripCounter counts round trips: answers that follow a request.
type tripCounter struct {
	mu   sync.Mutex
	sent bool
	n    int
}

type countedConn struct {
	net.Conn
	counter *tripCounter
}

func (c countedConn) Write(b []byte) (int, error) {
	c.counter.mu.Lock()
	c.counter.sent = true
	c.counter.mu.Unlock()
	return c.Conn.Write(b)
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.counter.mu.Lock()
	defer c.counter.mu.Unlock()
	if n > 0 && c.counter.sent {
		c.counter.sent = false
		c.counter.n++
	}
	return n, err
}

// take returns the count, and sets it to zero.
func (c *tripCounter) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

// counted returns a memory on one connection that counts its round trips.
func counted(t *testing.T, p place, mode pgx.QueryExecMode) (*pgmemory.DB, *tripCounter) {
	t.Helper()
	counter := &tripCounter{}
	pool := p.pool(t, func(c *pgxpool.Config) {
		c.MaxConns = 1
		c.ConnConfig.DefaultQueryExecMode = mode
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return countedConn{conn, counter}, err
		}
	})
	return p.migrated(t, pool), counter
}

// Each call takes one round trip, in every query execution mode.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	type given struct {
		place  func(testing.TB) place
		mode   pgx.QueryExecMode
		before bool
	}
	for name, g := range map[string]given{
		"cached":                {directPlace, pgx.QueryExecModeCacheStatement, false},
		"cached, with a role":   {directPlace, pgx.QueryExecModeCacheStatement, true},
		"described":             {directPlace, pgx.QueryExecModeCacheDescribe, false},
		"exec":                  {directPlace, pgx.QueryExecModeExec, false},
		"simple":                {directPlace, pgx.QueryExecModeSimpleProtocol, false},
		"pooled":                {pooledPlace, pgx.QueryExecModeExec, false},
		"pooled, with a role":   {pooledPlace, pgx.QueryExecModeExec, true},
		"pooled, simple":        {pooledPlace, pgx.QueryExecModeSimpleProtocol, false},
		"pooled, cache by user": {pooledPlace, pgx.QueryExecModeCacheStatement, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := g.place(t)
			if g.before {
				p.options.Before = func(_ context.Context, b *pgx.Batch) error {
					b.Queue(`SELECT set_config('role', 'postgres', true), set_config('app.user', $1::text, true)`, "ann")
					return nil
				}
			}
			db, counter := counted(t, p, g.mode)
			for _, user := range []string{"warm up", "measured"} {
				for _, call := range slices.Concat(calls(t, db.Facts(), user), talkCalls(t, db.Conversations(), user), valueCalls(t, db.Values(), user),
					turnCalls(t, db.Turns(), user), documentCalls(t, db.Documents(), user)) {
					counter.take()
					call.do()
					n := counter.take()
					assert.False(t, n != 1 && user == "measured", call.name)
				}
			}
		})
	}
}

type call struct {
	name string
	do   func()
}

// calls are the calls of a program for the facts of a user, in order.
func calls(t *testing.T, store driver.FactStore, user string) []call {
	t.Helper()
	ctx := context.Background()
	scope := driver.Scope{Tenant: "acme", User: user}
	id := newID()
	ok := func(err error) {
		assert.NoError(t, err)
	}
	apply := func(changes ...driver.FactChange) func() {
		return func() {
			_, err := store.Apply(ctx, scope, changes)
			ok(err)
		}
	}
	first := adding("tea with milk", 1, 0)
	first.Record.ID, first.Job = id, "job"
	var many []driver.FactChange
	for i := range 200 {
		many = append(many, adding(fmt.Sprint("fact ", i), float32(i), 1))
	}
	newer := adding("tea without milk", 0, 1)
	newer.Supersedes = []string{id}
	return []call{
		{"store", apply(first)},
		{"store 200", apply(many...)},
		{"store with a vector, in place of another", apply(newer)},
		{"recall", func() {
			c, err := store.Search(ctx, driver.FactSearch{
				Query: driver.FactQuery{Reach: scope.Only(), Where: []driver.Condition{driver.Where("n", driver.NotEqual, 1)}}, Terms: []string{"tea", "milk"},
				Embedding: []float32{1, 1}, Model: "m", Limit: 100,
			})
			ok(err)
			require.False(t, len(c.Records) != 100 && len(c.Records) != 101)
			assert.EqualValues(t, 201, c.Facts)
		}},
		{"list", func() {
			n := 0
			for _, err := range store.Find(ctx, driver.FactQuery{Reach: scope.Only(), Limit: 20}) {
				ok(err)
				n++
			}
			assert.Equal(t, 20, n)
		}},
		{"history", func() {
			for _, err := range store.History(ctx, scope, id) {
				ok(err)
			}
		}},
		{"sweep", func() { _, err := store.Sweep(ctx, 10); ok(err) }},
		{"forget", func() { _, err := store.Forget(ctx, scope); ok(err) }},
	}
}

// talkCalls are the calls of a program for the conversations of a user, in order.
func talkCalls(t *testing.T, store driver.ConversationStore, user string) []call {
	t.Helper()
	ctx := context.Background()
	scope := driver.Scope{Tenant: "acme", User: user}
	ok := func(err error) {
		assert.NoError(t, err)
	}
	apply := func(c driver.SessionChange) func() {
		return func() {
			_, err := store.Apply(ctx, scope, c)
			ok(err)
		}
	}
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprint("message ", i)
	}
	read := func(r driver.MessageRange, want int) func() {
		return func() {
			n := 0
			r.Scope, r.Session = scope, "s"
			for _, err := range store.Messages(ctx, r) {
				ok(err)
				n++
			}
			assert.Equal(t, want, n)
		}
	}
	return []call{
		{"append", apply(saying("s", "one", "two"))},
		{"append 300", apply(saying("s", many...))},
		{"describe", apply(driver.SessionChange{Session: "s", Describe: &driver.SessionDescription{Title: "title", Metadata: []byte(`{"n":1}`)}})},
		{"load", read(driver.MessageRange{}, 302)},
		{"last", read(driver.MessageRange{Last: 10}, 10)},
		{"list sessions", func() {
			for s, err := range store.Sessions(ctx, driver.SessionQuery{Reach: scope.Only(), Where: []driver.Condition{driver.Where("n", driver.Equal, 1)}}) {
				ok(err)
				assert.Equal(t, "title", s.Title)
			}
		}},
		{"search", func() {
			c, err := store.Search(ctx, driver.MessageSearch{Query: driver.SessionQuery{Reach: scope.Only()}, Roles: []llm.Role{llm.RoleUser}, Terms: []string{"two", "message"}, Limit: 100})
			ok(err)
			require.Len(t, c.Rows, 100)
			assert.EqualValues(t, 302, c.Messages)
		}},
		{"delete", apply(driver.SessionChange{Session: "s", Delete: true})},
		{"sweep", func() { _, err := store.Sweep(ctx, scope, 1, 10); ok(err) }},
		{"forget", func() { _, err := store.Forget(ctx, scope); ok(err) }},
	}
}

// valueCalls are the calls of a program for the values of a user, in order.
func valueCalls(t *testing.T, store driver.ValueStore, user string) []call {
	t.Helper()
	ctx := context.Background()
	scope := driver.Scope{Tenant: "acme", User: user}
	ok := func(err error) {
		assert.NoError(t, err)
	}
	var writes []driver.ValueWrite
	var addresses []driver.Address
	for i := range 300 {
		w := putting(fmt.Sprint("k", i), fmt.Sprintf(`{"n":%d}`, i))
		w.TTL, w.Refresh, w.Embedding, w.Model = time.Hour, true, []float32{float32(i), 1}, "m"
		writes, addresses = append(writes, w), append(addresses, w.Address)
	}
	put := func(writes ...driver.ValueWrite) func() {
		return func() {
			_, err := store.Apply(ctx, scope, writes)
			ok(err)
		}
	}
	find := func(q driver.ValueSelection, want int) func() {
		return func() {
			n := 0
			for _, err := range store.Find(ctx, scope, q) {
				ok(err)
				n++
			}
			assert.Equal(t, want, n)
		}
	}
	return []call{
		{"put", put(writes[0])},
		{"put 300", put(writes...)},
		{"get", find(driver.ValueSelection{Addresses: addresses[:1], Refresh: true}, 1)},
		{"get 300", find(driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}, Addresses: addresses, Refresh: true}, 300)},
		{"list values", find(driver.ValueSelection{ValueQuery: driver.ValueQuery{Where: []driver.Condition{driver.Where("n", driver.Less, 10)}}, Prefix: []string{"n"}, Refresh: true}, 10)},
		{"namespaces", func() {
			for _, err := range store.Namespaces(ctx, scope, driver.NamespaceQuery{MaxDepth: 1}) {
				ok(err)
			}
		}},
		{"search values", func() {
			c, err := store.Search(ctx, scope, driver.ValueSearch{Terms: []string{"word"}, Embedding: []float32{1, 1}, Model: "m", Limit: 10})
			ok(err)
			require.GreaterOrEqual(t, len(c.Records), 10)
			assert.EqualValues(t, 300, c.Values)
		}},
		{"remove", put(driver.ValueWrite{Address: addresses[0]})},
		{"sweep values", func() { _, err := store.Sweep(ctx, 10); ok(err) }},
		{"forget values", func() { _, err := store.Forget(ctx, scope); ok(err) }},
	}
}
