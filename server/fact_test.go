package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/server"
)

func storeFact(t *testing.T, m *memory.Memory, s memory.Scope, content string) string {
	t.Helper()
	stored, err := m.Store(t.Context(), s, memory.Fact{Content: content, Trust: memory.Stated})
	require.NoError(t, err)
	return stored[0].ID
}

// A shownFact is a fact as the studio reads it.
type shownFact struct {
	Content string          `json:"content"`
	Trust   string          `json:"trust"`
	ValidTo *time.Time      `json:"valid_to"`
	Meta    json.RawMessage `json:"metadata"`
	Score   *memory.Score   `json:"score"`
}

func TestFactsOfAScope(t *testing.T) {
	t.Parallel()
	for kind := range openMemory {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := openMemory[kind](t)
			w := newWire(t, func(o *server.Options) { o.Memory = m })
			ann := memory.Scope{Tenant: "shop", User: "ann"}
			storeFact(t, m, ann, "Ann drinks green tea")
			old := storeFact(t, m, ann, "Ann lives in Leeds")
			storeFact(t, m, memory.Scope{Tenant: "shop", User: "bob"}, "Bob drinks tea")
			_, err := m.Store(t.Context(), ann, memory.Fact{Content: "Ann may like tea cakes", Metadata: json.RawMessage(`{"weft.evidence":{"quote":"cakes"}}`)})
			require.NoError(t, err)
			require.NoError(t, m.Close(t.Context(), ann, old))
			assert.Equal(t, true, w.json(http.MethodGet, "/weft/info", nil)["facts"])
			scopes := w.json(http.MethodGet, "/weft/memory/scopes", nil)
			assert.ElementsMatch(t, []any{map[string]any{"tenant": "shop", "user": "ann"}, map[string]any{"tenant": "shop", "user": "bob"}}, scopes["scopes"])
			ask := func(more map[string]any) []shownFact {
				body := map[string]any{"scope": ann}
				for k, v := range more {
					body[k] = v
				}
				var out struct{ Facts []shownFact }
				require.NoError(t, json.NewDecoder(w.send(http.MethodPost, "/weft/memory/facts", body).Body).Decode(&out))
				return out.Facts
			}
			plain := ask(nil)
			require.Len(t, plain, 1)
			assert.Equal(t, "Ann drinks green tea", plain[0].Content)
			assert.Equal(t, "stated", plain[0].Trust)
			assert.Nil(t, plain[0].Score)
			all := ask(map[string]any{"untrusted": true, "closed": true})
			require.Len(t, all, 3)
			found := ask(map[string]any{"text": "which tea?", "untrusted": true})
			require.Len(t, found, 2)
			for i, f := range found {
				assert.Equal(t, i+1, f.Score.Rank)
				assert.Positive(t, f.Score.BM25)
			}
			assert.Len(t, ask(map[string]any{"text": "which tea?"}), 1)
			resp := w.send(http.MethodPost, "/weft/memory/facts", map[string]any{"scope": map[string]any{"user": "a\x00"}})
			assert.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
		})
	}
}

// If the server has users, it shows a user only the facts in the scopes that Options.Scopes returns for the user.
func TestFactsOfOtherUsersAreHidden(t *testing.T) {
	t.Parallel()
	m := openMemory["memory"](t)
	storeFact(t, m, memory.Scope{User: "ann"}, secret)
	own := func(_ context.Context, u server.User) ([]memory.Scope, error) {
		if u.ID == "eve" {
			return nil, &server.Refusal{Status: http.StatusForbidden, Detail: "Eve sees no facts."}
		}
		return []memory.Scope{{User: u.ID}}, nil
	}
	_, web := testServer(t, func(o *server.Options) { o.Memory, o.Scopes = m, own })
	body := map[string]any{"scope": map[string]any{"user": "ann"}}
	assert.Contains(t, ask(t, web, "ann", http.MethodPost, "/weft/memory/facts", body).body, secret)
	assert.JSONEq(t, `{"facts":[],"more":false}`, ask(t, web, "bob", http.MethodPost, "/weft/memory/facts", body).body)
	assert.JSONEq(t, `{"scopes":[{"user":"bob"}],"more":false}`, ask(t, web, "bob", http.MethodGet, "/weft/memory/scopes", nil).body)
	assert.Equal(t, http.StatusForbidden, ask(t, web, "eve", http.MethodPost, "/weft/memory/facts", body).status)
	_, web = testServer(t, func(o *server.Options) { o.Memory, o.Scopes = m, nil })
	assert.JSONEq(t, `{"scopes":[],"more":false}`, ask(t, web, "ann", http.MethodGet, "/weft/memory/scopes", nil).body, "users see nothing unless Scopes says so")
	assert.JSONEq(t, `{"facts":[],"more":false}`, ask(t, web, "ann", http.MethodPost, "/weft/memory/facts", body).body)
}
