package server

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/draw"
	"github.com/weft-go/weft/state"
)

// A served is a graph that a server serves.
type served struct {
	name      string
	assistant string // the id of the graph's own assistant
	graph     *graph.Graph
	channels  channels
	input     *[]string // the channels of Options.Input, or nil
	draw      draw.Graph
}

// channels describes how clients see the values of the channels of a graph and its subgraphs.
type channels struct {
	messages map[string]bool            // the channels of messages; true if a channel holds a list
	initial  map[string]json.RawMessage // the values of channels that were never written
	plain    map[string]bool            // the channels whose values an update replaces
	hidden   map[string]bool            // the channels that results and streams leave out
	closed   map[string]bool            // the channels that clients cannot write
	subs     map[string]channels
}

func newServed(name string, g *graph.Graph) *served {
	d := g.Describe()
	return &served{name: name, assistant: nameID(oidNamespace, name), graph: g, channels: newChannels(d), draw: d}
}

// takes reports whether clients may write a channel.
func (s *served) takes(channel string) bool { return s.has(channel) && !s.channels.closed[channel] }

// limitInput closes the channels that Options.Input does not name.
func (s *served) limitInput() {
	if s.input == nil {
		return
	}
	for _, c := range s.draw.Channels {
		if !slices.Contains(*s.input, c.Name) {
			s.channels.closed[c.Name] = true
		}
	}
}

func newChannels(d draw.Graph) channels {
	c := channels{
		messages: map[string]bool{}, initial: map[string]json.RawMessage{}, plain: map[string]bool{},
		hidden: map[string]bool{}, closed: map[string]bool{}, subs: map[string]channels{},
	}
	for _, ch := range d.Channels {
		if ch.Internal {
			c.hidden[ch.Name], c.closed[ch.Name] = true, true
		}
		switch {
		case ch.Type == "llm.Message":
			c.messages[ch.Name] = false
		case ch.Type == "[]llm.Message":
			c.messages[ch.Name] = true
		}
		list, messages := c.messages[ch.Name]
		c.plain[ch.Name] = ch.Replaces && !messages
		initial, err := ch.Initial, error(nil)
		if messages && initial != nil {
			initial, err = flatValue(initial, list)
		}
		if err == nil && initial != nil {
			c.initial[ch.Name] = initial
		}
	}
	for _, n := range d.Nodes {
		if n.Subgraph != nil {
			c.subs[n.Name] = newChannels(*n.Subgraph)
		}
	}
	return c
}

// at returns the channels of the subgraph at the path of nodes. A graph that is not part of the description, such as a
// sub-agent, is assumed to have the channels of its parent.
func (c channels) at(nodes []string) channels {
	for _, n := range nodes {
		if sub, ok := c.subs[n]; ok {
			c = sub
		}
	}
	return c
}

// values returns a state as clients read it: a JSON object of the values by channel. It includes initial values of
// channels that were never written.
func (c channels) values(v state.View) (map[string]json.RawMessage, error) {
	values, err := c.written(v)
	if err != nil {
		return nil, err
	}
	for name, value := range c.initial {
		if _, ok := values[name]; !ok {
			values[name] = value
		}
	}
	return values, nil
}

// written is like values, but leaves out channels that were never written.
func (c channels) written(v state.View) (map[string]json.RawMessage, error) {
	values, err := state.Values(v)
	if err != nil {
		return nil, err
	}
	for name, list := range c.messages {
		data, ok := values[name]
		if !ok {
			continue
		}
		if values[name], err = flatValue(data, list); err != nil {
			return nil, fmt.Errorf("channel %q: %w", name, err)
		}
	}
	return values, nil
}

// shown returns the values without the channels that results and streams leave out.
func (c channels) shown(values map[string]json.RawMessage) map[string]json.RawMessage {
	if len(c.hidden) == 0 {
		return values
	}
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(name string, _ json.RawMessage) bool { return c.hidden[name] })
	return values
}

