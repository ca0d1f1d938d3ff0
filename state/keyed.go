package state

import (
	"encoding/json"
	"errors"

	"github.com/weft-go/weft/internal/uuid"
)

// An Identity reads and sets the ids of the elements of a [KeyedChannel].
type Identity[E any] interface {
	// ID returns the id of an element, or "" if the element has no id.
	ID(e E) string
	// WithID returns a copy of the element with the given id.
	WithID(e E, id string) E
}

// Keyed returns a channel that holds a list of elements with ids.
// Put replaces the element with the same id. If the id is not in the list, Put appends
// the new element. Put assigns a new id to an element without an id.
func Keyed[E any](name string, id Identity[E]) *KeyedChannel[E] {
	missing := id == nil
	if missing {
		id = missingIdentity[E]{}
	}
	c := &KeyedChannel[E]{id: id}
	c.elements = newElements(name, "keyed", id.ID)
	c.noKey = func(id string) bool { return id == "" }
	c.addID = c.withID
	if missing {
		c.traits.Err = errors.New("its Identity is nil")
	}
	return c
}

// missingIdentity replaces a nil Identity. A graph rejects a channel that has it.
type missingIdentity[E any] struct{}

func (missingIdentity[E]) ID(E) string            { return "" }
func (missingIdentity[E]) WithID(e E, _ string) E { return e }

// A KeyedChannel is a channel that holds a list of elements with ids, such as
// the messages of a conversation. Create it with [Keyed].
type KeyedChannel[E any] struct {
	*elements[string, E]
	id Identity[E]
}

// Prune sets a function that runs after each superstep, input or edit that writes to the
// list. The function gets a copy of the list and returns the elements to keep, in their
// order. The channel removes all other elements. Earlier checkpoints still have them.
// Changes inside an element are ignored. The function must be pure, and does not run
// when a state is restored. Prune returns the channel. Call Prune only where the channel
// is declared.
func (c *KeyedChannel[E]) Prune(keep func([]E) []E) *KeyedChannel[E] {
	c.prune, c.traits.Prunes = keep, keep != nil
	c.traits.ChangesAreWrites = keep == nil // no task writes the removals of keep
	return c
}

// Internal marks the channel as an implementation detail of nodes. See [Channel.Internal].
func (c *KeyedChannel[E]) Internal() *KeyedChannel[E] {
	c.traits.Internal = true
	return c
}

// Upgrade sets a function that converts the stored JSON of an element from an older
// form. See [Channel.Upgrade].
func (c *KeyedChannel[E]) Upgrade(up func(old json.RawMessage) (json.RawMessage, error)) *KeyedChannel[E] {
	c.codec.SetUpgrade(up)
	return c
}

// Find returns a copy of the element with the given id, or false if there is none.
func (c *KeyedChannel[E]) Find(s View, id string) (e E, ok bool) {
	if e, ok = c.find(s, id); ok {
		e = cloned(e, c.clone)
	}
	return e, ok
}

// Put returns a write that replaces the elements with the same ids.
// It appends elements whose ids are not in the list.
// It assigns a new id to each element without an id.
func (c *KeyedChannel[E]) Put(elements ...E) Write { return c.put(c.addIDs(elements)) }

// Overwrite returns a write that replaces the list. See [Channel.Overwrite].
func (c *KeyedChannel[E]) Overwrite(elements []E) Write { return c.overwrite(c.addIDs(elements)) }

// addIDs returns copies of the elements. It gives an id to each copy without one.
func (c *KeyedChannel[E]) addIDs(elements []E) []E {
	out := cloneAll(elements, c.clone)
	for i, e := range out {
		out[i] = c.withID(e)
	}
	return out
}

func (c *KeyedChannel[E]) withID(e E) E {
	if c.id.ID(e) == "" {
		return c.id.WithID(e, uuid.New())
	}
	return e
}
