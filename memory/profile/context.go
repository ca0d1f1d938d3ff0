package profile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/memory"
)

// ContextSchema is the schema of the document that a [Context] is.
const ContextSchema = "context"

// A Context is what an agent should know of whom it talks to.
type Context struct {
	// Plan is such as free, pro or enterprise.
	Plan string `json:"plan,omitempty"`
	// Usage and Preferences are any JSON, a text, see [Text], or an object, or nil.
	Usage       json.RawMessage `json:"usage,omitempty"`
	Preferences json.RawMessage `json:"preferences,omitempty"`
	// Version is another after each change. It is zero for a user of whom nothing is known.
	Version int64 `json:"-"`
	// UpdatedAt is a time of the store.
	UpdatedAt time.Time `json:"-"`
}

// Known reports whether something is stored.
func (c Context) Known() bool { return c.Version != 0 }

// Text returns a text as JSON.
func Text(text string) json.RawMessage {
	data, err := encode(text)
	if err != nil {
		return nil // a string is always JSON
	}
	return data
}

// Context returns the context of a user: an empty one if nothing is known.
func (p *Profiles) Context(ctx context.Context, s memory.Scope) (Context, error) {
	c, err := p.context(ctx, s)
	if err != nil {
		return Context{}, fmt.Errorf("profile: context: %w", err)
	}
	return c, nil
}

func (p *Profiles) context(ctx context.Context, s memory.Scope) (Context, error) {
	d, err := p.get(ctx, s, ContextSchema)
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
		c.Plan = string(plan) // as somebody wrote it who is not of this package
	}
	return c, nil
}

func fieldsOf(value json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(value, &fields); err != nil {
		return nil, fmt.Errorf("document %q: %w: %w", ContextSchema, memory.ErrInvalid, err)
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

// SetContext makes the plan, the usage and the preferences of a user those of c; other fields of the
// document stay. With a Version, that has to be the context's, or else it is a
// [memory.ErrConflict]. To change a part, take [Profiles.Patch] with [ContextSchema].
func (p *Profiles) SetContext(ctx context.Context, s memory.Scope, c Context) (Context, error) {
	d, err := p.change(ctx, s, ContextSchema, c.Version, func(old json.RawMessage) (json.RawMessage, error) {
		fields, err := fieldsOf(old)
		if err != nil {
			return nil, err
		}
		for name, value := range map[string]json.RawMessage{"plan": Text(c.Plan), "usage": c.Usage, "preferences": c.Preferences} {
			if value = present(value); len(value) == 0 || name == "plan" && c.Plan == "" {
				delete(fields, name)
				continue
			}
			if _, err := decode(value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			fields[name] = value
		}
		return encode(fields)
	})
	if err != nil {
		return Context{}, fmt.Errorf("profile: set context: %w", err)
	}
	c.Version, c.UpdatedAt = d.Version, d.UpdatedAt
	return c, nil
}

// Summary returns the context of a user in words, see [Context.Summary]. A scope without a user is one of whom nothing is
// known.
func (p *Profiles) Summary(ctx context.Context, s memory.Scope) (string, error) {
	if s.User == "" {
		return Context{}.Summary(), nil
	}
	c, err := p.context(ctx, s)
	if err != nil {
		return "", fmt.Errorf("profile: summary: %w", err)
	}
	return c.Summary(), nil
}
