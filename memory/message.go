package memory

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
)

// A Message is a stored message of a session. Its ID is never empty: a message without an ID gets an ID
// when it is appended.
type Message struct {
	llm.Message
	// Position is the index of the message in its session, from 1.
	Position int64
	// At is the time of storage, by the store's clock.
	At time.Time
}

// An Image is an image of a message: its content or its URL.
type Image struct {
	Data     []byte `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	URL      string `json:"url,omitempty"`
}

// Images returns the images of a message.
func Images(m llm.Message) []Image {
	var images []Image
	for _, p := range m.Parts {
		if p.Type == llm.PartImage {
			images = append(images, Image{Data: p.Data, MIMEType: p.MIMEType, URL: p.URL})
		}
	}
	return images
}

// MessageMetadata returns {"images":[…]} for a message with images, and nil for a message without
// images. It is for tables that store the text of a message in a column of its own.
func MessageMetadata(m llm.Message) (json.RawMessage, error) {
	images := Images(m)
	if images == nil {
		return nil, nil
	}
	data, err := json.Marshal(map[string][]Image{"images": images})
	if err != nil {
		return nil, fmt.Errorf("conversations: metadata: %w", err)
	}
	return data, nil
}

const (
	// MaxMessage is the maximum number of bytes of a message in its stored form, with images.
	MaxMessage = 16 << 20
	// MaxMessages is the maximum number of messages that one call may store.
	MaxMessages = 10_000
	maxIndexed  = 16 << 10 // bytes of a text that are indexed
	maxRow      = 64 << 20 // bytes of a LangChain list
)

// rowsOf returns the stored form of messages.
func rowsOf(messages []llm.Message) ([]driver.MessageRow, error) {
	rows := make([]driver.MessageRow, len(messages))
	for i, m := range messages {
		if m.ID == "" {
			m.ID = uuid.New()
		}
		if n := sizeOf(m); n > MaxMessage {
			return nil, fmt.Errorf("message %d: %d bytes, and %d are allowed: %w", i, n, MaxMessage, ErrInvalid)
		}
		entries, err := llm.ToLangChain([]llm.Message{m})
		if err != nil {
			return nil, fmt.Errorf("message %d: %w: %w", i, ErrInvalid, err)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(entries, &list); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if rows[i], err = rowOf(m, list[0], time.Now()); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return rows, nil
}

// sizeOf returns a lower bound of the bytes that a stored message takes.
func sizeOf(m llm.Message) (n int) {
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Data) + len(p.URL)
	}
	for _, c := range m.ToolCalls {
		n += len(c.Arguments)
	}
	return n
}

// rowOf returns the stored form of a message with an ID. Its terms come from its text and its date.
func rowOf(m llm.Message, entry json.RawMessage, at time.Time) (driver.MessageRow, error) {
	if err := input.Name("id", m.ID); err != nil {
		return driver.MessageRow{}, err
	}
	if len(entry) > MaxMessage {
		return driver.MessageRow{}, fmt.Errorf("%d bytes, and %d are allowed: %w", len(entry), MaxMessage, ErrInvalid)
	}
	text := strings.ReplaceAll(m.Text(), "\x00", "")
	indexed := text
	if len(indexed) > maxIndexed {
		indexed = strings.ToValidUTF8(indexed[:maxIndexed], "")
	}
	return driver.MessageRow{ID: m.ID, Key: messageKey(m), Role: m.Role, Text: text, Data: entry, Terms: append(rank.Terms(indexed), rank.DateTerms(at)...)}, nil
}

// messageKey returns a hash of the role and text of a message. For a message without text, it
// hashes all parts and tool calls.
func messageKey(m llm.Message) [16]byte {
	text := m.Text()
	b := fmt.Appendf(nil, "%s\x00%s", m.Role, text)
	if text == "" {
		for _, p := range m.Parts {
			b = fmt.Appendf(b, "\x00%s %q %q %x", p.Type, p.MIMEType, p.URL, sha256.Sum256(p.Data))
		}
		for _, c := range m.ToolCalls {
			b = fmt.Appendf(b, "\x00%q %q %q", c.ID, c.Name, c.Text())
		}
		b = fmt.Appendf(b, "\x00%q", m.ToolCallID)
	}
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

// messagesOf decodes ordered rows of one session. It omits messages of an unknown type.
func messagesOf(rows []driver.MessageRow) ([]Message, error) {
	read, err := llm.FromLangChain(joined(rows))
	if err != nil {
		some := readable(rows)
		if len(some) == len(rows) {
			return nil, err
		}
		rows = some
		if read, err = llm.FromLangChain(joined(rows)); err != nil {
			return nil, err
		}
	}
	if len(read) != len(rows) { // a row removed a message: llm.FromLangChain applies removals
		return nil, fmt.Errorf("%d rows are %d messages: %w", len(rows), len(read), ErrInvalid)
	}
	messages := make([]Message, len(rows))
	for i, r := range rows {
		messages[i] = Message{Message: read[i], Position: r.Position, At: r.At}
		messages[i].ID = r.ID
	}
	return messages, nil
}

// PlainMessages returns the messages in the form that a model accepts.
func PlainMessages(messages []Message) []llm.Message {
	plain := make([]llm.Message, len(messages))
	for i, m := range messages {
		plain[i] = m.Message
	}
	return plain
}
