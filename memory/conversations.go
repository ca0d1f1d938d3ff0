package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// Conversations stores the messages of sessions. It is safe for concurrent use.
type Conversations struct {
	store   driver.ConversationStore
	options Options
}

// Conversations returns the conversations of the memory.
func (m *Memory) Conversations() *Conversations {
	return &Conversations{m.backend.Conversations(), m.options}
}

// NewSessionID returns an ID for a session. It is a UUID and not a secret: the scope decides who may read a
// session.
func NewSessionID() string { return uuid.New() }

// A Turn is a list of messages to append to a session.
type Turn struct {
	// Session is the ID of the session. Empty means a new session.
	Session string
	// Messages are the messages of the turn, in order, or of the whole conversation so far. A message whose ID
	// the session already has is not stored again. A message without an ID gets one, and is always new.
	Messages []llm.Message
	// Mode selects the messages that are stored.
	Mode Mode
	// Last, if not zero, stores only this number of messages from the end.
	Last int
	// Once skips a message if the session already has a message with the same role and text. A message that
	// the user repeats is then stored only once.
	Once bool
	// Began, if not zero, is the time at which the turn began. If the session was deleted or the scope was
	// forgotten after that, nothing is stored and the error is [ErrForgotten].
	Began time.Time
	// Version, if not zero, must be the version of the session. Otherwise the error is [ErrConflict]:
	// another program has changed the session. [driver.AbsentSession] requires that the session does not
	// exist.
	Version int64
}

// Append appends a turn to a session of a scope, completely or not at all, and returns the changed session.
// It creates a session that does not exist, even if the turn has no messages.
func (h *Conversations) Append(ctx context.Context, s Scope, t Turn) (Session, error) {
	session, err := h.append(ctx, s, t)
	if err != nil {
		return Session{}, fmt.Errorf("conversations: append: %w", err)
	}
	return session, nil
}

func (h *Conversations) append(ctx context.Context, s Scope, t Turn) (Session, error) {
	if t.Session == "" {
		t.Session = NewSessionID()
	}
	if err := driver.CheckSession(s, t.Session); err != nil {
		return Session{}, err
	}
	messages, err := t.Mode.keep(t.Messages)
	if err != nil {
		return Session{}, err
	}
	if t.Last < 0 || len(messages) > MaxMessages {
		return Session{}, fmt.Errorf("the last %d of %d messages, and %d are allowed: %w", t.Last, len(messages), MaxMessages, ErrInvalid)
	}
	if t.Last > 0 {
		messages = messages[max(0, len(messages)-t.Last):]
	}
	rows, err := rowsOf(messages)
	if err != nil {
		return Session{}, err
	}
	return h.store.Apply(ctx, s, driver.SessionChange{
		Session: t.Session, Version: t.Version, Said: input.Exact(t.Began), Rows: rows, Once: t.Once,
	})
}

// Get returns a session of a scope, or [ErrNotFound].
func (h *Conversations) Get(ctx context.Context, s Scope, id string) (Session, error) {
	if err := driver.CheckSession(s, id); err != nil {
		return Session{}, fmt.Errorf("conversations: get: %w", err)
	}
	for session, err := range h.store.Sessions(ctx, SessionQuery{Reach: s.Only(), ID: id, Limit: 1}) {
		if err != nil {
			return Session{}, fmt.Errorf("conversations: get: %w", err)
		}
		return session, nil
	}
	return Session{}, fmt.Errorf("conversations: get: session %.60q in the scope %s: %w", id, s, ErrNotFound)
}

// Load returns the messages of a session of a scope. A session that does not exist has no messages.
// Messages of an unknown type, which [Conversations.FromLangChain] stores, are left out and leave a gap in
// the positions.
func (h *Conversations) Load(ctx context.Context, s Scope, id string) ([]Message, error) {
	messages, err := h.messages(ctx, driver.MessageRange{Scope: s, Session: id})
	if err != nil {
		return nil, fmt.Errorf("conversations: load: %w", err)
	}
	return messages, nil
}

// Last returns up to n messages from the end of a session. Tool results at the beginning are left out if
// their calls are not among these messages, because models reject them.
func (h *Conversations) Last(ctx context.Context, s Scope, id string, n int) ([]Message, error) {
	if n < 1 {
		return nil, fmt.Errorf("conversations: last: %d messages: %w", n, ErrInvalid)
	}
	messages, err := h.messages(ctx, driver.MessageRange{Scope: s, Session: id, Last: n})
	if err != nil {
		return nil, fmt.Errorf("conversations: last: %w", err)
	}
	for len(messages) > 0 && messages[0].Role == llm.RoleTool {
		messages = messages[1:]
	}
	return messages, nil
}

