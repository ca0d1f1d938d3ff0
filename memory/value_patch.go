package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-go/weft/memory/internal/input"
)

// profileNamespace is the label of the namespace of profiles. SQL programs use the same label.
const profileNamespace = "weft.profile"

// Profile returns the namespace of a user's profile: one JSON object under each key, such as "settings".
// [Namespace.Patch] changes parts of it. The scope should name a user: without one, all users share the
// profile.
func (m *Memory) Profile(s Scope) Namespace { return m.Values().In(s, profileNamespace) }

// Patch changes the JSON object of a key by a merge patch, which is an object (RFC 7396): fields of the patch replace
// fields of the value, objects are merged with objects, and null removes a field. Numbers keep their text. A value
// that does not exist is treated as an empty object. Patch returns the value that it stored.
//
// If the value changes meanwhile, the patch is applied to the new value. If version is not zero, it must be the
// version of the value; otherwise the error is [ErrConflict].
func (n Namespace) Patch(ctx context.Context, key string, patch json.RawMessage, version int64) (Item, error) {
	item, err := n.change(ctx, key, version, func(old json.RawMessage) (json.RawMessage, error) {
		if trimmed := bytes.TrimSpace(patch); len(trimmed) == 0 || trimmed[0] != '{' {
			return nil, fmt.Errorf("a patch that is not a JSON object: %.40s: %w", trimmed, ErrInvalid)
		}
		return mergePatch(old, patch)
	})
	if err != nil {
		return Item{}, fmt.Errorf("values: patch %.60q: %w", key, err)
	}
	return item, nil
}

// change stores the result of fn for a value.
func (n Namespace) change(ctx context.Context, key string, version int64, fn func(json.RawMessage) (json.RawMessage, error)) (Item, error) {
	for try := 1; ; try++ {
		old, err := n.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			old, err = Item{Value: json.RawMessage(`{}`), Version: Absent}, nil
		}
		if err != nil {
			return Item{}, err
		}
		if version != 0 && version != old.Version {
			return Item{}, fmt.Errorf("the value does not have the version %d: %w", version, ErrConflict)
		}
		value, err := fn(old.Value)
		if err != nil {
			return Item{}, err
		}
		item, err := n.Put(ctx, key, value, PutOptions{Version: old.Version})
		if !errors.Is(err, ErrConflict) || version != 0 || try == maxTries {
			return item, err
		}
	}
}

// mergePatch applies a merge patch to a document.
func mergePatch(document, patch json.RawMessage) (json.RawMessage, error) {
	target, err := input.Decode(document)
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	change, err := input.Decode(patch)
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return input.Encode(merge(target, change))
}

func merge(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged, ok := target.(map[string]any)
	if !ok {
		merged = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = merge(merged[name], value)
		}
	}
	return merged
}
