package supacheckpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// ErrNoOwner means that the user or the proposal of a document is unknown.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerrnoowner.
var ErrNoOwner = errors.New("cannot store checkpoint without user ID and proposal ID")

// ErrDocument means that a document does not have the required form.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerrdocument.
var ErrDocument = errors.New("invalid checkpoint data format")

// ProposalOptions configures [Store.Proposals].
type ProposalOptions struct {
	// Table is the table of the documents in schema public. Empty means
	// "proposal_checkpoints".
	Table string
	// User returns the id of the user of the documents. Nil means the user of the store.
	User func(ctx context.Context) (string, error)
	// Proposal returns the id of the proposal of a thread. Put and PutSession need it.
	Proposal func(ctx context.Context, thread string) (string, error)
	// FailOpen hides errors of the database that remain after the retries, errors of stored
	// documents and errors of User: Get returns nil, as if there were no document, and Delete
	// returns nil. A program that then starts with an empty document overwrites the stored one,
	// so set it only if that is acceptable.
	FailOpen bool
}

// Proposals stores one JSON document per thread of a user in the table
// proposal_checkpoints, and sessions in proposal_sessions. A document is an object with
// a string thread_id, an object state and an optional object config. Proposals is safe
// for concurrent use.
type Proposals struct {
	store   *Store
	options ProposalOptions
	table   string // quoted
}

const defaultTable = "proposal_checkpoints"

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// Proposals returns access to the documents of the store's user, or of the user that
// ProposalOptions.User returns. The policies of the tables apply to a user's store.
// [Options.Documents] creates the tables.
func (s *Store) Proposals(o ProposalOptions) (*Proposals, error) {
	if o.Table == "" {
		o.Table = defaultTable
	}
	if !tableName.MatchString(o.Table) {
		return nil, fmt.Errorf("supacheckpoint: proposals: table %.80q: %w", o.Table, checkpoint.ErrInvalid)
	}
	return &Proposals{s, o, pgx.Identifier{"public", o.Table}.Sanitize()}, nil
}

// The queries of documents. $table is replaced by the quoted table name.
const (
	getProposalQuery = `SELECT checkpoint_data::text FROM $table WHERE thread_id = $1::text AND user_id = $2::text::uuid`

	putProposalQuery = `INSERT INTO $table (thread_id, user_id, proposal_id, checkpoint_data)
	VALUES ($1::text, $2::text::uuid, $3::text::uuid, $4::text::jsonb || jsonb_build_object('thread_id', $1::text))
	ON CONFLICT (thread_id, user_id) DO UPDATE SET checkpoint_data = excluded.checkpoint_data,
		proposal_id = excluded.proposal_id, updated_at = now()`

	deleteProposalQuery = `DELETE FROM $table WHERE thread_id = $1::text AND user_id = $2::text::uuid`

	// putProposalSession updates the session of the user, or creates it. It names no conflict
	// target, because in tables of other programs the thread id alone may be unique. It returns
	// no row if the database ignored the new row because of a unique index.
	putProposalSession = `WITH updated AS (
		UPDATE public.proposal_sessions s SET last_activity = now(), status = coalesce($4::text, s.status),
			metadata = coalesce($5::text::jsonb, s.metadata)
		WHERE s.thread_id = $1::text AND s.user_id = $2::text::uuid RETURNING 1),
	created AS (
		INSERT INTO public.proposal_sessions (thread_id, user_id, proposal_id, status, metadata)
		SELECT $1::text, $2::text::uuid, $3::text::uuid, coalesce($4::text, 'active'), coalesce($5::text::jsonb, '{}')
		WHERE NOT EXISTS (SELECT FROM updated) ON CONFLICT DO NOTHING RETURNING 1)
	SELECT 1 FROM updated UNION ALL SELECT 1 FROM created`

	proposalSessions = `SELECT s.user_id::text, s.thread_id, s.status, s.start_time, s.last_activity, coalesce(s.metadata, '{}')::text,
		(SELECT count(*)::int FROM $table c WHERE c.thread_id = s.thread_id AND c.user_id = s.user_id), s.proposal_id::text
	FROM public.proposal_sessions s
`

	proposalSessionQuery = proposalSessions + `	WHERE s.user_id = $1::text::uuid AND s.thread_id = $2::text`

	proposalSessionsQuery = proposalSessions + `	WHERE ($1::text IS NULL OR s.user_id = nullif($1::text, '')::uuid)
	AND (s.user_id::text COLLATE "C", s.thread_id COLLATE "C") > ($2::text, $3::text)
	AND starts_with(s.thread_id, $4::text) AND ($5::text[] IS NULL OR s.status = ANY ($5::text[]))
	AND s.last_activity <= now() - make_interval(secs => $6::float8)
	ORDER BY s.user_id::text COLLATE "C", s.thread_id COLLATE "C" LIMIT $7::int`

	// cleanProposalsQuery deletes sessions with their documents. It keeps documents that
	// are stored while it runs.
	cleanProposalsQuery = `WITH due AS (
		SELECT s.id, s.thread_id, s.user_id FROM public.proposal_sessions s
		WHERE ($1::text IS NULL OR s.user_id = nullif($1::text, '')::uuid) AND starts_with(s.thread_id, $2::text)
		AND ($3::text[] IS NULL OR s.status = ANY ($3::text[]))
		AND s.last_activity <= now() - make_interval(secs => $4::float8)
		AND NOT EXISTS (SELECT FROM $table c WHERE c.thread_id = s.thread_id AND c.user_id = s.user_id
			AND c.updated_at > now() - make_interval(secs => $4::float8))
		ORDER BY s.id LIMIT $5::int FOR UPDATE OF s SKIP LOCKED),
	documents AS (DELETE FROM $table c USING due WHERE c.thread_id = due.thread_id AND c.user_id = due.user_id
		AND c.updated_at <= now() - make_interval(secs => $4::float8)),
	sessions AS (DELETE FROM public.proposal_sessions s USING due WHERE s.id = due.id RETURNING 1)
	SELECT count(*)::int FROM sessions`
)

