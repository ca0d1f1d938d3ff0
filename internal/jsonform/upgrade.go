package jsonform

import (
	"encoding/json"
	"errors"
	"fmt"
)

// An Upgrade converts stored JSON from an older form of a type to the current form.
// It returns JSON in the current form unchanged.
type Upgrade = func(old json.RawMessage) (json.RawMessage, error)

// SetUpgrade sets a function that Decode and DecodeList call with each value before
// they decode it.
func (c *codec) SetUpgrade(up Upgrade) { c.upgrade = up }

func (c *codec) upgraded(data []byte) ([]byte, error) {
	if c.upgrade == nil {
		return data, nil
	}
	return CallUpgrade(c.upgrade, data)
}

// unread returns the error for stored JSON that could not be decoded. If the channel has an Upgrade function, the
// error names it as the cause.
func (c *codec) unread(err error) error {
	if c.upgrade != nil && !errors.Is(err, ErrUpgrade) {
		err = fmt.Errorf("%w returned JSON that cannot be read: %w", ErrUpgrade, err)
	}
	return fmt.Errorf("%w: %w", ErrStored, err)
}

func (c *codec) upgradedList(data []byte) ([]byte, error) {
	if c.upgrade == nil {
		return data, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(data, &items); err != nil {
		return nil, err
	}
	for i, item := range items {
		out, err := CallUpgrade(c.upgrade, item)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		items[i] = out
	}
	return json.Marshal(items)
}

// CallUpgrade calls up. It turns a panic into an error.
func CallUpgrade(up Upgrade, data []byte) (out []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w panicked: %v", ErrUpgrade, v)
		}
	}()
	if out, err = up(data); err != nil {
		return nil, fmt.Errorf("%w failed: %w", ErrUpgrade, err)
	}
	return out, nil
}
