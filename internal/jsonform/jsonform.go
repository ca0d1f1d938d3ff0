package jsonform

import "fmt"

// Marshal returns the stored form of a value that is not in a channel, such as a
// question that waits for its answer. Its error wraps [ErrRoundTrip] under the
// same conditions as in a channel of type T.
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

// Unmarshal reads what [Marshal] returned. Its error wraps [ErrStored].
func Unmarshal[T any](data []byte) (T, error) {
	v, err := New[T]().Decode(data)
	if err != nil {
		return v, fmt.Errorf("state: a %T: %w", v, err)
	}
	return v, nil
}
