package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// prefsGraph stores its input as the value of one key, and returns the value of another key.
func prefsGraph(t *testing.T, values *memory.Values, scope func(context.Context) memory.Scope) *graph.Graph {
	t.Helper()
	put, get, found := state.LastWins[string]("put"), state.LastWins[string]("get"), state.LastWins[json.RawMessage]("found")
	b := graph.New("prefs", put, get, found)
	b.Node("n", func(ctx context.Context, v state.View) (state.Update, error) {
		n := values.In(scope(ctx), "prefs", "bob")
		if _, err := n.Put(ctx, put.Get(v), json.RawMessage(`{"text":"by a node"}`), memory.PutOptions{}); err != nil {
			return nil, err
		}
		i, err := n.Get(ctx, get.Get(v))
		return state.Update{found.Put(i.Value)}, err
	})
	b.Edge(graph.Start, "n")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// The requests are those of langgraph_sdk 0.4.14: put_item, runs.wait and get_item.
func TestNodesAndClientsShareItems(t *testing.T) {
	t.Parallel()
	auth := func(r *http.Request) (server.User, error) { return server.User{ID: r.Header.Get("X-Api-Key")}, nil }
	for name, c := range map[string]struct {
		scope func(context.Context) memory.Scope
		set   func(*server.Options)
		other bool // whether another user has the items too
	}{
		"without users": {server.ItemScope, func(*server.Options) {}, true},
		"of a user":     {server.ItemScope, func(o *server.Options) { o.Auth = auth }, false},
		"of a team": {
			func(context.Context) memory.Scope { return server.OwnerItemScope("team") },
			func(o *server.Options) {
				o.Auth = auth
				o.Authorize = func(context.Context, server.Access) (server.Filter, error) { return server.Filter{Owner: "team"}, nil }
			}, true,
		},
		"of all": {
			func(context.Context) memory.Scope { return server.SharedItemScope() },
			func(o *server.Options) {
				o.Auth = auth
				o.Authorize = func(context.Context, server.Access) (server.Filter, error) { return server.Filter{}, nil }
			}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := openMemory["memory"](t)
			w := newWire(t, func(o *server.Options) {
				o.Values = m.Values()
				o.Graphs = map[string]*graph.Graph{"prefs": prefsGraph(t, m.Values(), c.scope)}
				c.set(o)
			})
			body := map[string]any{"namespace": []string{"prefs", "bob"}, "key": "lang", "value": map[string]string{"text": "by a client"}}
			require.Equal(t, http.StatusNoContent, w.send(http.MethodPut, "/store/items", body, "X-Api-Key", "ann").StatusCode)

			values := w.json(http.MethodPost, "/runs/wait", map[string]any{"assistant_id": "prefs", "input": map[string]string{"put": "style", "get": "lang"}}, "X-Api-Key", "ann")
			assert.Equal(t, map[string]any{"text": "by a client"}, values["found"], values)

			item := w.json(http.MethodGet, "/store/items?key=style&namespace=prefs.bob", nil, "X-Api-Key", "ann")
			assert.Equal(t, map[string]any{"text": "by a node"}, item["value"])
			item = w.json(http.MethodGet, "/store/items?key=style&namespace=prefs.bob", nil, "X-Api-Key", "joe")
			assert.Equal(t, c.other, item != nil, "the item of another user")
		})
	}
}

