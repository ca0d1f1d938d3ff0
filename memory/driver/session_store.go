package driver

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/weft-go/weft/llm"
)

// SavedSession is the complete data of a session in a store. Versions are not transferred: a restored
// session has a new one.
type SavedSession struct {
	Session
	// Rows are its messages, in order.
	Rows []MessageRow
}

// ConversationStore stores sessions. Package memory checks the arguments of its methods, so a store need
// not. A store is safe for concurrent use and uses its own clock. Package drivertest tests it.
type ConversationStore interface {
	// Apply applies a change to a session of a scope, completely or not at all, and returns the changed
	// session. It returns [ErrNotFound] if the change requires a session that does not exist, [ErrConflict]
	// if the session has another version than the change names, [ErrForgotten] if [SessionChange.Said] is
	// not after the last deletion of the session and the last Forget of its scope, and [ErrQuota] if the
	// session would have too many messages.
	Apply(ctx context.Context, s Scope, c SessionChange) (Session, error)
	// Sessions yields sessions, the most recently changed first: by UpdatedAt, ID, and the parts of the
	// scope in the order of its fields, all descending, texts by their bytes.
	Sessions(ctx context.Context, q SessionQuery) iter.Seq2[Session, error]
	// Messages yields the messages of a session, in order. A session that does not exist has no messages.
	Messages(ctx context.Context, r MessageRange) iter.Seq2[MessageRow, error]
	// Search returns candidate messages by words.
	Search(ctx context.Context, s MessageSearch) (MessageCandidates, error)
	// Forget removes all sessions of a scope and returns their number. An empty part of the scope means
	// any, except for the tenant: a tenant and a user select all workspaces and agents. The store records
	// the time, so that Apply can reject messages that were said before it.
	Forget(ctx context.Context, s Scope) (int, error)
	// Sweep removes up to limit sessions that were not changed for the given time, by the store's clock, of
	// all scopes that [ConversationStore.Forget] covers. It returns their number. Several processes may
	// call it at the same time.
	Sweep(ctx context.Context, s Scope, age time.Duration, limit int) (int, error)
	// Dump yields the sessions of all scopes that Forget(s) covers, or of all scopes if s is nil. They are
	// ordered by scope, as [CompareScopes] does, and then by ID. It reads page by page: it yields an item
	// that changes meanwhile as it was before or after the change, and may leave out an item that is added.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedSession, error]
	// Restore stores sessions with their messages and times, all of them or none, and returns the number of
	// stored sessions. It leaves out a session whose ID the scope has. Quotas do not apply.
	Restore(ctx context.Context, list []SavedSession) (int, error)
}

// MessageRow is a message with the data of its store.
type MessageRow struct {
	// Scope, Session, Position and At are set by the store. The positions of a session are 1, 2, 3 and so
	// on, without gaps.
	Scope    Scope
	Session  string
	Position int64
	At       time.Time
	// ID is unique in the session.
	ID string
	// Key is equal for messages with the same role and text. Several messages of a session may have the
	// same key.
	Key [16]byte
	// Role is the role of the message, and Text its text without NULs.
	Role llm.Role
	Text string
	// Data is the message: one entry of LangChain's stored form. The store must return the same JSON value.
	// It may have the escape \u0000.
	Data json.RawMessage
	// Terms are the terms that find the message, with repetitions.
	Terms []string
}

// SessionChange is one change of a session. Its parts are applied in the order of the fields. Each change
// except a deletion sets UpdatedAt, and makes Version larger than it ever was. A session that does not
// exist is created, unless Describe or From is set.
type SessionChange struct {
	Session string
	// Version, if not zero, must be the version of the session. [AbsentSession] requires that it does not
	// exist.
	Version int64
	// Said, if not zero, is the time at which the turn began.
	Said time.Time
	// Delete removes the session. No other field is set then. The store records the time.
	Delete bool
	// Describe, if not nil, is the new title and metadata.
	Describe *SessionDescription
	// From, if not zero, is the position from which messages are removed.
	From int64
	// Rows are appended, except rows whose ID the session or an earlier row has.
	Rows []MessageRow
	// Once also skips rows whose Key the session or an earlier row has.
	Once bool
}

// AbsentSession is the version of a session that does not exist.
const AbsentSession = -1

// SessionDescription is the title and the metadata of a session.
type SessionDescription struct {
	Title    string
	Metadata json.RawMessage
}

// MessageRange selects messages of a session.
type MessageRange struct {
	Scope   Scope
	Session string
	// From and To are the first and the last position. Zero means no bound.
	From, To int64
	// Last, if not zero, keeps only this number of messages from the end.
	Last int
}

// MessageSearch describes the candidates of a search for messages.
type MessageSearch struct {
	// Query selects sessions. Its After and Limit are ignored.
	Query SessionQuery
	// Roles keeps the messages with one of these roles. It is not empty.
	Roles []llm.Role
	// Since, if not zero, keeps the messages stored at this time or later. Before, if not zero, keeps the
	// messages stored before this time.
	Since, Before time.Time
	// Terms are distinct terms. A candidate has at least one of them.
	Terms []string
	// Limit is the maximum number of candidates. The candidates are the best messages by BM25.
	Limit int
}

// MessageCandidates are the candidates in any order, with the counts that determine the rarity of a term.
type MessageCandidates struct {
	Rows []MessageRow
	// Messages is the number of messages that the search selects. Terms is the number of their terms, with
	// repetitions.
	Messages, Terms int64
	// Frequency is the number of these messages with each of the terms of the search. A store may stop
	// counting at 10,000.
	Frequency []int64
}
