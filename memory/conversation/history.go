package conversation

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
)

// A History keeps conversations. It is safe for use by any number of goroutines.
type History struct{ store Store }

// New returns a history whose sessions are in a store.
func New(store Store) (*History, error) {
	if store == nil {
		return nil, fmt.Errorf("conversation: new: no store: %w", memory.ErrInvalid)
	}
	return &History{store}, nil
}

// NewID returns an id for a session. It is a UUID, and no secret: who may see a session is for
// its scope to say.
func NewID() string { return uuid.New() }

// A Turn is what to append to a session.
type Turn struct {
	// Session is its id. Empty means a new one.
	Session string
	// Messages are the turn's, in order, or all of the conversation so far: those whose
	// id the session has are not stored again. One without an id is given one, and is
	// always new.
	Messages []llm.Message
	// Mode says what of them is kept.
	Mode Mode
	// Last, if not zero, keeps so many at the end of them.
	Last int
	// Once leaves out a message if the session has one of its role and text already. Then
	// what a user says twice is stored once.
	Once bool
	// Began, if not zero, is when the turn began. It is not stored if the session was deleted or
	// the scope forgotten since: that is a [memory.ErrForgotten].
	Began time.Time
	// Version, if not zero, has to be that of the session, or else it is a
	// [memory.ErrConflict]: somebody else has appended. [Absent] stands for a session that
	// is not there.
	Version int64
}

// Append appends a turn to a session of a scope, whole or not at all, and returns the session as
// it is then. A session that is not there is made, also by a turn without messages.
func (h *History) Append(ctx context.Context, s memory.Scope, t Turn) (Session, error) {
	session, err := h.append(ctx, s, t)
	if err != nil {
		return Session{}, fmt.Errorf("conversation: append: %w", err)
	}
	return session, nil
}

func (h *History) append(ctx context.Context, s memory.Scope, t Turn) (Session, error) {
	if t.Session == "" {
		t.Session = NewID()
	}
	if err := checkSession(s, t.Session); err != nil {
		return Session{}, err
	}
	messages, err := t.Mode.keep(t.Messages)
	if err != nil {
		return Session{}, err
	}
	if t.Last < 0 || len(messages) > MaxMessages {
		return Session{}, fmt.Errorf("the last %d of %d messages, and %d are allowed: %w", t.Last, len(messages), MaxMessages, memory.ErrInvalid)
	}
	if t.Last > 0 {
		messages = messages[max(0, len(messages)-t.Last):]
	}
	rows, err := rowsOf(messages)
	if err != nil {
		return Session{}, err
	}
	return h.store.Apply(ctx, s, Change{
		Session: t.Session, Version: t.Version, Said: input.Exact(t.Began), Rows: rows, Once: t.Once,
	})
}

// Get returns a session of a scope, or [memory.ErrNotFound].
func (h *History) Get(ctx context.Context, s memory.Scope, id string) (Session, error) {
	if err := checkSession(s, id); err != nil {
		return Session{}, fmt.Errorf("conversation: get: %w", err)
	}
	for session, err := range h.store.Sessions(ctx, Query{Scope: s, ID: id, Limit: 1}) {
		if err != nil {
			return Session{}, fmt.Errorf("conversation: get: %w", err)
		}
		return session, nil
	}
	return Session{}, fmt.Errorf("conversation: get: session %.60q in the scope %s: %w", id, s, memory.ErrNotFound)
}

// Load returns the messages of a session of a scope: none if it is not there. What
// [History.FromLangChain] stored of a type that is not known here is not among them, and leaves a gap in
// the positions.
func (h *History) Load(ctx context.Context, s memory.Scope, id string) ([]Message, error) {
	messages, err := h.messages(ctx, Range{Scope: s, Session: id})
	if err != nil {
		return nil, fmt.Errorf("conversation: load: %w", err)
	}
	return messages, nil
}

// Last returns the last n messages of a session, or fewer: the results of tools whose
// call is not among them are left out at the beginning, as no model takes them.
func (h *History) Last(ctx context.Context, s memory.Scope, id string, n int) ([]Message, error) {
	if n < 1 {
		return nil, fmt.Errorf("conversation: last: %d messages: %w", n, memory.ErrInvalid)
	}
	messages, err := h.messages(ctx, Range{Scope: s, Session: id, Last: n})
	if err != nil {
		return nil, fmt.Errorf("conversation: last: %w", err)
	}
	for len(messages) > 0 && messages[0].Role == llm.RoleTool {
		messages = messages[1:]
	}
	return messages, nil
}