// The expected answers are those of LangGraph Server 0.16.7 without an index to the same requests. That server returns
// the items in the order in which they were stored.
func TestSearchOfItems(t *testing.T) {
	t.Parallel()
	for name, open := range openMemory {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, func(o *server.Options) { o.Values = open(t).Values() })
			for _, i := range []map[string]any{
				{"namespace": []string{"n", "bob"}, "key": "a", "value": map[string]any{"text": "coffee", "n": 1}},
				{"namespace": []string{"n", "bob"}, "key": "b", "value": map[string]any{"text": "english tea", "n": 2, "t": []string{"x"}}},
				{"namespace": []string{"n", "bob", "deep"}, "key": "c", "value": map[string]any{"text": "tea", "n": 3, "o": map[string]any{"n": 1}, "a.b": 1}},
				{"namespace": []string{"nx", "bob"}, "key": "d", "value": map[string]any{"text": "other"}},
			} {
				require.Equal(t, http.StatusNoContent, w.send(http.MethodPut, "/store/items", i).StatusCode)
			}
			for body, want := range map[string][]string{
				`{}`: {"a", "b", "c"}, `{"query":"tea"}`: {"a", "b", "c"}, `{"query":"zzz"}`: {"a", "b", "c"}, `{"query":""}`: {"a", "b", "c"}, `{"query":null}`: {"a", "b", "c"},
				`{"limit":0}`: {"a", "b", "c"}, `{"offset":10}`: {}, `{"limit":1000}`: {"a", "b", "c"}, `{"filter":{}}`: {"a", "b", "c"}, `{"filter":null}`: {"a", "b", "c"},
				`{"query":"tea","filter":{"n":1}}`: {"a"}, `{"filter":{"n":{"$gte":2}}}`: {"b", "c"}, `{"filter":{"n":{"$ne":2}}}`: {"a", "c"}, `{"filter":{"n":{"$gt":1,"$lt":3}}}`: {"b"},
				`{"filter":{"n":"1"}}`: {}, `{"filter":{"miss":{"$ne":1}}}`: {"a", "b", "c"}, `{"filter":{"t":["x"]}}`: {"b"}, `{"filter":{"a.b":1}}`: {"c"}, `{"filter":{"o.n":1}}`: {}, `{"refresh_ttl":true}`: {"a", "b", "c"},
			} {
				var b map[string]any
				require.NoError(t, json.Unmarshal([]byte(body), &b))
				b["namespace_prefix"] = []string{"n"}
				keys := []string{}
				found, _ := w.json(http.MethodPost, "/store/items/search", b)["items"].([]any)
				for _, i := range found {
					assert.Nil(t, i.(map[string]any)["score"], "nothing is indexed")
					keys = append(keys, i.(map[string]any)["key"].(string))
				}
				assert.ElementsMatch(t, want, keys, body)
			}
			for _, body := range []string{`{"limit":-1}`, `{"limit":2000}`, `{"offset":-1}`, `{"offset":9223372036854775807}`, `{"filter":{"n":{"$foo":2}}}`, `{"filter":"x"}`, `{"namespace_prefix":"n"}`, `{"namespace_prefix":[""]}`} {
				assert.Equal(t, http.StatusUnprocessableEntity, w.send(http.MethodPost, "/store/items/search", json.RawMessage(body)).StatusCode, body)
			}
			dotted := map[string]any{"namespace": []string{"a.b"}, "key": "k", "value": map[string]any{}}
			assert.Equal(t, http.StatusUnprocessableEntity, w.send(http.MethodPut, "/store/items", dotted).StatusCode)
			pages := []string{}
			for offset := range 4 {
				found, _ := w.json(http.MethodPost, "/store/items/search", map[string]any{"namespace_prefix": []string{"n"}, "query": "tea", "limit": 1, "offset": offset})["items"].([]any)
				for _, i := range found {
					pages = append(pages, i.(map[string]any)["key"].(string))
				}
			}
			assert.ElementsMatch(t, []string{"a", "b", "c"}, pages, "each item is on one page")
		})
	}
}

// A search with a text returns the indexed items that match the text first, and leaves out no item.
func TestSearchOfItemsByTextBeginsWithTheBest(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Values = openMemory["memory"](t).Values() })
	for key, text := range map[string]string{"a": "coffee with milk", "b": "english tea", "c": "a cold day"} {
		i := map[string]any{"namespace": []string{"n"}, "key": key, "value": map[string]any{"text": text}, "index": []string{"text"}}
		require.Equal(t, http.StatusNoContent, w.send(http.MethodPut, "/store/items", i).StatusCode)
	}
	found, _ := w.json(http.MethodPost, "/store/items/search", map[string]any{"namespace_prefix": []string{"n"}, "query": "tea"})["items"].([]any)
	require.Len(t, found, 3)
	assert.Equal(t, "b", found[0].(map[string]any)["key"])
	assert.NotNil(t, found[0].(map[string]any)["score"])
	assert.Nil(t, found[2].(map[string]any)["score"])
}
