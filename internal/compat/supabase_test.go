package compat_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

const (
	// ann is the id of the user who owns all threads of the Supabase fixtures.
	ann = "11111111-1111-4111-8111-111111111111"
	// proposal is the id of the subject of the stored documents.
	proposal = "22222222-2222-4222-8222-222222222222"

	agentDocument    = `{"plan": ["look", "act"], "count": 3, "text": "ä \u2028"}`
	proposalDocument = `{"thread_id": "about it", "state": {"sections": {"goals": "done"}}, "config": {"depth": 2}}`
	sessionMetadata  = `{"lang": "de"}`
)

func aboutTheProposal() supacheckpoint.ProposalOptions {
	return supacheckpoint.ProposalOptions{Proposal: func(context.Context, string) (string, error) { return proposal, nil }}
}

// openSupabase loads the fixture into a schema, and opens a store with the rights of ann.
func (f fixture) openSupabase(t *testing.T, schema string) *supacheckpoint.Store {
	t.Helper()
	url := supatest.Database(t, nil)
	f.loadCheckpoints(t, url, schema)
	store := openService(t, url, supacheckpoint.Options{Checkpoint: pgcheckpoint.Options{Schema: schema}})
	mine, err := store.As(supacheckpoint.User{ID: ann})
	require.NoError(t, err)
	return mine
}

// openService migrates the database of a project to the current version. It opens a store
// with the rights of the service role.
func openService(t *testing.T, url string, o supacheckpoint.Options) *supacheckpoint.Store {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, supacheckpoint.Migrate(t.Context(), pool, o))
	o.Migrated = true
	store, err := supacheckpoint.Open(t.Context(), supatest.Authenticator(t, url), o)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

func TestReadsSessionsOfVersion01(t *testing.T) {
	t.Parallel()
	f := fixture{store: "supabase", durability: graph.Sync}
	store := f.openSupabase(t, pgtest.SchemaIn(t, supatest.Database(t, nil)))
	s, err := store.Session(t.Context(), "chat")
	require.NoError(t, err)
	assert.Equal(t, ann, s.User)
	assert.Equal(t, "completed", s.Status)
	assert.JSONEq(t, sessionMetadata, string(s.Metadata))
	assert.Equal(t, 96, s.Checkpoints)
	s, err = store.Session(t.Context(), "question")
	require.NoError(t, err)
	assert.Equal(t, supacheckpoint.StatusActive, s.Status)
	count := 0
	for _, err := range store.Sessions(t.Context(), supacheckpoint.SessionQuery{}) {
		require.NoError(t, err)
		count++
	}
	assert.Equal(t, len(scenarios), count)
}

// Documents and sessions that version 0.1 has stored in the schema public can be read and
// replaced. No other test uses this schema.
func TestReadsDocumentsOfVersion01(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), supatest.Database(t, nil)
	pgtest.Do(t, url, `INSERT INTO auth.users (id) VALUES ($1)`, ann)
	t.Cleanup(func() {
		pgtest.Do(t, url, `DROP TABLE public.agent_checkpoints, public.proposal_sessions, public.proposal_checkpoints, public.proposals;
			DELETE FROM auth.users`)
	})
	load(t, url, "public", "supabase-documents-schema.sql", "supabase-documents.rows")
	store := openService(t, url, supacheckpoint.Options{Checkpoint: pgcheckpoint.Options{Schema: pgtest.SchemaIn(t, url)}, Documents: true})
	agents, err := store.Agents()
	require.NoError(t, err)
	got, err := agents.Get(ctx, "planner")
	require.NoError(t, err)
	assert.JSONEq(t, agentDocument, string(got))
	require.NoError(t, agents.Put(ctx, "planner", json.RawMessage(`{}`)))

	mine, err := store.As(supacheckpoint.User{ID: ann})
	require.NoError(t, err)
	proposals, err := mine.Proposals(aboutTheProposal())
	require.NoError(t, err)
	got, err = proposals.Get(ctx, "about it")
	require.NoError(t, err)
	assert.JSONEq(t, proposalDocument, string(got))
	s, err := proposals.Session(ctx, "about it")
	require.NoError(t, err)
	assert.Equal(t, "review", s.Status)
	assert.Equal(t, proposal, s.Proposal)
	assert.JSONEq(t, sessionMetadata, string(s.Metadata))
	require.NoError(t, proposals.Put(ctx, "about it", json.RawMessage(`{"state": {}}`)))
	require.NoError(t, proposals.Put(ctx, "another", json.RawMessage(`{"state": {}}`)))
}
