package supacheckpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// Two users have a session with the same thread id, and neither learns of the other: no
// statement succeeds or fails because of the other row. The service updates the session of
// the user it names.
func TestProposalSessionsTellNothingOfOtherUsers(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	userA, proposalA := member(t, p)
	userB, proposalB := member(t, p)
	var said bytes.Buffer
	p.options.Logger = slog.New(slog.NewTextHandler(&said, nil))
	store, ctx := p.open(t), t.Context()
	thread := supacheckpoint.ProposalThreadID(proposalA, "shared")
	a, b := proposals(t, as(t, store, userA), about(proposalA)), proposals(t, as(t, store, userB), about(proposalB))
	for _, d := range []*supacheckpoint.Proposals{a, b, a} {
		require.NoError(t, d.Put(ctx, thread, json.RawMessage(`{"state":{}}`)))
	}
	assert.NotContains(t, said.String(), "level=WARN")
	require.NoError(t, proposals(t, forUser(t, store, userB), about(proposalB)).PutSession(ctx, thread, supacheckpoint.SessionUpdate{Status: "closed"}))
	for who, want := range map[*supacheckpoint.Proposals][2]string{a: {"active", proposalA}, b: {"closed", proposalB}} {
		s, err := who.Session(ctx, thread)
		require.NoError(t, err)
		assert.Equal(t, want, [2]string{s.Status, s.Proposal})
	}
	conn := p.conn(t)
	for _, id := range []string{supacheckpoint.ProposalThreadID(proposalA, "only a"), "nobody's thread"} {
		if id != "nobody's thread" {
			require.NoError(t, a.Put(ctx, id, json.RawMessage(`{"state":{}}`)))
		}
		_, err := asUser(t, conn, userB, `INSERT INTO proposal_sessions (thread_id, user_id, proposal_id) VALUES ('`+strings.ReplaceAll(id, "'", "''")+`', '`+userB+`', '`+proposalB+`')`)
		assert.NoError(t, err, "b creates a session for %s", id)
	}
}

// Concurrent calls that create the same session all succeed.
func TestConcurrentPutSessionsOfAProposal(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	user, proposal := member(t, p)
	d := proposals(t, as(t, p.open(t), user), about(proposal))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			assert.NoError(t, d.PutSession(context.Background(), "thread of "+user, supacheckpoint.SessionUpdate{}))
		})
	}
	wg.Wait()
}

// TestPutLogsThatTheSessionBelongsToAnotherUser proves what happens if a thread id can have only one
// session, and another user has it. Put stores the document and logs a warning. PutSession returns an
// error. The session of the other user stays.
func TestPutLogsThatTheSessionBelongsToAnotherUser(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	userA, proposalA := member(t, p)
	userB, proposalB := member(t, p)
	var said bytes.Buffer
	p.options.Logger = slog.New(slog.NewTextHandler(&said, nil))
	store := p.open(t)
	thread := supacheckpoint.ProposalThreadID(proposalA, "shared")
	// The index covers this thread only, because other tests use the table too.
	do(t, p, `CREATE UNIQUE INDEX ON public.proposal_sessions (thread_id) WHERE thread_id = '`+thread+`'`)
	first := proposals(t, as(t, store, userA), about(proposalA))
	second := proposals(t, as(t, store, userB), about(proposalB))
	for _, d := range []*supacheckpoint.Proposals{first, second} {
		require.NoError(t, d.Put(t.Context(), thread, json.RawMessage(`{"state":{}}`)))
	}
	assert.Contains(t, said.String(), "level=WARN")
	assert.Contains(t, said.String(), "another user has a session")
	require.ErrorIs(t, second.PutSession(t.Context(), thread, supacheckpoint.SessionUpdate{Status: "completed"}), checkpoint.ErrConflict)
	assert.Equal(t, userA, ask[string](t, p, `SELECT user_id::text FROM public.proposal_sessions WHERE thread_id = $1`, thread))
}