// Around returns the message at a position of a session, with up to n messages before and after it. It
// shows the context of a message that [Conversations.Search] found.
func (h *Conversations) Around(ctx context.Context, s Scope, id string, position int64, n int) ([]Message, error) {
	if position < 1 || n < 0 {
		return nil, fmt.Errorf("conversations: around: %d messages about position %d: %w", n, position, ErrInvalid)
	}
	messages, err := h.messages(ctx, driver.MessageRange{Scope: s, Session: id, From: max(1, position-int64(n)), To: position + int64(n)})
	if err != nil {
		return nil, fmt.Errorf("conversations: around: %w", err)
	}
	return messages, nil
}

func (h *Conversations) messages(ctx context.Context, r driver.MessageRange) ([]Message, error) {
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

func (h *Conversations) rows(ctx context.Context, r driver.MessageRange) ([]driver.MessageRow, error) {
	if err := driver.CheckSession(r.Scope, r.Session); err != nil {
		return nil, err
	}
	var rows []driver.MessageRow
	for row, err := range h.store.Messages(ctx, r) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Resume returns the ID of a session of a scope and its messages in the form that a model accepts. For an
// empty ID it returns a new ID and no messages. A session that does not exist has no messages either.
// Resume stores nothing.
func (h *Conversations) Resume(ctx context.Context, s Scope, id string) (string, []llm.Message, error) {
	if id == "" {
		return NewSessionID(), nil, nil
	}
	messages, err := h.messages(ctx, driver.MessageRange{Scope: s, Session: id})
	if err != nil {
		return "", nil, fmt.Errorf("conversations: resume: %w", err)
	}
	return id, PlainMessages(messages), nil
}

// Update replaces the title and the metadata of a session of a scope. A Version that is not zero must be
// the version of the session; otherwise the error is [ErrConflict].
func (h *Conversations) Update(ctx context.Context, s Scope, session Session) (Session, error) {
	err := driver.CheckSession(s, session.ID)
	var d driver.SessionDescription
	if err == nil {
		d, err = checkDescription(session)
	}
	var updated Session
	if err == nil {
		updated, err = h.store.Apply(ctx, s, driver.SessionChange{Session: session.ID, Version: session.Version, Describe: &d})
	}
	if err != nil {
		return Session{}, fmt.Errorf("conversations: update: %w", err)
	}
	return updated, nil
}

// Delete removes a session of a scope, or returns [ErrNotFound].
func (h *Conversations) Delete(ctx context.Context, s Scope, id string) error {
	err := driver.CheckSession(s, id)
	if err == nil {
		_, err = h.store.Apply(ctx, s, driver.SessionChange{Session: id, Delete: true})
	}
	if err != nil {
		return fmt.Errorf("conversations: delete: %w", err)
	}
	return nil
}

// List yields sessions, the most recently changed first. For the next page, set [driver.SessionQuery.After] to the
// last session of a page. A session that changes between two pages moves to the front, and is not in later
// pages.
func (h *Conversations) List(ctx context.Context, q SessionQuery) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		if err := q.Validate(); err != nil {
			yield(Session{}, fmt.Errorf("conversations: list: %w", err))
			return
		}
		for session, err := range h.store.Sessions(ctx, q) {
			if err != nil {
				yield(Session{}, fmt.Errorf("conversations: list: %w", err))
				return
			}
			if !yield(session, nil) {
				return
			}
		}
	}
}

// Forget removes all sessions of a scope and returns their number. An empty part of the scope means any,
// except for the tenant: a tenant and a user select all workspaces and agents. For an empty scope it
// returns [ErrInvalid].
func (h *Conversations) Forget(ctx context.Context, s Scope) (int, error) {
	err := s.Validate()
	if err == nil && s == (Scope{}) {
		err = fmt.Errorf("a scope that names nobody: %w", ErrInvalid)
	}
	n := 0
	if err == nil {
		n, err = h.store.Forget(ctx, s)
	}
	if err != nil {
		return n, fmt.Errorf("conversations: forget: %w", err)
	}
	return n, nil
}

const sessionBatch = 500

