package jsonform

import (
	"encoding/json"
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
	defer recoverAs("Upgrade", &err)
	if out, err = up(data); err != nil {
		return nil, fmt.Errorf("its Upgrade function failed: %w", err)
	}
	return out, nil
}
