package jsonform

import "fmt"

// Encode returns the stored form of a value that is no channel's, such as a
// question that waits for its answer. It refuses, with [ErrRoundTrip], what a
// channel of type T would refuse.
func Marshal[T any](v T) ([]byte, error) {
	c := New[T]()
	if c.err != nil {
		return nil, fmt.Errorf("state: %w", c.err)
	}
	data, err := c.Encode(v)
	if err != nil {
		return nil, fmt.Errorf("state: a %T: %w", v, err)
	}
	return data, nil
}

// Decode reads what [Encode] returned. Its error wraps [ErrStored].
func Unmarshal[T any](data []byte) (T, error) {
	v, err := New[T]().Decode(data)
	if err != nil {
		return v, fmt.Errorf("state: a %T: %w", v, err)
	}
	return v, nil
}
