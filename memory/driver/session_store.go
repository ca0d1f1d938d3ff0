package driver

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/weft-go/weft/llm"
)

// SavedSession is all that a store keeps of one session. Its version is the store's own: a restored
// session has a new one.
type SavedSession struct {
	Session
	// Rows are its messages, in order.
	Rows []MessageRow
}

// ConversationStore stores sessions. [memory.Conversations] checks what it gives to a store. A store is safe for use by any number of
// goroutines, and its times are its own. Package drivertest tests it.
type ConversationStore interface {
	// Apply does a change to a session of a scope, all of it or nothing, and returns the
	// session as it is then. It returns [ErrNotFound] where the session has to be
	// there and is not, [ErrConflict] for a version that is not the session's,
	// [ErrForgotten] where [SessionChange.Said] is not after the session was deleted or its scope
	// forgotten, and [ErrQuota].
	Apply(ctx context.Context, s Scope, c SessionChange) (Session, error)
	// Sessions yields sessions, the one that was changed last first: by UpdatedAt, then
	// ID, then the parts of the scope in the order of its fields, all descending, texts
	// by their bytes.
	Sessions(ctx context.Context, q SessionQuery) iter.Seq2[Session, error]
	// Messages yields messages of a session, in order. There are none of a session that
	// is not there.
	Messages(ctx context.Context, r MessageRange) iter.Seq2[MessageRow, error]
	// Search returns what messages may be found by words.
	Search(ctx context.Context, s MessageSearch) (MessageCandidates, error)
	// Forget removes all sessions of a scope, and returns how many. Parts that are empty
	// mean all, but for the tenant: of a tenant and user, all workspaces and agents. It is noted when that
	// was, so that nothing said before comes back.
	Forget(ctx context.Context, s Scope) (int, error)
	// Sweep removes up to limit sessions that were not changed for longer than an age, by the
	// store's clock, of the scopes that [ConversationStore.Forget] would forget, and returns how many.
	// Any number of processes may do so at once.
	Sweep(ctx context.Context, s Scope, age time.Duration, limit int) (int, error)
	// Dump yields the sessions of the scopes that Forget would forget with s, or of all
	// scopes if s is nil: scope by scope in the order of [CompareScopes], the sessions
	// of each by their IDs. A session that changes meanwhile is yielded as it was before or
	// after the change, and one that is added may be left out.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedSession, error]
	// Restore stores sessions with their messages and times, all or none, and returns how many
	// it stored. A session whose ID the scope has stays as it is. No quota applies.
	Restore(ctx context.Context, list []SavedSession) (int, error)
}

// MessageRow is a message as a store keeps it.
type MessageRow struct {
	// Scope, Session, Position and At are the store's to set: positions of a session are
	// 1, 2, 3 and so on, without gaps.
	Scope    Scope
	Session  string
	Position int64
	At       time.Time
	// ID is unique in the session.
	ID string
	// Key is equal for messages that say the same. Several of a session may have one key.
	Key [16]byte
	// Role is the message's, and Text what it says, without NULs.
	Role llm.Role
	Text string
	// Data is the message: one entry of LangChain's stored form. It comes back as the
	// same JSON value. It may have the escape \u0000.
	Data json.RawMessage
	// Terms are the words that it is found by, with repetition.
	Terms []string
}

// SessionChange is one thing to do to a session. Its parts are done in the order of the
// fields. Each change but a deletion sets UpdatedAt, and makes Version larger than it
// ever was; a session that is not there is made, unless Describe or From is set.
type SessionChange struct {
	Session string
	// Version, if not zero, has to be the session's. [AbsentSession] says that there must be none.
	Version int64
	// Said, if not zero, is when what is stored began to be said.
	Said time.Time
	// Delete removes the session; then nothing else is set. It is noted when that was.
	Delete bool
	// Describe, if not nil, is what the session's title and metadata become.
	Describe *SessionDescription
	// From, if not zero, is the position from which on messages are removed.
	From int64
	// Rows are appended, but for those whose ID the session has, or a row before had.
	Rows []MessageRow
	// Once leaves out also those whose Key the session has, or a row before had.
	Once bool
}

// AbsentSession is the version of a session that is not there.
const AbsentSession = -1

// SessionDescription is what a caller may say of a session.
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
	// Last, if not zero, keeps so many at the end.
	Last int
}

// MessageSearch asks for messages.
type MessageSearch struct {
	// Query selects sessions; its After and Limit do not count.
	Query SessionQuery
	// Roles keeps the messages that have one of them. It is not empty.
	Roles []llm.Role
	// Since and Before, if not zero, keep what was stored from a time on, and up to a
	// time.
	Since, Before time.Time
	// Terms are different words; a candidate has one of them at least.
	Terms []string
	// Limit is how many to return: those that have the most, and the rarest, of the
	// words.
	Limit int
}

// MessageCandidates are what may be found, in any order, and what it takes to tell how rare a word is
// among the messages that the search looks at.
type MessageCandidates struct {
	Rows []MessageRow
	// Messages is how many the search looks at, and Terms how many words they have
	// together.
	Messages, Terms int64
	// Frequency is how many of these messages have each of the words asked for. From
	// 10,000 on, a store may stop to count.
	Frequency []int64
}
