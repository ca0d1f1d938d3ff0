package jsonform

import "fmt"

// Marshal returns the stored form of a value outside of a channel, such as the
// question of an interrupt. The error wraps [ErrRoundTrip] under the same conditions
// as for a channel of type T.
func Marshal[T any](v T) ([]byte, error) {
	c := New[T]()
	if c.err != nil {
		return nil, fmt.Errorf("state: %w", c.err)
	}
	data, err := c.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("state: %s: %w", WithArticle(c.t.String()), err)
	}
	return data, nil
}

// Unmarshal decodes the result of [Marshal]. The error wraps [ErrStored].
func Unmarshal[T any](data []byte) (T, error) {
	c := New[T]()
	v, err := c.Decode(data)
	if err != nil {
		return v, fmt.Errorf("state: %s: %w", WithArticle(c.t.String()), err)
	}
	return v, nil
}
