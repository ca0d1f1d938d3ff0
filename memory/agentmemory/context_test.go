package agentmemory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/inmemory"
)

func emptyMemory(t *testing.T) *memory.Memory {
	t.Helper()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(t, err)
	return m
}

func TestContextKeepsOtherFields(t *testing.T) {
	t.Parallel()
	ctx, m := t.Context(), emptyMemory(t)
	_, err := m.Profile(ann).Patch(ctx, "context", json.RawMessage(`{"plan":"free","since":2019,"preferences":{"a":1}}`), 0)
	require.NoError(t, err)
	set, err := agentmemory.StoreContext(ctx, m, ann, agentmemory.Context{Usage: json.RawMessage(`{"n":1.50}`), Preferences: json.RawMessage(`{"b":2}`)})
	require.NoError(t, err)
	item, err := m.Profile(ann).Get(ctx, "context")
	require.NoError(t, err)
	assert.Equal(t, `{"preferences":{"b":2},"since":2019,"usage":{"n":1.50}}`, string(item.Value))
	got, err := agentmemory.LoadContext(ctx, m, ann)
	require.NoError(t, err)
	assert.Equal(t, set.Version, got.Version)
	assert.Empty(t, got.Plan)
	assert.Equal(t, `{"n":1.50}`, string(got.Usage))
	assert.True(t, got.Known())
	assert.False(t, got.UpdatedAt.IsZero())
	stale := set
	_, err = agentmemory.StoreContext(ctx, m, ann, set)
	require.NoError(t, err)
	_, err = agentmemory.StoreContext(ctx, m, ann, stale)
	require.ErrorIs(t, err, memory.ErrConflict)
}

func TestContextInWords(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	tests := []struct {
		name string
		give agentmemory.Context
		want string
	}{
		{"nothing", agentmemory.Context{}, agentmemory.NoContext},
		{"nothing in it", agentmemory.Context{Plan: " ", Usage: raw(`{}`), Preferences: raw(`[null,""]`)}, agentmemory.NoContext},
		{"a plan", agentmemory.Context{Plan: "free"}, "Plan: free"},
		{"texts", agentmemory.Context{Plan: "free", Usage: agentmemory.Text("little"), Preferences: agentmemory.Text("tea")}, "Plan: free\nUsage: little\nPreferences: tea"},
		{"an object in a text", agentmemory.Context{Usage: agentmemory.Text(`{"n": 1}`)}, "Usage: n: 1"},
		{"a list in a text stays", agentmemory.Context{Usage: agentmemory.Text(`[1]`)}, "Usage: [1]"},
		{
			"objects",
			agentmemory.Context{Usage: raw(`{"z":1.50,"a":{"b":"x","c":true,"d":null},"l":["p","q",{"r":false}]}`)},
			"Usage: a b: x; a c: yes; l: p, q, r: no; z: 1.50",
		},
		{"a number", agentmemory.Context{Usage: raw(`17`)}, "Usage: 17"},
		{"no other line", agentmemory.Context{Plan: "free\nPlan: enterprise", Preferences: agentmemory.Text("a\r\n\u2028b\x1b[0m")}, "Plan: free Plan: enterprise\nPreferences: a b[0m"},
		{"no JSON", agentmemory.Context{Usage: raw(`{`)}, agentmemory.NoContext},
		{"long", agentmemory.Context{Plan: strings.Repeat("é", 600)}, "Plan: " + strings.Repeat("é", 500) + "…"},
		{"long by a byte", agentmemory.Context{Plan: "x" + strings.Repeat("é", 600)}, "Plan: x" + strings.Repeat("é", 499) + "…"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, test.give.Summary())
		})
	}
}

// A context is read even if another program wrote its fields as texts.
func TestContextOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`{"plan":null,"usage":null}`: agentmemory.NoContext,
		`{"plan":7}`:                 "Plan: 7",
		`{"plan":"pro","usage":"{\"n\": 9}","preferences":"dark theme"}`: "Plan: pro\nUsage: n: 9\nPreferences: dark theme",
	} {
		m := emptyMemory(t)
		_, err := m.Profile(ann).Put(t.Context(), "context", json.RawMessage(document), memory.PutOptions{})
		require.NoError(t, err)
		c, err := agentmemory.LoadContext(t.Context(), m, ann)
		require.NoError(t, err)
		assert.Equal(t, want, c.Summary())
	}
}

func TestContextsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	m := emptyMemory(t)
	for name, c := range map[string]agentmemory.Context{
		"no JSON": {Usage: json.RawMessage(`{`)}, "a NUL": {Plan: "a\x00"}, "no UTF-8": {Preferences: json.RawMessage("\"\xff\"")},
	} {
		_, err := agentmemory.StoreContext(t.Context(), m, ann, c)
		require.ErrorIs(t, err, memory.ErrInvalid, name)
	}
	_, err := agentmemory.StoreContext(t.Context(), m, memory.Scope{Tenant: "acme"}, agentmemory.Context{Plan: "pro"})
	require.ErrorIs(t, err, memory.ErrInvalid)
	c, err := agentmemory.LoadContext(t.Context(), m, memory.Scope{})
	require.NoError(t, err)
	assert.Equal(t, agentmemory.NoContext, c.Summary())
}
