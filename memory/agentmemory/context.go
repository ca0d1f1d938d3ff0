package agentmemory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
)

// contextKey is the key of a [Context] in the profile of its user.
const contextKey = "context"

// A Context describes the user to an agent. It is the value "context" of [memory.Memory.Profile].
type Context struct {
	// Plan is the user's plan, such as free, pro or enterprise.
	Plan string `json:"plan,omitempty"`
	// Usage and Preferences are any JSON: a text (see [Text]), an object, or nil.
	Usage       json.RawMessage `json:"usage,omitempty"`
	Preferences json.RawMessage `json:"preferences,omitempty"`
	// Version identifies the stored state and changes with each write. It is zero for a user without a
	// stored context.
	Version int64 `json:"-"`
	// UpdatedAt is the time of the last write, by the store's clock.
	UpdatedAt time.Time `json:"-"`
}

// Known reports whether a context is stored.
func (c Context) Known() bool { return c.Version != 0 }

// Text returns a text as JSON.
func Text(text string) json.RawMessage {
	data, err := input.Encode(text)
	if err != nil {
		return nil // a string is always JSON
	}
	return data
}

// LoadContext returns the context of the user of a scope. It is empty if none is stored, or if the scope
// has no user.
func LoadContext(ctx context.Context, m *memory.Memory, s memory.Scope) (Context, error) {
	c, err := loadContext(ctx, m, s)
	if err != nil {
		return Context{}, fmt.Errorf("agentmemory: load the context of %s: %w", s, err)
	}
	return c, nil
}

func loadContext(ctx context.Context, m *memory.Memory, s memory.Scope) (Context, error) {
	if s.User == "" {
		return Context{}, nil
	}
	d, err := m.Profile(s).Get(ctx, contextKey)
	if errors.Is(err, memory.ErrNotFound) {
		return Context{}, nil
	}
	if err != nil {
		return Context{}, err
	}
	fields, err := fieldsOf(d.Value)
	if err != nil {
		return Context{}, err
	}
	c := Context{Usage: present(fields["usage"]), Preferences: present(fields["preferences"]), Version: d.Version, UpdatedAt: d.UpdatedAt}
	if plan := fields["plan"]; json.Unmarshal(plan, &c.Plan) != nil {
		c.Plan = string(plan) // another program wrote a value that is not a string
	}
	return c, nil
}

func fieldsOf(value json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(value, &fields); err != nil {
		return nil, fmt.Errorf("document %q: %w: %w", contextKey, memory.ErrInvalid, err)
	}
	return fields, nil
}

// present returns nil for null.
func present(value json.RawMessage) json.RawMessage {
	if string(bytes.TrimSpace(value)) == "null" {
		return nil
	}
	return value
}

// StoreContext replaces the plan, the usage and the preferences of a user by those of c. Other fields of
// the stored value do not change. If c.Version is not zero, it must be the stored version; otherwise the
// error is [memory.ErrConflict]. It returns [memory.ErrInvalid] for a scope without a user.
func StoreContext(ctx context.Context, m *memory.Memory, s memory.Scope, c Context) (Context, error) {
	stored, err := storeContext(ctx, m, s, c)
	if err != nil {
		return Context{}, fmt.Errorf("agentmemory: store the context of %s: %w", s, err)
	}
	return stored, nil
}

func storeContext(ctx context.Context, m *memory.Memory, s memory.Scope, c Context) (Context, error) {
	if s.User == "" {
		return Context{}, fmt.Errorf("the scope has no user: %w", memory.ErrInvalid)
	}
	n := m.Profile(s)
	for try := 1; ; try++ {
		old, err := n.Get(ctx, contextKey)
		if errors.Is(err, memory.ErrNotFound) {
			old, err = memory.Item{Value: json.RawMessage(`{}`), Version: memory.Absent}, nil
		}
		if err != nil {
			return Context{}, err
		}
		if c.Version != 0 && c.Version != old.Version {
			return Context{}, fmt.Errorf("the context does not have the version %d: %w", c.Version, memory.ErrConflict)
		}
		value, err := c.into(old.Value)
		if err != nil {
			return Context{}, err
		}
		item, err := n.Put(ctx, contextKey, value, memory.PutOptions{Version: old.Version})
		if err == nil {
			c.Version, c.UpdatedAt = item.Version, item.UpdatedAt
			return c, nil
		}
		if !errors.Is(err, memory.ErrConflict) || c.Version != 0 || try == maxTries {
			return Context{}, err
		}
	}
}

// maxTries limits the attempts to store a context that other programs change at the same time.
const maxTries = 100

// into returns a stored value with the plan, the usage and the preferences of c.
func (c Context) into(value json.RawMessage) (json.RawMessage, error) {
	fields, err := fieldsOf(value)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]json.RawMessage{"plan": Text(c.Plan), "usage": c.Usage, "preferences": c.Preferences} {
		if value = present(value); len(value) == 0 || name == "plan" && c.Plan == "" {
			delete(fields, name)
			continue
		}
		if _, err := input.Decode(value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fields[name] = value
	}
	return input.Encode(fields)
}
