package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
)

// ToLangChain returns the messages of a session as Python's messages_to_dict writes them: an
// array, empty if the session is not there. What [History.FromLangChain] stored is in it as it was.
func (h *History) ToLangChain(ctx context.Context, s memory.Scope, id string) (json.RawMessage, error) {
	rows, err := h.rows(ctx, Range{Scope: s, Session: id})
	if err != nil {
		return nil, fmt.Errorf("conversation: to langchain: %w", err)
	}
	return joined(rows), nil
}

func joined(rows []Row) json.RawMessage {
	list := make([][]byte, len(rows))
	for i, r := range rows {
		list[i] = r.Data
	}
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}

// FromLangChain makes the messages of a session those of a list that Python's messages_to_dict
// wrote, as a program does that saves the whole conversation each time. Messages with which both
// begin stay as they are, so that one more is one row more. The session is made if it is not
// there. Somebody who writes meanwhile is a [memory.ErrConflict], and null, which is no list, a
// [memory.ErrInvalid].
//
// A message of a type that [llm.FromLangChain] does not know is kept as it is, in its place:
// [History.ToLangChain] writes it again, and what reads messages passes over it.
func (h *History) FromLangChain(ctx context.Context, s memory.Scope, id string, data []byte) (Session, error) {
	session, err := h.fromLangChain(ctx, s, id, data)
	if err != nil {
		return Session{}, fmt.Errorf("conversation: from langchain: %w", err)
	}
	return session, nil
}

func (h *History) fromLangChain(ctx context.Context, s memory.Scope, id string, data []byte) (Session, error) {
	if err := checkSession(s, id); err != nil {
		return Session{}, err
	}
	entries, err := readEntries(data)
	if err != nil {
		return Session{}, err
	}
	c := Change{Session: id, Version: Absent}
	var stored []Row
	for session, err := range h.store.Sessions(ctx, Query{Scope: s, ID: id, Limit: 1}) {
		if err != nil {
			return Session{}, err
		}
		c.Version = session.Version
		if stored, err = h.rows(ctx, Range{Scope: s, Session: id}); err != nil {
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

// An entry is one of a list, in compact form, and what it says.
type entry struct {
	json    json.RawMessage
	message llm.Message
	foreign bool // and so without a message
}

// row returns the entry as it is stored, under an id that is not among those of others.
func (e *entry) row(ids map[string]bool) (Row, error) {
	id := e.message.ID
	if e.foreign {
		id = idOf(e.json)
	}
	if id == "" || ids[id] {
		id = uuid.New()
	}
	ids[id] = true
	if !e.foreign {
		e.message.ID = id
		return rowOf(e.message, e.json, time.Now())
	}
	if len(e.json) > MaxMessage {
		return Row{}, fmt.Errorf("%d bytes, and %d are allowed: %w", len(e.json), MaxMessage, memory.ErrInvalid)
	}
	return keep(e.json, id), nil
}

// readEntries returns the entries of a list.
func readEntries(data []byte) ([]entry, error) {
	var list []json.RawMessage
	if len(data) > maxRow {
		return nil, fmt.Errorf("a list of %d bytes, and %d are allowed: %w", len(data), maxRow, memory.ErrInvalid)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("a list that is not UTF-8: %w", memory.ErrInvalid)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", memory.ErrInvalid, err)
	}
	if list == nil {
		return nil, fmt.Errorf("null is no list of messages: %w", memory.ErrInvalid)
	}
	if len(list) > MaxMessages {
		return nil, fmt.Errorf("%d messages, and %d are allowed: %w", len(list), MaxMessages, memory.ErrInvalid)
	}
	entries, known := make([]entry, len(list)), types{}
	var rows []Row
	for i, raw := range list {
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return nil, fmt.Errorf("%w: %w", memory.ErrInvalid, err)
		}
		entries[i] = entry{json: b.Bytes(), foreign: known.foreign(raw)}
		if !entries[i].foreign {
			rows = append(rows, Row{Data: b.Bytes()})
		}
	}
	messages, err := llm.FromLangChain(joined(rows))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", memory.ErrInvalid, err)
	}
	if len(messages) != len(rows) {
		return nil, fmt.Errorf("a message that removes others can not be stored: %w", memory.ErrInvalid)
	}
	for i := range entries {
		if !entries[i].foreign {
			entries[i].message, messages = messages[0], messages[1:]
		}
	}
	return entries, nil
}

// sameJSON compares values whose numbers are written alike.
func sameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || bytes.Equal(canonical(a), canonical(b))
}

func canonical(data json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return data
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return sorted
}

// An Exported is one line of [History.Export]: a session with its messages, as a row of a
// table of conversations.
type Exported struct {
	SessionID string          `json:"session_id"`
	Messages  json.RawMessage `json:"messages"` // as Python's messages_to_dict writes them
	UpdatedAt time.Time       `json:"updated_at"`
	UserID    *string         `json:"user_id"`
	Scope     memory.Scope    `json:"scope"`
	Title     string          `json:"title,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}

// Export writes all sessions of a scope with their messages, as lines of JSON, see [Exported].
// Parts of the scope that are empty mean all, as in [History.Forget].
func (h *History) Export(ctx context.Context, s memory.Scope, w io.Writer) error {
	if err := h.export(ctx, s, json.NewEncoder(w)); err != nil {
		return fmt.Errorf("conversation: export: %s: %w", s, err)
	}
	return nil
}

func (h *History) export(ctx context.Context, s memory.Scope, lines *json.Encoder) error {
	q := Query{Scope: s, AnyWorkspace: s.Workspace == "", AnyUser: s.User == "", AnyAgent: s.Agent == "", Limit: -1}
	if err := q.Validate(); err != nil {
		return err
	}
	for session, err := range h.store.Sessions(ctx, q) {
		if err != nil {
			return err
		}
		rows, err := h.rows(ctx, Range{Scope: session.Scope, Session: session.ID})
		if err != nil {
			return err
		}
		line := Exported{
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