func (p *Proposals) sql(text string) string { return strings.ReplaceAll(text, "$table", p.table) }

// owner returns the id of the user of the documents. It returns [ErrRole] if the store
// belongs to another user.
func (p *Proposals) owner(ctx context.Context) (string, error) {
	storeUser := p.store.tenant
	if p.options.User == nil {
		if storeUser == "" {
			return "", ErrNoOwner
		}
		return storeUser, nil
	}
	user, err := p.options.User(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("the user: %w", err)
	case user == "":
		return "", ErrNoOwner
	}
	if user, err = canonicalUUID(user); err != nil {
		return "", fmt.Errorf("the user: %w", err)
	}
	if storeUser != "" && user != storeUser {
		return "", fmt.Errorf("user %s, with the store of %s: %w", user, storeUser, ErrRole)
	}
	return user, nil
}

func (p *Proposals) owners(ctx context.Context, thread string) (user, proposal string, err error) {
	if err := checkThread(thread); err != nil {
		return "", "", err
	}
	if user, err = p.owner(ctx); err != nil {
		return "", "", err
	}
	if p.options.Proposal != nil {
		if proposal, err = p.options.Proposal(ctx, thread); err != nil {
			return "", "", fmt.Errorf("the proposal: %w", err)
		}
	}
	if proposal == "" {
		return "", "", ErrNoOwner
	}
	if proposal, err = canonicalUUID(proposal); err != nil {
		return "", "", fmt.Errorf("the proposal: %w", err)
	}
	return user, proposal, nil
}

// Get returns the user's document of a thread, or nil if there is none. It returns
// [ErrDocument] if the stored document does not have the required form.
func (p *Proposals) Get(ctx context.Context, thread string) (json.RawMessage, error) {
	data, err := p.get(ctx, thread)
	if err == nil {
		return data, nil
	}
	err = fmt.Errorf("supacheckpoint: get proposal: thread %q: %w", thread, err)
	if !p.failsOpen(ctx, err) {
		return nil, err
	}
	p.store.link.log.ErrorContext(ctx, "cannot read a document; treating it as absent", "thread", thread, "error", err)
	return nil, nil
}

func (p *Proposals) get(ctx context.Context, thread string) (json.RawMessage, error) {
	user, err := p.owner(ctx)
	if err != nil {
		return nil, err
	}
	data, err := p.store.document(ctx, p.sql(getProposalQuery), thread, user)
	if err != nil || data == nil {
		return nil, err
	}
	return data, checkDocument(data, false)
}

// failsOpen reports whether FailOpen hides an error. FailOpen hides errors of the database, of
// stored documents and of ProposalOptions.User. It does not hide invalid arguments, a missing
// user or the end of ctx.
func (p *Proposals) failsOpen(ctx context.Context, err error) bool {
	return p.options.FailOpen && ctx.Err() == nil &&
		!errors.Is(err, checkpoint.ErrInvalid) && !errors.Is(err, ErrNoOwner)
}

// checkDocument checks the form of a document. A new document may omit thread_id.
func checkDocument(data json.RawMessage, isNew bool) error {
	var d map[string]json.RawMessage
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	for _, field := range []struct {
		name, begins string
		optional     bool
	}{
		{"thread_id", `"`, isNew}, {"config", "{", true}, {"state", "{", false},
	} {
		value, ok := d[field.name]
		switch {
		case !ok && !field.optional:
			return fmt.Errorf("%w: no %s", ErrDocument, field.name)
		case ok && !bytes.HasPrefix(value, []byte(field.begins)):
			return fmt.Errorf("%w: %s has the wrong type", ErrDocument, field.name)
		}
	}
	return nil
}

