package state

import (
	"cmp"
	"fmt"
	"math"

	"github.com/weft-go/weft/internal/jsonform"
)

// Last returns a channel that holds the last value that was written.
// If two tasks of a superstep write to it, the run fails with [ErrConcurrentWrite].
func Last[T any](name string) *Channel[T, T] {
	c := replacing[T](name, "last")
	c.traits.Exclusive = true
	return c
}

// LastWins is like [Last], but several tasks of a superstep may write to it.
// The channel then holds the value of the last of these tasks in task order.
func LastWins[T any](name string) *Channel[T, T] { return replacing[T](name, "lastWins") }

// Optional returns a channel with optional updates. A nil update does nothing. Any
// other update replaces the value, even if it points to a zero value. If several
// tasks of a superstep write to the channel, the last update that is not nil wins.
func Optional[T any](name string) *Channel[T, *T] {
	c := newChannel(name, "optional", func(_ T, update *T) (T, error) { return *update, nil })
	c.isNoop = func(update *T) bool { return update == nil }
	c.updates = pointers[T]{c.values}
	c.asUpdate, c.traits.Replaces, c.traits.ChangesAreWrites = func(v T) *T { return &v }, true, true
	return c
}

// pointers is a listCodec that encodes the values that updates point to.
// A pointer to a nil slice would otherwise become a nil pointer.
type pointers[T any] struct{ codec *jsonform.Codec[T] }

func (p pointers[T]) EncodeList(updates []*T) ([]byte, error) {
	values := make([]T, len(updates))
	for i, u := range updates {
		values[i] = *u
	}
	return p.codec.EncodeList(values)
}

func (p pointers[T]) DecodeList(text []byte) ([]*T, error) {
	return pointersTo(p.codec.DecodeList(text))
}

func (p pointers[T]) ParseList(text []byte) ([]*T, error) {
	return pointersTo(p.codec.ParseList(text))
}

func pointersTo[T any](values []T, err error) ([]*T, error) {
	updates := make([]*T, len(values))
	for i := range values {
		updates[i] = &values[i]
	}
	return updates, err
}

// Number is the constraint for the types that [Sum] can add.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64
}

// Sum returns a channel that holds the sum of its updates.
// If the sum is outside the range of an integer type, the run fails with
// [ErrOverflow].
func Sum[N Number](name string) *Channel[N, N] {
	c := newChannel(name, "sum", func(current, update N) (N, error) {
		sum := current + update
		if update > 0 && sum < current || update < 0 && sum > current {
			return current, fmt.Errorf("%w: %v plus %v", ErrOverflow, current, update)
		}
		return sum, nil
	})
	c.start, c.number = zero[N], numbers[N]()
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

// Max returns a channel that holds the greatest of its default and its updates.
// The default is the zero value unless set.
func Max[T cmp.Ordered](name string) *Channel[T, T] {
	return newChannel(name, "max", func(current, update T) (T, error) { return max(current, update), nil }).Default(zero[T])
}

func zero[T any]() (v T) { return v }

// Ephemeral returns a channel whose value exists only in the superstep after the
// write. Only one task of a superstep may write to it, as for [Last].
func Ephemeral[T any](name string) *Channel[T, T] {
	c := replacing[T](name, "ephemeral")
	c.traits.Exclusive, c.traits.Ephemeral = true, true
	return c
}

// Untracked returns a channel that is never stored.
// Use it for clients, secrets and values that can be computed again.
// The value may have any type. Get and Put do not copy it.
// The channel has no value after a pause, a failure or a crash.
// Only one task of a superstep may write to it, as for [Last].
func Untracked[T any](name string) *Channel[T, T] {
	c := replacing[T](name, "untracked")
	c.cloneValue, c.clone = nil, nil
	t := c.traits
	t.Err, t.Exclusive, t.Untracked, t.ChangesAreWrites = nil, true, true, false
	return c
}
