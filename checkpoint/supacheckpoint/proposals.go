package supacheckpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// ErrNoOwner says that a document can not be stored, as it is not known whose it is and
// which proposal it is about.
var ErrNoOwner = errors.New("cannot store checkpoint without user ID and proposal ID")

// ErrDocument says that a document has not the form that it must have.
var ErrDocument = errors.New("invalid checkpoint data format")

// ProposalOptions configures [Store.Proposals].
type ProposalOptions struct {
	// Table is the table of the documents in schema public. Empty stands for
	// "proposal_checkpoints".
	Table string
	// User returns whose documents they are. Nil stands for the user of the store.
	User func(ctx context.Context) (string, error)
	// Proposal returns the proposal that a thread is about. It is needed to store.
	Proposal func(ctx context.Context, thread string) (string, error)
	// FailOpen lets Get return nil, as if there were no document, and Delete no error,
	// when the database fails them for good. A program that then starts from nothing
	// overwrites what was there: leave it out unless that is wanted.
	FailOpen bool
}

// Proposals are JSON documents, one for each thread of a user, in the table
// proposal_checkpoints, with sessions in proposal_sessions. A document is an object
// with a text thread_id, an object state, and perhaps an object config. It is safe for
// use by any number of goroutines.
type Proposals struct {
	store   *Store
	options ProposalOptions
	table   string // quoted
	log     *slog.Logger
}

const defaultTable = "proposal_checkpoints"

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// Proposals returns the documents of the store's user, or of whom the options say. A
// user's store is under the policies of the tables. [MigrateDocuments] makes them.
func (s *Store) Proposals(o ProposalOptions) (*Proposals, error) {
	if o.Table == "" {
		o.Table = defaultTable
	}
	if !tableName.MatchString(o.Table) {
		return nil, fmt.Errorf("supacheckpoint: proposals: table %.80q: %w", o.Table, checkpoint.ErrInvalid)
	}
	log := s.options.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Proposals{s, o, pgx.Identifier{"public", o.Table}.Sanitize(), log}, nil
}

// In these statements, $table stands for the table of the documents.
const (
	getProposalQuery = `SELECT checkpoint_data::text FROM $table WHERE thread_id = $1::text AND user_id = $2::text::uuid`

	putProposalQuery = `INSERT INTO $table (thread_id, user_id, proposal_id, checkpoint_data)
	VALUES ($1::text, $2::text::uuid, $3::text::uuid, $4::text::jsonb || jsonb_build_object('thread_id', $1::text))
	ON CONFLICT (thread_id, user_id) DO UPDATE SET checkpoint_data = excluded.checkpoint_data,
		proposal_id = excluded.proposal_id, updated_at = now()`

	deleteProposalQuery = `DELETE FROM $table WHERE thread_id = $1::text AND user_id = $2::text::uuid`

	// putProposalSession never touches a session of another user, whose thread may
	// have the same id.
	putProposalSession = `INSERT INTO public.proposal_sessions AS s (thread_id, user_id, proposal_id, status, metadata)
	VALUES ($1::text, $2::text::uuid, $3::text::uuid, coalesce($4::text, 'active'), coalesce($5::text::jsonb, '{}'))
	ON CONFLICT (thread_id) DO UPDATE SET last_activity = now(), status = coalesce($4::text, s.status),
		metadata = coalesce($5::text::jsonb, s.metadata)
	WHERE s.user_id = excluded.user_id RETURNING 1`

	proposalSessionsQuery = `SELECT s.user_id::text, s.thread_id, s.status, s.start_time, s.last_activity,
		coalesce(s.metadata, '{}')::text, (SELECT count(*)::int FROM $table c WHERE c.thread_id = s.thread_id AND c.user_id = s.user_id)
	FROM public.proposal_sessions s
	WHERE ($1::text IS NULL OR s.user_id::text = $1::text)
	AND (s.user_id::text COLLATE "C", s.thread_id COLLATE "C") > ($2::text, $3::text)
	AND starts_with(s.thread_id, $4::text) AND ($5::text[] IS NULL OR s.status = ANY ($5::text[]))
	AND s.last_activity <= clock_timestamp() - make_interval(secs => $6::float8)
	ORDER BY s.user_id::text COLLATE "C", s.thread_id COLLATE "C" LIMIT $7::int`

	cleanProposalsQuery = `WITH due AS (
		SELECT id, thread_id, user_id FROM public.proposal_sessions
		WHERE ($1::text IS NULL OR user_id::text = $1::text) AND starts_with(thread_id, $2::text)
		AND ($3::text[] IS NULL OR status = ANY ($3::text[]))
		AND last_activity <= clock_timestamp() - make_interval(secs => $4::float8)
		ORDER BY id LIMIT $5::int FOR UPDATE SKIP LOCKED),
	documents AS (DELETE FROM $table c USING due WHERE c.thread_id = due.thread_id AND c.user_id = due.user_id),
	sessions AS (DELETE FROM public.proposal_sessions s USING due WHERE s.id = due.id RETURNING 1)
	SELECT count(*)::int FROM sessions`
)

