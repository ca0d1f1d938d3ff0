package state

import (
	"cmp"
	"fmt"
	"math"

	"github.com/weft-go/weft/internal/jsonform"
)

// Last returns a channel that holds what was written last. Two tasks that write
// to it in one superstep are an [ErrConcurrentWrite].
func Last[T any](name string) *Channel[T, T] {
	c := replacing[T](name, "last")
	c.traits.Exclusive = true
	return c
}

// Any is [Last] without the refusal: of several writes in one superstep the one
// of the last task in order stays.
func Any[T any](name string) *Channel[T, T] { return replacing[T](name, "any") }

// Keep returns a channel whose updates may be absent: nil keeps what is there,
// anything else replaces it, the zero value included. Of several writes in one
// superstep the last that is not nil stays.
func Keep[T any](name string) *Channel[T, *T] {
	c := newChannel(name, "keep", func(_ T, update *T) (T, error) { return *update, nil })
	c.isNoop = func(update *T) bool { return update == nil }
	c.updates = pointers[T]{c.values}
	c.asUpdate, c.traits.ChangesAreWrites = func(v T) *T { return &v }, true
	return c
}

// pointers stores what updates point to, so that a pointer to a nil slice is
// still told apart from no update.
type pointers[T any] struct{ codec *jsonform.Codec[T] }

func (p pointers[T]) EncodeList(updates []*T) ([]byte, error) {
	values := make([]T, len(updates))
	for i, u := range updates {
		values[i] = *u
	}
	return p.codec.EncodeList(values)
}

func (p pointers[T]) DecodeList(text []byte) ([]*T, error) {
	values, err := p.codec.DecodeList(text)
	updates := make([]*T, len(values))
	for i := range values {
		updates[i] = &values[i]
	}
	return updates, err
}

// Number is what [Sum] can add.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64
}

// Sum returns a channel that adds its updates up, from zero. A sum that its type
// can not hold is an [ErrOverflow].
func Sum[N Number](name string) *Channel[N, N] {
	c := newChannel(name, "sum", func(current, update N) (N, error) {
		sum := current + update
		if update > 0 && sum < current || update < 0 && sum > current {
			return current, fmt.Errorf("%w: %v and %v", ErrOverflow, current, update)
		}
		return sum, nil
	})
	c.number = numbers[N]()
	return c
}

func numbers[N Number]() *number[N] {
	if one := N(1); one/2 != 0 {
		return &number[N]{
			pack:   func(v N) int64 { return int64(math.Float64bits(float64(v))) },
			unpack: func(n int64) N { return N(math.Float64frombits(uint64(n))) },
		}
	}
	return &number[N]{
		pack:   func(v N) int64 { return int64(v) },
		unpack: func(n int64) N { return N(n) },
	}
}

// Max returns a channel that keeps the greatest update, and at least the zero
// value or the channel's default.
func Max[T cmp.Ordered](name string) *Channel[T, T] {
	return newChannel(name, "max", func(current, update T) (T, error) { return max(current, update), nil })
}

// Ephemeral returns a channel whose value is seen by the next superstep only.
// Like [Last] it takes one writer in a superstep.
func Ephemeral[T any](name string) *Channel[T, T] {
	c := replacing[T](name, "ephemeral")
	c.traits.Exclusive, c.traits.Ephemeral = true, true
	return c
}

// Untracked returns a channel that is never stored: for handles, secrets and
// what can be made again. Its value is handed out as it is, without a copy, and
// is absent after a pause, a failure or a crash. It may hold any type.
func Untracked[T any](name string) *Channel[T, T] {
	c := replacing[T](name, "untracked")
	c.cloneValue, c.clone = nil, nil
	t := c.traits
	t.Err, t.Exclusive, t.Untracked, t.ChangesAreWrites = nil, true, true, false
	return c
}
