package state

import (
	"encoding/json"

	"github.com/weft-go/weft/internal/jsonform"
)

// Set returns a channel that holds distinct elements, in the order in which they
// were first added. A graph rejects an element type if Go's == compares its values
// by address, or by fields that are not stored.
func Set[E comparable](name string) *SetChannel[E] {
	c := &SetChannel[E]{newElements(name, "set", func(e E) E { return e })}
	if c.traits.Err == nil {
		c.traits.Err = jsonform.Distinct[E]()
	}
	return c
}

// A SetChannel is a channel that holds distinct elements. Create it with [Set].
type SetChannel[E comparable] struct {
	*elements[E, E]
}

// Internal marks the channel as an implementation detail of nodes. See [Channel.Internal].
func (c *SetChannel[E]) Internal() *SetChannel[E] {
	c.traits.Internal = true
	return c
}

// Upgrade sets a function that converts the stored JSON of an element from an older
// form. See [Channel.Upgrade].
func (c *SetChannel[E]) Upgrade(up func(old json.RawMessage) (json.RawMessage, error)) *SetChannel[E] {
	c.codec.SetUpgrade(up)
	c.keys.SetUpgrade(up) // the key of an element is the element itself
	return c
}

// Has reports whether e is in the set.
func (c *SetChannel[E]) Has(s View, e E) bool {
	_, ok := c.find(s, e)
	return ok
}

// Put returns a write that adds elements.
func (c *SetChannel[E]) Put(elements ...E) Write { return c.put(cloneAll(elements, c.clone)) }

// Overwrite returns a write that replaces the set. See [Channel.Overwrite].
func (c *SetChannel[E]) Overwrite(elements []E) Write {
	return c.overwrite(cloneAll(elements, c.clone))
}