// shownUpdate returns an update without the channels that streams leave out. It returns null if no channel remains.
func (c channels) shownUpdate(update json.RawMessage) (json.RawMessage, error) {
	if len(c.hidden) == 0 {
		return update, nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(update, &values); err != nil {
		return nil, err
	}
	if values = c.shown(values); len(values) == 0 {
		return json.RawMessage("null"), nil
	}
	return encoded(values), nil
}

// update returns the writes of a task as clients read them: a JSON object of the updates by channel. It returns null if
// the task writes no channel.
func (c channels) update(u state.Update) (json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, w := range u {
		if w.Channel() == "" {
			continue
		}
		var write struct {
			Op    string
			Value json.RawMessage
		}
		data, err := json.Marshal(w)
		if err == nil {
			err = json.Unmarshal(data, &write)
		}
		if err != nil {
			return nil, err
		}
		value, err := c.valueOf(w.Channel(), write.Op, write.Value)
		if err != nil {
			return nil, fmt.Errorf("channel %q: %w", w.Channel(), err)
		}
		out[w.Channel()] = joined(out[w.Channel()], value)
	}
	if len(out) == 0 {
		return json.RawMessage("null"), nil
	}
	return json.Marshal(out)
}

// valueOf returns the value of a write as clients read it.
func (c channels) valueOf(channel, op string, value json.RawMessage) (json.RawMessage, error) {
	if _, ok := c.messages[channel]; !ok {
		if len(value) == 0 {
			return json.RawMessage("null"), nil
		}
		return value, nil
	}
	if op == "remove" {
		var ids []string
		if err := json.Unmarshal(value, &ids); err != nil {
			return nil, err
		}
		removed := make([]json.RawMessage, len(ids))
		for i, id := range ids {
			removed[i] = encoded(map[string]string{"type": "remove", "id": id, "content": ""})
		}
		return json.Marshal(removed)
	}
	return flatValue(value, isArray(value))
}

// joined combines two updates of a channel: it joins two lists, and otherwise returns the later update.
func joined(first, then json.RawMessage) json.RawMessage {
	if !isArray(first) || !isArray(then) {
		return then
	}
	var a, b []json.RawMessage
	if json.Unmarshal(first, &a) != nil || json.Unmarshal(then, &b) != nil {
		return then
	}
	return encoded(append(a, b...))
}

// elements returns the elements of a JSON array. It returns any other valid JSON as a single element.
func elements(data json.RawMessage) []json.RawMessage {
	var list []json.RawMessage // nil, since decoding into a list that holds data would overwrite its bytes
	if isArray(data) && json.Unmarshal(data, &list) == nil {
		return list
	}
	return []json.RawMessage{data}
}

func isArray(data json.RawMessage) bool { return beginsWith(data, '[') }

func isObject(data json.RawMessage) bool { return beginsWith(data, '{') }

func beginsWith(data json.RawMessage, first byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == first
}

// readInput converts a JSON object of updates by channel, in the form in which clients write
// it, to writes.
func (s *served) readInput(data json.RawMessage) (state.Update, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, errors.New("it is not an object with the names of channels as keys")
	}
	if err := s.dropOthers(values); err != nil {
		return nil, err
	}
	var first, removed state.Update
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list, ok := s.channels.messages[name]
		if !ok {
			continue
		}
		in, err := readMessages(values[name])
		if err != nil {
			return nil, fmt.Errorf("channel %q: %w", name, err)
		}
		if in.all {
			w, err := s.write(name, "overwrite", json.RawMessage("[]"))
			if err != nil {
				return nil, err
			}
			first = append(first, w)
		}
		if len(in.remove) > 0 {
			w, err := s.write(name, "remove", encoded(in.remove))
			if err != nil {
				return nil, err
			}
			removed = append(removed, w)
		}
		switch {
		case len(in.messages) == 0:
			delete(values, name)
		case list:
			values[name] = encoded(in.messages)
		default:
			values[name] = encoded(in.messages[len(in.messages)-1])
		}
	}
	update, err := s.graph.ReadInput(encoded(values))
	return slices.Concat(first, removed, update), err
}

// dropOthers removes values for channels that the graph does not have or that clients cannot write, because clients of
// LangGraph Server send such values to every graph. If all values are of this kind, it returns an error.
func (s *served) dropOthers(values map[string]json.RawMessage) error {
	var unknown, closed []string
	for name := range values {
		switch {
		case !s.has(name):
			unknown = append(unknown, name)
		case s.channels.closed[name]:
			closed = append(closed, name)
		}
	}
	if n := len(unknown) + len(closed); n == 0 || n < len(values) {
		for _, name := range slices.Concat(unknown, closed) {
			delete(values, name)
		}
		return nil
	}
	slices.Sort(unknown)
	slices.Sort(closed)
	switch {
	case len(closed) == 0:
		return fmt.Errorf("the graph %q has none of the channels %q", s.name, unknown)
	case len(unknown) == 0:
		return fmt.Errorf("clients cannot write the channels %q of the graph %q", closed, s.name)
	}
	return fmt.Errorf("clients cannot write the channels %q of the graph %q, and it has none of the channels %q", closed, s.name, unknown)
}

func (s *served) write(channel, op string, value json.RawMessage) (state.Write, error) {
	return s.graph.ReadWrite(encoded(map[string]any{"channel": channel, "op": op, "value": value}))
}

// oidNamespace is the namespace of the ids that the server derives from names.
const oidNamespace = "6ba7b821-9dad-11d1-80b4-00c04fd430c8"

// nameID returns the version 5 UUID (RFC 9562) of a name in a namespace. The namespace is a UUID or any other text.
func nameID(namespace, name string) string {
	h := sha1.New() //nolint:gosec // the standard demands SHA-1; the ids are not secret
	if raw, err := hex.DecodeString(strings.ReplaceAll(namespace, "-", "")); err == nil {
		h.Write(raw)
	} else {
		h.Write([]byte(namespace))
	}
	h.Write([]byte(name))
	id := h.Sum(nil)[:16]
	id[6], id[8] = id[6]&0x0f|5<<4, id[8]&0x3f|0x80
	text := hex.EncodeToString(id)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// isUUID reports whether a text is a UUID.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		digit := '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
		if dash != (c == '-') || !dash && !digit {
			return false
		}
	}
	return true
}

// flatValue converts the JSON of messages, as channels store them, to the flat objects that clients read.
func flatValue(data json.RawMessage, list bool) (json.RawMessage, error) {
	if list {
		messages, err := storedMessages(data)
		if err != nil {
			return nil, err
		}
		return flatMessages(messages)
	}
	messages, err := storedMessages(append(append(json.RawMessage("["), data...), ']'))
	if err != nil {
		return nil, err
	}
	flat, err := flatMessages(messages)
	if err != nil {
		return nil, err
	}
	return flat[1 : len(flat)-1], nil
}
