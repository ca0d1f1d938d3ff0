package llm

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weft-go/weft/internal/uuid"
)

// An assembly puts the chunks of a reply together.
type assembly struct {
	id    string
	own   bool // the id is ours and not the model's
	parts []Part
	open  PartType // of the part that text is being added to
	text  strings.Builder
	calls map[int]*draft
	end   *Chunk
}

// A draft is a tool call in the making.
type draft struct {
	id, name, signature string
	arguments           strings.Builder
}

// add takes a chunk, and stamps it with the message's id.
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
	case ChunkToolCall:
		return a.addCall(c.ToolCall)
	case ChunkEnd:
		end := *c
		a.end = &end
	default:
		return malformed("a chunk of unknown kind %q", c.Kind)
	}
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

// write adds to the part that is open, or to a new one. A signature ends it.
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

// flush ends the part that text was being added to.
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

// message returns what the chunks amount to.
func (a *assembly) message() (Message, error) {
	a.flush()
	m := Message{ID: a.id, Role: RoleAssistant, Parts: a.parts}
	if a.end != nil {
		end := Message{Usage: a.end.Usage, Metadata: a.end.Metadata}.Clone()
		m.StopReason, m.Usage, m.Metadata = a.end.StopReason, end.Usage, end.Metadata
	}
	for _, index := range slices.Sorted(maps.Keys(a.calls)) {
		call, err := a.calls[index].finish(a.complete())
		if err != nil {
			return Message{}, malformed("tool call %d: %w", index, err)
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	if m.StopReason != StopEnd && len(m.ToolCalls) == 0 && m.Text() == "" {
		if m.StopReason == StopFilter {
			return Message{}, &Error{Kind: ErrContentFilter, Message: "the whole reply was held back", Err: ErrEmpty}
		}
		if m.StopReason != "" {
			return Message{}, fmt.Errorf("llm: the model stopped with reason %q: %w", m.StopReason, ErrEmpty)
		}
		return Message{}, fmt.Errorf("llm: the stream ended: %w", ErrEmpty)
	}
	if err := m.check(); err != nil {
		return Message{}, malformed("%w", err)
	}
	return m, nil
}

// complete says that the model came to the end of its reply, so that what is
// wrong with it is its own doing.
func (a *assembly) complete() bool {
	return a.end != nil && a.end.StopReason != StopLength && a.end.StopReason != StopFilter
}

// finish returns the call. Arguments that are not JSON make it invalid when the
// reply is complete; else they broke off, which is an error.
func (d *draft) finish(complete bool) (ToolCall, error) {
	if d.name == "" {
		return ToolCall{}, errors.New("no name")
	}
	call := ToolCall{ID: d.id, Name: d.name, Signature: d.signature}
	if call.ID == "" {
		call.ID = "call_" + rand.Text()
	}
	text := strings.TrimSpace(d.arguments.String())
	if text == "" {
		text = "{}"
	}
	// Compact, so that the message is the same before and after it is stored.
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
