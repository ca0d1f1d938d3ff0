package profile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

// Namespace is the label of the namespace in which documents are, in the scope of their
// user.
const Namespace = "weft.profile"

// MaxDocument is how many bytes a document may have.
const MaxDocument = 64 << 10

// Profiles keeps documents of users. It is safe for use by any number of goroutines.
type Profiles struct{ values *memory.Values }

// New returns profiles that are kept in a store.
func New(store driver.ValueStore) (*Profiles, error) {
	values, err := memory.NewValues(store, memory.ValuesOptions{})
	if err != nil {
		return nil, fmt.Errorf("profile: new: %w", err)
	}
	return &Profiles{values}, nil
}

// A Document is what is known of a user, of one schema.
type Document struct {
	// Schema names what is in it.
	Schema string `json:"schema"`
	// Value is a JSON object.
	Value json.RawMessage `json:"value"`
	// Version is another after each change.
	Version int64 `json:"version"`
	// CreatedAt and UpdatedAt are times of the store.
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func documentOf(item memory.Item) Document {
	return Document{Schema: item.Key, Value: item.Value, Version: item.Version, CreatedAt: item.CreatedAt, UpdatedAt: item.UpdatedAt}
}

// of returns where the documents of a scope's user are.
func (p *Profiles) of(s memory.Scope) (memory.Namespace, error) {
	if s.User == "" {
		return memory.Namespace{}, fmt.Errorf("no user in the scope %s: %w", s, memory.ErrInvalid)
	}
	return p.values.In(s, Namespace), nil
}

// Get returns a document of a user, or [memory.ErrNotFound].
func (p *Profiles) Get(ctx context.Context, s memory.Scope, schema string) (Document, error) {
	d, err := p.get(ctx, s, schema)
	if err != nil {
		return Document{}, fmt.Errorf("profile: get: %w", err)
	}
	return d, nil
}

func (p *Profiles) get(ctx context.Context, s memory.Scope, schema string) (Document, error) {
	n, err := p.of(s)
	if err != nil {
		return Document{}, err
	}
	item, err := n.Get(ctx, schema)
	if err != nil {
		return Document{}, err
	}
	return documentOf(item), nil
}

// Put stores a document of a user in the place of what was there. With a Version, that has to be
// the document's, or else it is a [memory.ErrConflict]; [memory.Absent] stands for one that is not
// there.
func (p *Profiles) Put(ctx context.Context, s memory.Scope, d Document) (Document, error) {
	stored, err := p.put(ctx, s, d)
	if err != nil {
		return Document{}, fmt.Errorf("profile: put: %w", err)
	}
	return stored, nil
}

func (p *Profiles) put(ctx context.Context, s memory.Scope, d Document) (Document, error) {
	n, err := p.of(s)
	if err != nil {
		return Document{}, err
	}
	if value := bytes.TrimSpace(d.Value); len(value) == 0 || value[0] != '{' {
		return Document{}, fmt.Errorf("document %.60q is no JSON object: %.40s: %w", d.Schema, value, memory.ErrInvalid)
	}
	if len(d.Value) > MaxDocument {
		return Document{}, fmt.Errorf("document %.60q has %d bytes, and %d are allowed: %w", d.Schema, len(d.Value), MaxDocument, memory.ErrInvalid)
	}
	item, err := n.Put(ctx, d.Schema, d.Value, memory.PutOptions{Version: d.Version})
	if err != nil {
		return Document{}, err
	}
	return documentOf(item), nil
}

// Patch changes a document of a user by a merge patch, which is an object, see [Merge], and
// returns it as it is then. One that is not there is made. Where somebody else changes it meanwhile, the patch
// is applied to what that made of it, unless a version is given that is not zero: then that has to be the
// document's, or else it is a [memory.ErrConflict].
func (p *Profiles) Patch(ctx context.Context, s memory.Scope, schema string, patch json.RawMessage, version int64) (Document, error) {
	d, err := p.change(ctx, s, schema, version, func(old json.RawMessage) (json.RawMessage, error) {
		if trimmed := bytes.TrimSpace(patch); len(trimmed) == 0 || trimmed[0] != '{' {
			return nil, fmt.Errorf("a patch that is no JSON object: %.40s: %w", trimmed, memory.ErrInvalid)
		}
		return Merge(old, patch)
	})
	if err != nil {
		return Document{}, fmt.Errorf("profile: patch: %w", err)
	}
	return d, nil
}

// maxTries is how often a change is tried: each time somebody else was quicker.
const maxTries = 100

// change stores what fn makes of a document, and nothing of others is lost.
func (p *Profiles) change(ctx context.Context, s memory.Scope, schema string, version int64, fn func(json.RawMessage) (json.RawMessage, error)) (Document, error) {
	for try := 1; ; try++ {
		old, err := p.get(ctx, s, schema)
		if errors.Is(err, memory.ErrNotFound) {
			old, err = Document{Schema: schema, Value: json.RawMessage(`{}`), Version: memory.Absent}, nil
		}
		if err != nil {
			return Document{}, err
		}
		if version != 0 && version != old.Version {
			return Document{}, fmt.Errorf("document %.60q is not of the version %d: %w", schema, version, memory.ErrConflict)
		}
		if old.Value, err = fn(old.Value); err != nil {
			return Document{}, err
		}
		d, err := p.put(ctx, s, old)
		if !errors.Is(err, memory.ErrConflict) || version != 0 || try == maxTries {
			return d, err
		}
	}
}

// Delete removes a document of a user, if it is there. A version that is not zero has to be the document's, or
// else it is a [memory.ErrConflict].
func (p *Profiles) Delete(ctx context.Context, s memory.Scope, schema string, version int64) error {
	n, err := p.of(s)
	if err == nil {
		err = n.Delete(ctx, schema, version)
	}
	if err != nil {
		return fmt.Errorf("profile: delete: %w", err)
	}
	return nil
}

// List yields all documents of a user, by their schemas.
func (p *Profiles) List(ctx context.Context, s memory.Scope) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		n, err := p.of(s)
		if err != nil {
			yield(Document{}, fmt.Errorf("profile: list: %w", err))
			return
		}
		for item, err := range n.List(ctx, memory.ValueQuery{Own: true, Order: memory.ByKey, Limit: -1}) {
			if err != nil {
				yield(Document{}, fmt.Errorf("profile: list: %w", err))
				return
			}
			if !yield(documentOf(item), nil) {
				return
			}
		}
	}
}

// Forget removes all documents of a scope, and returns how many values. Parts that are empty mean all, but for the
// tenant: of a tenant and user, all workspaces and agents. If the store keeps other values of the scope, they are removed
// too: it is all of a user, and nothing less.
func (p *Profiles) Forget(ctx context.Context, s memory.Scope) (int, error) {
	n, err := p.values.Forget(ctx, s)
	if err != nil {
		return n, fmt.Errorf("profile: forget: %w", err)
	}
	return n, nil
}

// Get returns a document of a user as a T, and its version. It returns [memory.ErrNotFound] if there
// is none, and another error if it is no T.
func Get[T any](ctx context.Context, p *Profiles, s memory.Scope, schema string) (value T, version int64, err error) {
	d, err := p.Get(ctx, s, schema)
	if err != nil {
		return value, 0, err
	}
	if err := json.Unmarshal(d.Value, &value); err != nil {
		var none T
		return none, 0, fmt.Errorf("profile: get: document %.60q: %w", schema, err)
	}
	return value, d.Version, nil
}
