package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
)

// joined returns the data of rows as a JSON array.
func joined(rows []driver.MessageRow) json.RawMessage {
	list := make([][]byte, len(rows))
	for i, r := range rows {
		list[i] = r.Data
	}
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']')
}

// An entry is one element of a LangChain list: its compact JSON and its decoded message.
type entry struct {
	json    json.RawMessage
	message llm.Message
	foreign bool // of an unknown type: message is not set
}

// row returns the stored form of the entry, with an id that is not in ids, and adds it to ids.
func (e *entry) row(ids map[string]bool) (driver.MessageRow, error) {
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
		return driver.MessageRow{}, fmt.Errorf("%d bytes, and %d are allowed: %w", len(e.json), MaxMessage, ErrInvalid)
	}
	return keep(e.json, id), nil
}

// readEntries decodes a LangChain list.
func readEntries(data []byte) ([]entry, error) {
	var list []json.RawMessage
	if len(data) > maxRow {
		return nil, fmt.Errorf("a list of %d bytes, and %d are allowed: %w", len(data), maxRow, ErrInvalid)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("a list that is not UTF-8: %w", ErrInvalid)
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if list == nil {
		return nil, fmt.Errorf("null is no list of messages: %w", ErrInvalid)
	}
	if len(list) > MaxMessages {
		return nil, fmt.Errorf("%d messages, and %d are allowed: %w", len(list), MaxMessages, ErrInvalid)
	}
	entries, known := make([]entry, len(list)), types{}
	var rows []driver.MessageRow
	for i, raw := range list {
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		entries[i] = entry{json: b.Bytes(), foreign: known.foreign(raw)}
		if !entries[i].foreign {
			rows = append(rows, driver.MessageRow{Data: b.Bytes()})
		}
	}
	messages, err := llm.FromLangChain(joined(rows))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(messages) != len(rows) {
		return nil, fmt.Errorf("a message that removes others can not be stored: %w", ErrInvalid)
	}
	for i := range entries {
		if !entries[i].foreign {
			entries[i].message, messages = messages[0], messages[1:]
		}
	}
	return entries, nil
}

// sameJSON reports whether two JSON values are equal. Numbers are compared by their text.
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

// ExportedSession is one line of [Conversations.Export]: a session with its messages, as in the table
// agent_conversations.
type ExportedSession struct {
	SessionID string          `json:"session_id"`
	Messages  json.RawMessage `json:"messages"` // as Python's messages_to_dict writes them
	UpdatedAt time.Time       `json:"updated_at"`
	UserID    *string         `json:"user_id"`
	Scope     Scope           `json:"scope"`
	Title     string          `json:"title,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}