// Retain removes the sessions of a scope that were not changed for the given time, in batches, and returns
// their number. An empty part of the scope means any, as in [Conversations.Forget]. Several programs may
// call it at the same time, and it can be stopped at any time.
func (h *Conversations) Retain(ctx context.Context, s Scope, age time.Duration) (int, error) {
	removed, err := h.retain(ctx, s, age)
	if err != nil {
		return removed, fmt.Errorf("conversations: retain: %w", err)
	}
	return removed, nil
}

func (h *Conversations) retain(ctx context.Context, s Scope, age time.Duration) (removed int, err error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	if age <= 0 {
		return 0, fmt.Errorf("an age of %v: %w", age, ErrInvalid)
	}
	for {
		n, err := h.store.Sweep(ctx, s, age, sessionBatch)
		removed += n
		if err != nil || n < sessionBatch {
			return removed, err
		}
	}
}

// ToLangChain returns the messages of a session as a JSON array in the form of Python's messages_to_dict.
// The array is empty if the session does not exist. Entries that [Conversations.FromLangChain] stored are
// unchanged.
func (h *Conversations) ToLangChain(ctx context.Context, s Scope, id string) (json.RawMessage, error) {
	rows, err := h.rows(ctx, driver.MessageRange{Scope: s, Session: id})
	if err != nil {
		return nil, fmt.Errorf("conversations: to langchain: %w", err)
	}
	return joined(rows), nil
}

// FromLangChain replaces the messages of a session with a list in the form of Python's messages_to_dict,
// for programs that save the whole conversation each time. Messages at the beginning that are equal in both
// lists are not written again, so one more message adds one row. It creates a session that does not exist.
// If another program writes at the same time, the error is [ErrConflict]. For null it returns [ErrInvalid].
//
// A message of a type that [llm.FromLangChain] does not know is stored unchanged, in its position.
// [Conversations.ToLangChain] writes it, and functions that return messages skip it.
func (h *Conversations) FromLangChain(ctx context.Context, s Scope, id string, data []byte) (Session, error) {
	session, err := h.fromLangChain(ctx, s, id, data)
	if err != nil {
		return Session{}, fmt.Errorf("conversations: from langchain: %w", err)
	}
	return session, nil
}

func (h *Conversations) fromLangChain(ctx context.Context, s Scope, id string, data []byte) (Session, error) {
	if err := driver.CheckSession(s, id); err != nil {
		return Session{}, err
	}
	entries, err := readEntries(data)
	if err != nil {
		return Session{}, err
	}
	c := driver.SessionChange{Session: id, Version: driver.AbsentSession}
	var stored []driver.MessageRow
	for session, err := range h.store.Sessions(ctx, SessionQuery{Reach: s.Only(), ID: id, Limit: 1}) {
		if err != nil {
			return Session{}, err
		}
		c.Version = session.Version
		if stored, err = h.rows(ctx, driver.MessageRange{Scope: s, Session: id}); err != nil {
			return Session{}, err
		}
	}
	same := 0
	ids := map[string]bool{}
	for same < min(len(stored), len(entries)) && sameJSON(stored[same].Data, entries[same].json) {
		ids[stored[same].ID] = true
		same++
	}
	if same < len(stored) {
		c.From = int64(same) + 1
	}
	for i := same; i < len(entries); i++ {
		row, err := entries[i].row(ids)
		if err != nil {
			return Session{}, fmt.Errorf("message %d: %w", i, err)
		}
		c.Rows = append(c.Rows, row)
	}
	return h.store.Apply(ctx, s, c)
}

// Export writes all sessions of a scope with their messages as lines of JSON, see [ExportedSession]. An
// empty part of the scope means any, as in [Conversations.Forget].
func (h *Conversations) Export(ctx context.Context, s Scope, w io.Writer) error {
	if err := h.export(ctx, s, json.NewEncoder(w)); err != nil {
		return fmt.Errorf("conversations: export: %s: %w", s, err)
	}
	return nil
}

func (h *Conversations) export(ctx context.Context, s Scope, lines *json.Encoder) error {
	q := SessionQuery{Reach: s.Within(), Limit: -1}
	if err := q.Validate(); err != nil {
		return err
	}
	for session, err := range h.store.Sessions(ctx, q) {
		if err != nil {
			return err
		}
		rows, err := h.rows(ctx, driver.MessageRange{Scope: session.Scope, Session: session.ID})
		if err != nil {
			return err
		}
		line := ExportedSession{
			SessionID: session.ID, Messages: joined(rows), UpdatedAt: session.UpdatedAt,
			Scope: session.Scope, Title: session.Title, Metadata: session.Metadata,
		}
		if user := session.Scope.User; user != "" {
			line.UserID = &user
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
