package supacheckpoint_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// documentPlace returns a place whose database has the tables of agents and proposals.
func documentPlace(tb testing.TB, newPlace func(testing.TB) place) place {
	tb.Helper()
	p := newPlace(tb)
	migrateDocuments(tb, p)
	return p
}

func migrateDocuments(tb testing.TB, p place) {
	tb.Helper()
	owner := p
	owner.url = p.database
	owner.options.Documents = true
	require.NoError(tb, supacheckpoint.Migrate(context.Background(), owner.pool(tb, 1), owner.options))
}

// member creates a user and a proposal of this user, and returns both ids.
func member(tb testing.TB, p place) (user, proposal string) {
	tb.Helper()
	user = newUser()
	do(tb, p, `INSERT INTO auth.users (id) VALUES ($1)`, user)
	return user, ask[string](tb, p, `INSERT INTO public.proposals (user_id) VALUES ($1) RETURNING id::text`, user)
}

// about returns options with which every document belongs to one proposal.
func about(proposal string) supacheckpoint.ProposalOptions {
	return supacheckpoint.ProposalOptions{Proposal: func(context.Context, string) (string, error) { return proposal, nil }}
}

func proposals(tb testing.TB, store *supacheckpoint.Store, o supacheckpoint.ProposalOptions) *supacheckpoint.Proposals {
	tb.Helper()
	d, err := store.Proposals(o)
	require.NoError(tb, err)
	return d
}

// wantJSON compares two JSON values. An empty want stands for a missing document.
func wantJSON(tb testing.TB, what string, got json.RawMessage, err error, want string) {
	tb.Helper()
	switch {
	case !assert.NoError(tb, err, what):
	case want == "":
		assert.Nil(tb, got, what)
	default:
		assert.JSONEq(tb, want, string(got), what)
	}
}
