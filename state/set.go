package state

// Set returns a channel that holds distinct elements in the order of their
// first arrival. Elements that Go's == tells apart by address, or by what is
// not stored, are refused by [NewSchema].
func Set[E comparable](name string) *SetChannel[E] {
	c := &SetChannel[E]{}
	c.elements = newElements(name, "set", func(e E) E { return e })
	if c.err == nil {
		c.err = distinct[E]()
	}
	return c
}

// A SetChannel is a channel that holds distinct elements. It is made by [Set].
type SetChannel[E comparable] struct {
	*elements[E, E]
}

// Has reports whether e is in the set.
func (c *SetChannel[E]) Has(s View, e E) bool {
	_, ok := c.find(s, e)
	return ok
}

// Put returns a write that adds elements.
func (c *SetChannel[E]) Put(elements ...E) Write { return c.put(copyOf(elements, c.clone)) }

// Overwrite returns a write that replaces the set; see [Channel.Overwrite].
func (c *SetChannel[E]) Overwrite(elements []E) Write {
	return c.write(KindOverwrite, copyOf(elements, c.clone))
}
