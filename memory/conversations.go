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
	"github.com/weft-go/weft/memory/internal/rank"
)

// Conversations stores the messages of sessions. It is safe for use by any number of goroutines.
type Conversations struct{ store driver.ConversationStore }

// Conversations returns the conversations of the memory.
func (m *Memory) Conversations() *Conversations { return &Conversations{m.backend.Conversations()} }

// NewSessionID returns an id for a session. It is a UUID, and no secret: who may see a session is for
// its scope to say.
func NewSessionID() string { return uuid.New() }

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
	// the scope forgotten since: that is a [ErrForgotten].
	Began time.Time
	// Version, if not zero, has to be that of the session, or else it is a
	// [ErrConflict]: somebody else has appended. [driver.AbsentSession] stands for a session that
	// is not there.
	Version int64
}

// Append appends a turn to a session of a scope, whole or not at all, and returns the session as
// it is then. A session that is not there is made, also by a turn without messages.
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

// Load returns the messages of a session of a scope: none if it is not there. What
// [Conversations.FromLangChain] stored of a type that is not known here is not among them, and leaves a gap in
// the positions.
func (h *Conversations) Load(ctx context.Context, s Scope, id string) ([]Message, error) {
	messages, err := h.messages(ctx, driver.MessageRange{Scope: s, Session: id})
	if err != nil {
		return nil, fmt.Errorf("conversations: load: %w", err)
	}
	return messages, nil
}

// Last returns the last n messages of a session, or fewer: the results of tools whose
// call is not among them are left out at the beginning, as no model takes them.
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

// Around returns the message at a position of a session, and up to n on either side of it: what
// was said about where [Conversations.Search] found something.
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

// Resume returns the id of a session of a scope and its messages, as a model takes them, to go
// on with. An empty id stands for a new session, which has an id and no messages; so has one that
// is not there. Nothing is stored before something is appended.
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

// Update replaces the title and the metadata of a session of a scope. With a Version, that has
// to be the session's, or else it is a [ErrConflict].
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

// List yields sessions, the one that was changed last first. To go on after a page, set
// [SessionQuery.After] to its last session. One that changes meanwhile comes first again, and so is not in
// later pages.
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

// Forget removes all sessions of a scope, and returns how many. Parts that are empty mean all, but for
// the tenant: of a tenant and user, all workspaces and agents. An empty scope is an [ErrInvalid].
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

// Retain removes the sessions of a scope that were not changed for longer than an age, in batches, and
// returns how many. Parts of the scope that are empty mean all, as in
// [Conversations.Forget]. It can be stopped at any time, and called by many programs at once. A store that is no
// [driver.ConversationStore] is a [ErrInvalid].
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

// ToLangChain returns the messages of a session as Python's messages_to_dict writes them: an
// array, empty if the session is not there. What [Conversations.FromLangChain] stored is in it as it was.
func (h *Conversations) ToLangChain(ctx context.Context, s Scope, id string) (json.RawMessage, error) {
	rows, err := h.rows(ctx, driver.MessageRange{Scope: s, Session: id})
	if err != nil {
		return nil, fmt.Errorf("conversations: to langchain: %w", err)
	}
	return joined(rows), nil
}

// FromLangChain makes the messages of a session those of a list that Python's messages_to_dict
// wrote, as a program does that saves the whole conversation each time. Messages with which both
// begin stay as they are, so that one more is one row more. The session is made if it is not
// there. Somebody who writes meanwhile is a [ErrConflict], and null, which is no list, a
// [ErrInvalid].
//
// A message of a type that [llm.FromLangChain] does not know is kept as it is, in its place:
// [Conversations.ToLangChain] writes it again, and what reads messages passes over it.
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

// Export writes all sessions of a scope with their messages, as lines of JSON, see [ExportedSession].
// Parts of the scope that are empty mean all, as in [Conversations.Forget].
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

// Search returns the messages that fit a text best, the best first: those that have the
// most, and the rarest, of its words, by themselves and beside others that do. A text without words finds nothing.
func (h *Conversations) Search(ctx context.Context, f FindMessages) ([]Hit[FoundMessage], error) {
	found, err := h.search(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("conversations: search: %w", err)
	}
	return found, nil
}

func (h *Conversations) search(ctx context.Context, f FindMessages) ([]Hit[FoundMessage], error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	text := rank.Clip(f.Text)
	terms := rank.Query(text)
	if len(terms) == 0 {
		terms = rank.Stopped(text)
	}
	if len(terms) == 0 {
		return nil, nil
	}
	limit, limited := f.Query.Most()
	if !limited {
		limit = maxFoundMessages
	}
	s := driver.MessageSearch{
		Query: f.Query, Roles: f.Roles, Since: input.Exact(f.Since), Before: input.Exact(f.Before), Terms: terms,
		Limit: max(rank.Candidates, limit),
	}
	if len(s.Roles) == 0 {
		s.Roles = []llm.Role{llm.RoleUser, llm.RoleAssistant}
	}
	c, err := h.store.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	rows, scores := ranked(terms, c)
	rows = rows[:min(limit, len(rows))]
	found := make([]Hit[FoundMessage], 0, len(rows))
	for i, r := range rows {
		one, err := messagesOf([]driver.MessageRow{r})
		if err != nil {
			return nil, fmt.Errorf("message %d of session %.60q in the scope %s: %w", r.Position, r.Session, r.Scope, err)
		}
		if len(one) == 0 { // of a foreign type
			continue
		}
		found = append(found, Hit[FoundMessage]{Item: FoundMessage{one[0], r.Scope, r.Session}, Score: scores[i]})
	}
	return found, nil
}