// Put stores the user's document of a thread and replaces the previous one. It sets the
// thread_id of the document. It then updates the last activity of the session. A failure
// to do so is only logged.
//
// Put returns [ErrDocument] if the document does not have the required form, and
// [ErrNoOwner] if the user or the proposal is unknown. It stores nothing in both cases.
func (p *Proposals) Put(ctx context.Context, thread string, data json.RawMessage) error {
	err := checkDocument(data, true)
	var user, proposal string
	if err == nil {
		user, proposal, err = p.owners(ctx, thread)
	}
	if err == nil {
		args := []any{thread, user, proposal, string(data)}
		err = p.store.query(ctx, p.sql(putProposalQuery), args, ignoreRow)
	}
	if err != nil {
		return fmt.Errorf("supacheckpoint: put proposal: thread %q: %w", thread, err)
	}
	if err := p.putSession(ctx, []any{thread, user, proposal, nil, nil}); err != nil {
		p.store.link.log.WarnContext(ctx, "cannot update the session of a document", "thread", thread, "error", err)
	}
	return nil
}

// Delete removes the user's document of a thread. It returns nil if there is none.
func (p *Proposals) Delete(ctx context.Context, thread string) error {
	user, err := p.owner(ctx)
	if err == nil {
		err = checkThread(thread)
	}
	if err == nil {
		err = p.store.query(ctx, p.sql(deleteProposalQuery), []any{thread, user}, ignoreRow)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("supacheckpoint: delete proposal: thread %q: %w", thread, err)
	if !p.failsOpen(ctx, err) {
		return err
	}
	p.store.link.log.ErrorContext(ctx, "cannot delete a document", "thread", thread, "error", err)
	return nil
}

// PutSession applies an update to the session of a thread and sets its last activity to
// now. It creates the session if there is none. Two users may use the same thread id. Only in
// a table where the thread id alone is unique, PutSession returns [checkpoint.ErrConflict] if
// another user has the id.
func (p *Proposals) PutSession(ctx context.Context, thread string, u SessionUpdate) error {
	err := u.check()
	var user, proposal string
	if err == nil {
		user, proposal, err = p.owners(ctx, thread)
	}
	if err == nil {
		err = p.putSession(ctx, []any{thread, user, proposal, optional(u.Status), optional(string(u.Metadata))})
	}
	if err != nil {
		return fmt.Errorf("supacheckpoint: put session of proposal: thread %q: %w", thread, err)
	}
	return nil
}

// putSession tries twice, because the first statement stores nothing if a concurrent call
// creates the same session. The second statement updates that session.
func (p *Proposals) putSession(ctx context.Context, args []any) error {
	for range 2 {
		stored := false
		err := p.store.query(ctx, putProposalSession, args, func(pgx.Rows) error { stored = true; return nil })
		if err != nil || stored {
			return err
		}
	}
	return fmt.Errorf("another user has a session for this thread id: %w", checkpoint.ErrConflict)
}

// Session returns the session of one of the user's threads, with its proposal. It returns
// [checkpoint.ErrNotFound] if there is none or if it belongs to another user.
func (p *Proposals) Session(ctx context.Context, thread string) (Session, error) {
	user, err := p.owner(ctx)
	var found Session
	if err == nil {
		found, err = p.store.session(ctx, p.sql(proposalSessionQuery), user, thread)
	}
	if err != nil {
		return Session{}, fmt.Errorf("supacheckpoint: session of proposal: thread %q: %w", thread, err)
	}
	return found, nil
}

// Sessions yields the sessions of the user, or of all users, in the same way as
// [Store.Sessions].
func (p *Proposals) Sessions(ctx context.Context, q SessionQuery) iter.Seq2[Session, error] {
	user, err := p.scope(ctx, &q)
	if err != nil {
		return func(yield func(Session, error) bool) {
			yield(Session{}, fmt.Errorf("supacheckpoint: sessions of proposals: %w", err))
		}
	}
	return p.store.sessions(ctx, p.sql(proposalSessionsQuery), user, q)
}

// CleanUp removes sessions of the user, or of all users, with the documents of their
// threads. It returns the number of removed sessions. See [Store.CleanUp] for the query.
func (p *Proposals) CleanUp(ctx context.Context, q SessionQuery) (int, error) {
	user, err := p.scope(ctx, &q)
	if err != nil {
		return 0, fmt.Errorf("supacheckpoint: clean up proposals: %w", err)
	}
	return p.store.cleanUp(ctx, p.sql(cleanProposalsQuery), user, q)
}

func (p *Proposals) scope(ctx context.Context, q *SessionQuery) (string, error) {
	if q.AllUsers {
		return "", nil
	}
	return p.owner(ctx)
}
