package memory

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// A line is one line of an export. The first line has the format, and the last one the counts. The chunks
// of a document and the messages of a conversation follow its line.
type line struct {
	Format  string `json:"format,omitempty"`
	Version int    `json:"version,omitempty"`

	Fact         *factLine      `json:"fact,omitempty"`
	Document     *driver.Source `json:"document,omitempty"`
	Chunk        *chunkLine     `json:"chunk,omitempty"`
	Value        *valueLine     `json:"value,omitempty"`
	Conversation *Session       `json:"conversation,omitempty"`
	Message      *messageLine   `json:"message,omitempty"`
	Turn         *turnLine      `json:"turn,omitempty"`

	Counts *Counts `json:"counts,omitempty"`

	// Line is the number of the line, from 1. Exports of older versions have none.
	Line int `json:"line,omitempty"`
}

// items returns the number of items of the line. The format and the counts are items too.
func (l *line) items() (n int) {
	for _, has := range []bool{
		l.Format != "", l.Fact != nil, l.Document != nil, l.Chunk != nil, l.Value != nil,
		l.Conversation != nil, l.Message != nil, l.Turn != nil, l.Counts != nil,
	} {
		if has {
			n++
		}
	}
	return n
}

// A factLine is a fact with its history. A deleted fact has only its history.
type factLine struct {
	ID      string  `json:"id"`
	Scope   Scope   `json:"scope"`
	Fact    *Fact   `json:"fact,omitempty"`
	Model   string  `json:"model,omitempty"`
	Vector  vector  `json:"vector,omitempty"`
	History []Event `json:"history,omitempty"`
}

func newFactLine(s driver.SavedFact) *factLine {
	l := &factLine{ID: s.ID, Scope: s.Scope, History: s.History}
	if r := s.Record; r != nil {
		l.Fact, l.Model, l.Vector = &r.Fact, r.Model, r.Embedding
	}
	return l
}

func (l *factLine) saved() driver.SavedFact {
	s := driver.SavedFact{ID: l.ID, Scope: l.Scope, History: l.History}
	if l.Fact != nil {
		s.Record = &FactRecord{Fact: *l.Fact, Model: l.Model, Embedding: l.Vector}
	}
	return s
}

type chunkLine struct {
	driver.Chunk
	Vector vector `json:"vector,omitempty"`
}

func newChunkLine(r driver.ChunkRecord) *chunkLine { return &chunkLine{r.Chunk, r.Embedding} }

func (l *chunkLine) record() driver.ChunkRecord {
	return driver.ChunkRecord{Chunk: l.Chunk, Embedding: l.Vector}
}

// A valueLine has the terms of the value, because no other field shows which parts of it are indexed.
type valueLine struct {
	Scope Scope `json:"scope"`
	Item
	TTL    time.Duration `json:"ttl,omitempty"` // in nanoseconds
	Words  []string      `json:"words,omitempty"`
	Model  string        `json:"model,omitempty"`
	Vector vector        `json:"vector,omitempty"`
}

func newValueLine(s driver.SavedValue) *valueLine {
	s.Version = 0
	return &valueLine{Scope: s.Scope, Item: s.Item, TTL: s.TTL, Words: s.Terms, Model: s.Model, Vector: s.Embedding}
}

func (l *valueLine) saved() driver.SavedValue {
	return driver.SavedValue{Scope: l.Scope, TTL: l.TTL, ValueRecord: driver.ValueRecord{Item: l.Item, Terms: l.Words, Model: l.Model, Embedding: l.Vector}}
}

// A messageLine has a message in LangChain's form.
type messageLine struct {
	ID   string          `json:"id"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

func newMessageLine(r driver.MessageRow) *messageLine { return &messageLine{r.ID, r.At, r.Data} }

func (l *messageLine) row() driver.MessageRow {
	return driver.MessageRow{ID: l.ID, At: l.At, Data: l.Data}
}

type turnLine struct {
	Key      string           `json:"key"`
	Scope    Scope            `json:"scope"`
	State    driver.TurnState `json:"state"`
	Cause    string           `json:"cause,omitempty"`
	Said     time.Time        `json:"said,omitzero"`
	Attempts int              `json:"attempts,omitempty"`
	Turn     json.RawMessage  `json:"turn,omitempty"`
}

func newTurnLine(s driver.SavedTurn) *turnLine {
	if s.State == driver.TurnDone {
		return &turnLine{Key: s.Key, Scope: s.Scope, State: s.State} // every queue keeps these fields of a finished turn
	}
	return &turnLine{Key: s.Key, Scope: s.Scope, State: s.State, Cause: s.Cause, Said: s.Said, Attempts: s.Attempts, Turn: s.Payload}
}

func (l *turnLine) saved() driver.SavedTurn {
	j := driver.Turn{Key: l.Key, Scope: l.Scope, Said: l.Said, Attempts: l.Attempts, Payload: l.Turn}
	return driver.SavedTurn{Turn: j, State: l.State, Cause: l.Cause}
}

// A vector is written as base64 of 32-bit floating-point numbers in little-endian order.
type vector []float32

// MarshalText implements [encoding.TextMarshaler].
func (v vector) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (v *vector) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(b)%4 != 0 {
		return fmt.Errorf("a vector that is not the base64 of numbers of 32 bits: %w", ErrInvalid)
	}
	*v = make([]float32, len(b)/4)
	for i := range *v {
		(*v)[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return nil
}
