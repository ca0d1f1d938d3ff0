package supacheckpoint_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

func TestAgentsStoresAndDeletesDocuments(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := documentPlace(t, newPlace)
			agents, err := p.open(t).Agents()
			require.NoError(t, err)
			ctx, thread := t.Context(), supacheckpoint.ThreadID("interior-designer", "")
			got, err := agents.Get(ctx, thread)
			wantJSON(t, "none", got, err, "")
			for _, text := range []string{`{"messages":["hi"],"n":1.50}`, `["any","JSON"]`, `null`, `{"messages":[]}`} {
				require.NoError(t, agents.Put(ctx, thread, json.RawMessage(text)))
				got, err := agents.Get(ctx, thread)
				wantJSON(t, "put", got, err, text)
			}
			n := ask[int](t, p, `SELECT count(*)::int FROM public.agent_checkpoints WHERE thread_id = $1 AND updated_at > created_at`, thread)
			assert.Equal(t, 1, n, "rows that say when they were updated")
			for range 2 {
				assert.NoError(t, agents.Delete(ctx, thread), "delete")
			}
			got, err = agents.Get(ctx, thread)
			wantJSON(t, "deleted", got, err, "")
		})
	}
}

// Agents reads rows that other programs write with SQL, and these programs can read its rows.
func TestAgentsSharesRowsWithPlainSQL(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	agents, err := p.open(t).Agents()
	require.NoError(t, err)
	ctx, thread := t.Context(), supacheckpoint.ThreadID("designer", "conversation-1")
	const upsert = `INSERT INTO agent_checkpoints (thread_id, checkpoint_data, updated_at) VALUES ($1, $2::jsonb, now())
		ON CONFLICT (thread_id) DO UPDATE SET checkpoint_data = excluded.checkpoint_data, updated_at = excluded.updated_at`
	do(t, p, upsert, thread, `{"messages": [], "iterations": 3}`)
	got, err := agents.Get(ctx, thread)
	wantJSON(t, "theirs", got, err, `{"messages":[],"iterations":3}`)
	require.NoError(t, agents.Put(ctx, thread, json.RawMessage(`{"messages": [{"role": "user"}]}`)))
	const read = `SELECT checkpoint_data->'messages'->0->>'role' FROM agent_checkpoints WHERE thread_id = $1`
	assert.Equal(t, "user", ask[string](t, p, read, thread))
}

func TestAgentsRejectsUsersAndInvalidDocuments(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	for name, s := range map[string]*supacheckpoint.Store{"a user": as(t, store, ann), "the service, for a user": forUser(t, store, ann)} {
		_, err := s.Agents()
		assert.ErrorIs(t, err, supacheckpoint.ErrRole, name)
	}
	agents, err := store.Agents()
	require.NoError(t, err)
	for name, c := range map[string]struct{ thread, data string }{
		"no thread":        {"", `{}`},
		"a NUL":            {"a\x00b", `{}`},
		"no JSON":          {"t", `{`},
		"a NUL in JSON":    {"t", `{"a":"\u0000"}`},
		"half a character": {"t", `{"a":"\ud800"}`},
	} {
		assert.ErrorIs(t, agents.Put(t.Context(), c.thread, json.RawMessage(c.data)), checkpoint.ErrInvalid, name)
	}
}
