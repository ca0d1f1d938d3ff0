package state

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
	c := &KeyedChannel[E]{id: id}
	c.elements = newElements(name, "keyed", id.ID)
	c.elements.missing = ""
	c.elements.refuseMissing = true
	return c
}

// A KeyedChannel is a channel that holds a list of elements with ids, such as
// the messages of a conversation. It is made by [Keyed].
type KeyedChannel[E any] struct {
	*elements[string, E]
	id Identity[E]
}

// Prune sets a function that runs after each step which changed the list, and
// returns the elements to keep, in their order. What it leaves out is removed,
// in storage too. It is pure, gets a copy, and is not run on what is read back.
// Prune returns the channel, and is meant for its declaration.
func (c *KeyedChannel[E]) Prune(keep func([]E) []E) *KeyedChannel[E] {
	c.prune = keep
	return c
}

// Find returns the element of an id, and whether there is one.
func (c *KeyedChannel[E]) Find(s View, id string) (e E, ok bool) {
	items := c.view(s)
	for i := len(items) - 1; i >= 0; i-- {
		if c.id.ID(items[i]) == id {
			return lastOf(items[:i+1], c.clone)
		}
	}
	return e, false
}

// Put returns a write that replaces the elements of the same ids, or appends.
func (c *KeyedChannel[E]) Put(elements ...E) Write { return c.put(c.stamp(elements)) }

func (c *KeyedChannel[E]) stamp(elements []E) []E {
	out := cloneSlice(elements, c.clone)
	for i, e := range out {
		if c.id.ID(e) == "" {
			out[i] = c.id.WithID(e, newID())
		}
	}
	return out
}

// Overwrite returns a write that replaces the list; see [Channel.Overwrite].
func (c *KeyedChannel[E]) Overwrite(elements []E) Write {
	return Write{ch: c, op: KindOverwrite, data: c.stamp(elements)}
}
