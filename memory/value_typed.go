package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// GetValue returns a value as a T, and its version. It returns [ErrNotFound] if there is
// no value, and another error if the value cannot be decoded as a T.
func GetValue[T any](ctx context.Context, n Namespace, key string) (value T, version int64, err error) {
	item, err := n.Get(ctx, key)
	if err != nil {
		return value, 0, err
	}
	if value, err = decode[T](item); err != nil {
		return value, 0, fmt.Errorf("values: get: %w", err)
	}
	return value, item.Version, nil
}

func decode[T any](item Item) (value T, err error) {
	if err := json.Unmarshal(item.Value, &value); err != nil {
		var none T
		return none, fmt.Errorf("value of %.60q: %w", item.Key, err)
	}
	return value, nil
}

// PutValue stores a value as JSON.
func PutValue[T any](ctx context.Context, n Namespace, key string, value T, o PutOptions) (Item, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return Item{}, fmt.Errorf("values: put: value of %.60q: %w: %w", key, ErrInvalid, err)
	}
	return n.Put(ctx, key, data, o)
}

// maxTries limits the attempts of [UpdateValue] after conflicting writes.
const maxTries = 100

// UpdateValue reads a value, calls the function change with it and stores the result. If the value
// was written in between, it calls change again with the new value. If the value does not exist,
// change gets the zero T. If change returns an error, nothing is stored. PutOptions.Version is
// ignored.
func UpdateValue[T any](ctx context.Context, n Namespace, key string, o PutOptions, change func(T) (T, error)) (T, error) {
	var none T
	for range maxTries {
		value, version, err := GetValue[T](ctx, n, key)
		switch {
		case errors.Is(err, ErrNotFound):
			o.Version = Absent
		case err != nil:
			return none, err
		default:
			o.Version = version
		}
		if value, err = change(value); err != nil {
			return none, err
		}
		_, err = PutValue(ctx, n, key, value, o)
		if !errors.Is(err, ErrConflict) {
			if err != nil {
				return none, err
			}
			return value, nil
		}
	}
	return none, fmt.Errorf("values: update: %.60q changed %d times meanwhile: %w", key, maxTries, ErrConflict)
}