// Around returns the message at a position of a session, and up to n on either side of it: what
// was said about where [History.Search] found something.
func (h *History) Around(ctx context.Context, s memory.Scope, id string, position int64, n int) ([]Message, error) {
	if position < 1 || n < 0 {
		return nil, fmt.Errorf("conversation: around: %d messages about position %d: %w", n, position, memory.ErrInvalid)
	}
	messages, err := h.messages(ctx, Range{Scope: s, Session: id, From: max(1, position-int64(n)), To: position + int64(n)})
	if err != nil {
		return nil, fmt.Errorf("conversation: around: %w", err)
	}
	return messages, nil
}

func (h *History) messages(ctx context.Context, r Range) ([]Message, error) {
	rows, err := h.rows(ctx, r)
	if err != nil {
		return nil, err
	}
	messages, err := messagesOf(rows)
	if err != nil {
		return nil, fmt.Errorf("session %.60q in the scope %s: %w", r.Session, r.Scope, err)
	}
	return messages, nil
}

func (h *History) rows(ctx context.Context, r Range) ([]Row, error) {
	if err := checkSession(r.Scope, r.Session); err != nil {
		return nil, err
	}
	var rows []Row
	for row, err := range h.store.Messages(ctx, r) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Resume returns the id of a session of a scope and its messages, as a model takes them, to go
// on with. An empty id stands for a new session, which has an id and no messages; so has one that
// is not there. Nothing is stored before something is appended.
func (h *History) Resume(ctx context.Context, s memory.Scope, id string) (string, []llm.Message, error) {
	if id == "" {
		return NewID(), nil, nil
	}
	messages, err := h.messages(ctx, Range{Scope: s, Session: id})
	if err != nil {
		return "", nil, fmt.Errorf("conversation: resume: %w", err)
	}
	return id, Plain(messages), nil
}

// Update replaces the title and the metadata of a session of a scope. With a Version, that has
// to be the session's, or else it is a [memory.ErrConflict].
func (h *History) Update(ctx context.Context, s memory.Scope, session Session) (Session, error) {
	err := checkSession(s, session.ID)
	var d Description
	if err == nil {
		d, err = checkDescription(session)
	}
	var updated Session
	if err == nil {
		updated, err = h.store.Apply(ctx, s, Change{Session: session.ID, Version: session.Version, Describe: &d})
	}
	if err != nil {
		return Session{}, fmt.Errorf("conversation: update: %w", err)
	}
	return updated, nil
}

// Delete removes a session of a scope, or returns [memory.ErrNotFound].
func (h *History) Delete(ctx context.Context, s memory.Scope, id string) error {
	err := checkSession(s, id)
	if err == nil {
		_, err = h.store.Apply(ctx, s, Change{Session: id, Delete: true})
	}
	if err != nil {
		return fmt.Errorf("conversation: delete: %w", err)
	}
	return nil
}

// List yields sessions, the one that was changed last first. To go on after a page, set
// [Query.After] to its last session. One that changes meanwhile comes first again, and so is not in
// later pages.
func (h *History) List(ctx context.Context, q Query) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		if err := q.Validate(); err != nil {
			yield(Session{}, fmt.Errorf("conversation: list: %w", err))
			return
		}
		for session, err := range h.store.Sessions(ctx, q) {
			if err != nil {
				yield(Session{}, fmt.Errorf("conversation: list: %w", err))
				return
			}
			if !yield(session, nil) {
				return
			}
		}
	}
}

// Forget removes all sessions of a scope, and returns how many. Parts that are empty mean all, but for
// the tenant: of a tenant and user, all workspaces and agents. An empty scope is an [memory.ErrInvalid].
func (h *History) Forget(ctx context.Context, s memory.Scope) (int, error) {
	err := s.Validate()
	if err == nil && s == (memory.Scope{}) {
		err = fmt.Errorf("a scope that names nobody: %w", memory.ErrInvalid)
	}
	n := 0
	if err == nil {
		n, err = h.store.Forget(ctx, s)
	}
	if err != nil {
		return n, fmt.Errorf("conversation: forget: %w", err)
	}
	return n, nil
}

const sweepBatch = 500

// Retain removes the sessions of a scope that were not changed for longer than an age, in batches, and
// returns how many. Parts of the scope that are empty mean all, as in
// [History.Forget]. It can be stopped at any time, and called by many programs at once. A store that is no
// [Store] is a [memory.ErrInvalid].
func (h *History) Retain(ctx context.Context, s memory.Scope, age time.Duration) (int, error) {
	removed, err := h.retain(ctx, s, age)
	if err != nil {
		return removed, fmt.Errorf("conversation: retain: %w", err)
	}
	return removed, nil
}

func (h *History) retain(ctx context.Context, s memory.Scope, age time.Duration) (removed int, err error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	if age <= 0 {
		return 0, fmt.Errorf("an age of %v: %w", age, memory.ErrInvalid)
	}
	for {
		n, err := h.store.Sweep(ctx, s, age, sweepBatch)
		removed += n
		if err != nil || n < sweepBatch {
			return removed, err
		}
	}
}
