package llm

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weft-go/weft/internal/uuid"
)

// An assembly builds a message from the chunks of a reply.
type assembly struct {
	id    string
	own   bool // stamp created the id, since the model gave none
	parts []Part
	open  PartType // the type of the part to which text is appended
	text  strings.Builder
	calls map[int]*draft
	end   *Chunk
}

// A draft is a tool call that is not complete.
type draft struct {
	id, name, signature string
	arguments           strings.Builder
}

// add adds a chunk, and sets its message id.
func (a *assembly) add(c *Chunk) error {
	if a.end != nil {
		return malformed("a chunk of kind %q after the end", c.Kind)
	}
	if err := a.stamp(c); err != nil {
		return err
	}
	switch c.Kind {
	case ChunkText:
		a.write(PartText, c.Text, c.Signature)
	case ChunkReasoning:
		a.write(PartReasoning, c.Text, c.Signature)
	case ChunkPart:
		return a.addPart(c.Part)
	case ChunkToolCall:
		return a.addCall(c.ToolCall)
	case ChunkEnd:
		return a.finish(c)
	default:
		return malformed("a chunk of unknown kind %q", c.Kind)
	}
	return nil
}

// finish adds the last chunk, and completes its usage. The usage is copied, because it belongs to
// the model.
func (a *assembly) finish(c *Chunk) error {
	switch c.StopReason {
	case "", StopEnd, StopToolCalls, StopLength, StopFilter:
	default:
		return malformed("unknown stop reason %q; ParseStopReason converts the words of providers", c.StopReason)
	}
	if c.Usage != nil {
		usage := *c.Usage
		usage.Total = max(usage.Total, usage.Input+usage.Output)
		c.Usage = &usage
	}
	end := *c
	a.end = &end
	return nil
}

func (a *assembly) stamp(c *Chunk) error {
	switch {
	case a.id == "" && c.MessageID == "":
		a.id, a.own = uuid.New(), true
	case a.id == "":
		a.id = c.MessageID
	case !a.own && c.MessageID != "" && c.MessageID != a.id:
		return malformed("chunks of two messages, %q and %q", a.id, c.MessageID)
	}
	c.MessageID = a.id
	return nil
}

// write appends text to the open part, or opens a part of type t. A signature ends the part.
func (a *assembly) write(t PartType, text, signature string) {
	if text == "" && signature == "" {
		return
	}
	if a.open != t {
		a.flush()
		a.open = t
	}
	a.text.WriteString(text)
	if signature != "" {
		a.parts = append(a.parts, Part{Type: t, Text: a.text.String(), Signature: signature})
		a.text.Reset()
	}
}

// addPart adds a whole part. A text part is an error: the texts of the chunks of
// kind ChunkText have to be the text of the message.
func (a *assembly) addPart(p *Part) error {
	if p == nil || p.Type == PartText {
		return malformed("a chunk of kind %q without a part, or with a text", ChunkPart)
	}
	if err := p.check(); err != nil {
		return malformed("%w", err)
	}
	a.flush()
	a.open = ""
	a.parts = append(a.parts, p.Clone())
	return nil
}

// flush ends the open part.
func (a *assembly) flush() {
	if a.text.Len() > 0 {
		a.parts = append(a.parts, Part{Type: a.open, Text: a.text.String()})
		a.text.Reset()
	}
}

func (a *assembly) addCall(d ToolCallDelta) error {
	if d.Index < 0 {
		return malformed("tool call %d", d.Index)
	}
	if a.calls == nil {
		a.calls = map[int]*draft{}
	}
	call := a.calls[d.Index]
	if call == nil {
		call = &draft{}
		a.calls[d.Index] = call
	}
	if d.ID != "" && call.id != "" && d.ID != call.id {
		return malformed("tool call %d has two ids, %q and %q", d.Index, call.id, d.ID)
	}
	if d.Name != "" && call.name != "" && d.Name != call.name {
		return malformed("tool call %d has two names, %q and %q", d.Index, call.name, d.Name)
	}
	if d.ID != "" {
		call.id = d.ID
	}
	if d.Name != "" {
		call.name = d.Name
	}
	if d.Signature != "" {
		call.signature = d.Signature
	}
	call.arguments.WriteString(d.Arguments)
	return nil
}

// message returns the message of all chunks.
func (a *assembly) message() (Message, error) {
	switch {
	case a.id == "":
		return Message{}, fmt.Errorf("llm: the stream ended: %w", ErrEmpty)
	case a.end == nil:
		return Message{}, malformed("the stream broke off: it has no chunk of kind %q: %w", ChunkEnd, io.ErrUnexpectedEOF)
	}
	a.flush()
	m := Message{ID: a.id, Role: RoleAssistant, Parts: a.parts}
	end := Message{Usage: a.end.Usage, Metadata: a.end.Metadata}.Clone()
	m.StopReason, m.Usage, m.Metadata = a.end.StopReason, end.Usage, end.Metadata
	for _, index := range slices.Sorted(maps.Keys(a.calls)) {
		call, err := a.calls[index].finish(a.complete())
		if err != nil {
			return Message{}, malformed("tool call %d: %w", index, err)
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	if m.StopReason != StopEnd && len(m.ToolCalls) == 0 && !m.says() {
		if m.StopReason == StopFilter {
			return Message{}, &Error{Kind: ErrContentFilter, Message: "the whole reply was held back", Err: ErrEmpty}
		}
		if m.StopReason != "" {
			return Message{}, fmt.Errorf("llm: the model stopped with reason %q: %w", m.StopReason, ErrEmpty)
		}
		return Message{}, fmt.Errorf("llm: the model gave no text and no tool call: %w", ErrEmpty)
	}
	if err := m.check(); err != nil {
		return Message{}, malformed("%w", err)
	}
	return m, nil
}

// says reports whether the message has content other than reasoning.
func (m Message) says() bool {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Text != "" && p.Type == PartText || p.Type != PartText && p.Type != PartReasoning {
			return true
		}
	}
	return false
}

// complete reports whether neither a limit nor a filter cut off the reply. A fault in a
// complete reply is a mistake of the model.
func (a *assembly) complete() bool {
	return a.end.StopReason != StopLength && a.end.StopReason != StopFilter
}

// finish returns the call. In a complete reply, a call whose arguments are not JSON is
// invalid. In an incomplete reply, the arguments were cut off, which is an error.
func (d *draft) finish(complete bool) (ToolCall, error) {
	if d.name == "" {
		return ToolCall{}, errors.New("no name")
	}
	call := ToolCall{ID: d.id, Name: d.name, Signature: d.signature}
	if call.ID == "" {
		call.ID = "call_" + rand.Text()
	}
	text := strings.TrimSpace(d.arguments.String())
	if text == "" || text == "null" {
		text = "{}" // some servers write null for no arguments
	}
	// Compact JSON, so that the message is the same before and after it is stored.
	var compact bytes.Buffer
	err := json.Compact(&compact, []byte(text))
	if err == nil && !utf8.ValidString(text) {
		err = errors.New("they are not UTF-8")
	}
	switch {
	case err == nil:
		call.Arguments = compact.Bytes()
	case complete:
		invalid := InvalidCall(call.ID, call.Name, text, err.Error())
		call.Arguments, call.Invalid = invalid.Arguments, invalid.Invalid
	default:
		return call, fmt.Errorf("the arguments of %q are not JSON: %w", call.Name, err)
	}
	return call, nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("llm: reply: %w: %w", fmt.Errorf(format, args...), ErrMalformed)
}
