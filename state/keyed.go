package state

import (
	"errors"

	"github.com/weft-go/weft/internal/uuid"
)

// An Identity tells the elements of a [KeyedChannel] apart.
type Identity[E any] interface {
	// ID returns the element's id; empty when it has none yet.
	ID(e E) string
	// WithID returns the element with an id.
	WithID(e E, id string) E
}

// Keyed returns a channel that holds a list of elements with ids: Put replaces
// the element of that id in its place, or appends it. An element without an id
// is given one by Put, before anything is stored.
func Keyed[E any](name string, id Identity[E]) *KeyedChannel[E] {
	forgotten := id == nil
	if forgotten {
		id = nobody[E]{}
	}
	c := &KeyedChannel[E]{id: id}
	c.elements = newElements(name, "keyed", id.ID)
	c.absent = func(id string) bool { return id == "" }
	if forgotten {
		c.err = errors.New("its Identity is nil")
	}
	return c
}

// nobody stands for an identity that was forgotten; [NewSchema] refuses it.
type nobody[E any] struct{}

func (nobody[E]) ID(E) string            { return "" }
func (nobody[E]) WithID(e E, _ string) E { return e }

// A KeyedChannel is a channel that holds a list of elements with ids, such as
// the messages of a conversation. It is made by [Keyed].
type KeyedChannel[E any] struct {
	*elements[string, E]
	id Identity[E]
}

// Prune sets a function that runs after each step which changed the list, and
// returns the elements to keep, in their order. What it leaves out is removed,
// in storage too; what it changes in an element is not kept. It is pure, gets a
// copy, and is not run on what is read back. Prune returns the channel, and is
// meant for its declaration.
func (c *KeyedChannel[E]) Prune(keep func([]E) []E) *KeyedChannel[E] {
	c.prune, c.prunes = keep, keep != nil
	c.echoes = keep == nil // a removal may be the pruner's, and is then no task's write
	return c
}

// Find returns the element of an id, and whether there is one.
func (c *KeyedChannel[E]) Find(s View, id string) (e E, ok bool) {
	if e, ok = c.find(s, id); ok {
		e = cloned(e, c.clone)
	}
	return e, ok
}

// Put returns a write that replaces the elements of the same ids, or appends.
func (c *KeyedChannel[E]) Put(elements ...E) Write { return c.put(c.stamp(elements)) }

func (c *KeyedChannel[E]) stamp(elements []E) []E {
	out := copyOf(elements, c.clone)
	for i, e := range out {
		if c.id.ID(e) == "" {
			out[i] = c.id.WithID(e, uuid.New())
		}
	}
	return out
}

// Overwrite returns a write that replaces the list; see [Channel.Overwrite].
func (c *KeyedChannel[E]) Overwrite(elements []E) Write {
	return c.write(KindOverwrite, c.stamp(elements))
}