func (p *Proposals) sql(text string) string { return strings.ReplaceAll(text, "$table", p.table) }

// owner returns the user, who is needed for whatever is done with a document.
func (p *Proposals) owner(ctx context.Context) (string, error) {
	user := p.store.tenant
	if p.options.User != nil {
		var err error
		if user, err = p.options.User(ctx); err != nil {
			return "", fmt.Errorf("the user: %w", err)
		}
	}
	if user == "" {
		return "", ErrNoOwner
	}
	return canonicalUUID(user)
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
	proposal, err = canonicalUUID(proposal)
	return user, proposal, err
}

// Get returns the user's document of a thread, or nil when there is none. It returns
// [ErrDocument] for one that has not the form of a document.
func (p *Proposals) Get(ctx context.Context, thread string) (json.RawMessage, error) {
	user, err := p.owner(ctx)
	var data json.RawMessage
	if err == nil {
		data, err = p.store.document(ctx, p.sql(getProposalQuery), thread, user)
	}
	if err == nil && data != nil {
		err = checkDocument(data, "")
	}
	if err == nil {
		return data, nil
	}
	err = fmt.Errorf("supacheckpoint: get proposal: thread %q: %w", thread, err)
	if !p.options.FailOpen {
		return nil, err
	}
	p.log.ErrorContext(ctx, "a document could not be read, and counts as absent", "thread", thread, "error", err)
	return nil, nil
}

// checkDocument checks the form of a document. Thread, if not empty, stands for a
// thread_id that is not there.
func checkDocument(data json.RawMessage, thread string) error {
	var d struct {
		ThreadID *string                    `json:"thread_id"`
		Config   map[string]json.RawMessage `json:"config"`
		State    map[string]json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("%w: %w", ErrDocument, err)
	}
	switch {
	case d.ThreadID == nil && thread == "":
		return fmt.Errorf("%w: no thread_id", ErrDocument)
	case d.State == nil:
		return fmt.Errorf("%w: no state", ErrDocument)
	}
	return nil
}

// Put stores the user's document of a thread, in place of the one before, and then
// notes the activity of its session, whose failure is logged only. The thread_id in the
// document is set. It returns [ErrDocument] for what is no document, and [ErrNoOwner]
// when the user or the proposal is not known; nothing is written then.
func (p *Proposals) Put(ctx context.Context, thread string, data json.RawMessage) error {
	err := checkDocument(data, thread)
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
		p.log.WarnContext(ctx, "the session of a document could not be noted", "thread", thread, "error", err)
	}
	return nil
}

// Delete removes the user's document of a thread. One that does not exist is no error.
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
	if !p.options.FailOpen {
		return err
	}
	p.log.ErrorContext(ctx, "a document could not be removed", "thread", thread, "error", err)
	return nil
}

// PutSession sets what the update says of a thread's session, and makes now its last
// activity. It begins one if there is none. A thread of another user with the same id
// is a [checkpoint.ErrConflict].
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

func (p *Proposals) putSession(ctx context.Context, args []any) error {
	stored := false
	err := p.store.query(ctx, putProposalSession, args, func(pgx.Rows) error { stored = true; return nil })
	if err == nil && !stored {
		err = fmt.Errorf("the thread is another user's: %w", checkpoint.ErrConflict)
	}
	return err
}

// Sessions yields sessions by user and thread, as [Store.Sessions] does.
func (p *Proposals) Sessions(ctx context.Context, q SessionQuery) iter.Seq2[Session, error] {
	return p.store.sessions(ctx, p.sql(proposalSessionsQuery), q)
}

// CleanUp removes sessions with the documents of their threads, and returns how many,
// as [Store.CleanUp] does.
func (p *Proposals) CleanUp(ctx context.Context, q SessionQuery) (int, error) {
	return p.store.cleanUp(ctx, p.sql(cleanProposalsQuery), q)
}
