package stored

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A channel records the properties of a channel that its stored changes show.
type channel struct {
	list, elements, entries bool // some change is a change of a list, of elements with keys, of a map
	notArray, notObject     bool // some whole value is neither null nor an array; neither null nor an object
	messages                bool // each element so far was a message
	seen                    bool
	kinds                   map[statecore.Kind]bool // the kinds of the changes
}

// change adds a stored change.
func (c *channel) change(k statecore.Kind, data []byte) {
	if c.kinds == nil {
		c.kinds = map[statecore.Kind]bool{}
	}
	c.kinds[k] = true
	array := len(data) > 0 && data[0] == '['
	switch k {
	case statecore.KindSet:
		c.whole(data)
	case statecore.KindAppend:
		c.list = true
	case statecore.KindPut:
		c.elements = true
	case statecore.KindMerge:
		c.entries = true
	case statecore.KindRemove:
		c.elements, c.entries = c.elements || array, c.entries || !array
		return
	case statecore.KindClear:
		return
	}
	messages := array && areMessages(data)
	if bytes.Equal(data, []byte("[]")) {
		return
	}
	c.messages = messages && (c.messages || !c.seen)
	c.seen = true
}

// whole adds a stored change that replaces the whole value.
func (c *channel) whole(data []byte) {
	if string(data) == "null" {
		return
	}
	c.notArray = c.notArray || !bytes.HasPrefix(data, []byte("["))
	c.notObject = c.notObject || !bytes.HasPrefix(data, []byte("{"))
}

// write adds a stored write, if it shows the kind of its channel. Most writes do not.
func (c *channel) write(k statecore.Kind, data []byte) {
	if k == statecore.KindPut || k == statecore.KindMerge || k == statecore.KindRemove {
		c.change(k, data)
	}
}

// with returns a channel that has the changes of both c and d.
func (c *channel) with(d *channel) *channel {
	out := &channel{
		list: c.list || d.list, elements: c.elements || d.elements, entries: c.entries || d.entries,
		notArray: c.notArray || d.notArray, notObject: c.notObject || d.notObject,
		messages: (c.messages || !c.seen) && (d.messages || !d.seen) && (c.seen || d.seen),
		seen:     c.seen || d.seen, kinds: maps.Clone(c.kinds),
	}
	if out.kinds == nil {
		out.kinds = map[statecore.Kind]bool{}
	}
	maps.Copy(out.kinds, d.kinds)
	return out
}

// known reports whether a kind of channel stores all these changes.
func (c *channel) known() bool {
	for k := range c.kinds {
		if k < statecore.KindSet || k > statecore.KindClear {
			return false
		}
	}
	switch {
	case c.list:
		return !c.elements && !c.entries && !c.notArray
	case c.elements:
		return !c.entries && !c.notArray
	}
	return !c.entries || !c.notObject
}

// areMessages reports whether data is an array of messages of package llm that is not empty.
func areMessages(data []byte) bool {
	var list []struct {
		Role llm.Role `json:"role"`
	}
	if json.Unmarshal(data, &list) != nil || len(list) == 0 {
		return false
	}
	var messages []llm.Message
	if json.Unmarshal(data, &messages) != nil {
		return false
	}
	for i := range messages {
		switch list[i].Role {
		case llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool:
		default:
			return false
		}
	}
	return true
}

// handle returns a channel that replays the changes.
func (c *channel) handle(name string) (state.Handle, error) {
	if !c.known() {
		var kinds []string
		for _, k := range slices.Sorted(maps.Keys(c.kinds)) {
			kinds = append(kinds, k.String())
		}
		return nil, statecore.ChannelError(name, fmt.Errorf("%w: no kind of channel of this version of Weft stores all of its changes (%s); "+
			"a newer version may have stored them, or the kind of the channel was changed: read the thread with the program that has its graph",
			state.ErrStored, strings.Join(kinds, ", ")))
	}
	return c.replaying(name), nil
}

// replaying returns a channel of a kind that stores the changes.
func (c *channel) replaying(name string) state.Handle {
	switch {
	case c.messages && c.list:
		return state.Append[llm.Message](name)
	case c.messages:
		return state.Keyed(name, messageID{})
	case c.list:
		return state.Append[json.RawMessage](name)
	case c.elements:
		return state.Keyed(name, elementID{})
	case c.entries:
		return state.Map[string, json.RawMessage](name)
	}
	return state.NewChannel(name, unchanged)
}

// unchanged is the reducer of a channel whose own reducer only the program has. The result of that reducer for the
// updates of an unfinished superstep is unknown, so unchanged keeps the value before them. For a channel without a
// value, it returns the first update, which is the result of most reducers.
func unchanged(value, update json.RawMessage) (json.RawMessage, error) {
	if value == nil {
		value = update
	}
	return value, nil
}

// messageID identifies messages by their ids.
type messageID struct{}

func (messageID) ID(m llm.Message) string { return m.ID }

func (messageID) WithID(m llm.Message, id string) llm.Message {
	m.ID = id
	return m
}

// elementID identifies the elements of a channel. The ID function of the program is not stored.
// So the id of an element is its text if it is a string, the first of its idFields that is a
// text, or the whole element.
type elementID struct{}

var idFields = []string{"id", "key", "name", "path"}

func (elementID) ID(e json.RawMessage) string {
	var text string
	if json.Unmarshal(e, &text) == nil {
		return text
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(e, &fields) == nil {
		for _, want := range idFields {
			for name, value := range fields {
				if strings.EqualFold(name, want) && json.Unmarshal(value, &text) == nil && text != "" {
					return text
				}
			}
		}
	}
	return string(e)
}

func (elementID) WithID(e json.RawMessage, _ string) json.RawMessage { return e }
