package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// ValueOptions configures [Memory.Values]. With the zero value, values do not expire and are not indexed.
type ValueOptions struct {
	// TTL is the time to live of values whose [PutOptions] have none. Zero means no expiry.
	TTL time.Duration
	// Sliding makes each read of these values restart the TTL.
	Sliding bool
	// Index lists the fields that are indexed if a value is put without an Index. Each is a path of field
	// names. A list on the path, or at its end, means all its elements. An empty path means the whole
	// value. Nil means that no field is indexed.
	Index [][]string
}

// Values stores JSON values under keys. It is safe for concurrent use.
type Values struct {
	store   driver.ValueStore
	options Options
}

// Values returns the values of the memory, see [Namespace].
func (m *Memory) Values() *Values {
	return &Values{m.backend.Values(), m.options}
}

func (o *ValueOptions) check() error {
	if o.TTL < 0 {
		return fmt.Errorf("values: a time to live of %v: %w", o.TTL, ErrInvalid)
	}
	return checkIndex(o.Index)
}

// PutOptions configures a put. The zero value overwrites any stored value.
type PutOptions struct {
	// Version, if not zero, has to be the version of the stored value; otherwise the put returns
	// [ErrConflict]. [Absent] requires that no value is stored.
	Version int64
	// TTL is the time to live of the value after the put. Zero means [ValueOptions.TTL] and
	// [ValueOptions.Sliding]. A negative TTL means no expiry.
	TTL time.Duration
	// Sliding makes each read of the value restart its TTL, except reads with [ValueQuery.Peek]. Without
	// it, reads do not extend the TTL.
	Sliding bool
	// Index lists the fields of this value that are indexed, instead of [ValueOptions.Index]. NoIndex means
	// none.
	Index   [][]string
	NoIndex bool
}

// An Entry is a value to put or, if the value is nil, to remove.
type Entry struct {
	Address
	Value json.RawMessage
	PutOptions
}

// A Batch is a list of reads and a list of writes.
type Batch struct {
	// Get lists the values to read. They are read before anything is written.
	Get []Address
	// Write lists the values to put or remove, in order. Either all writes succeed or none.
	Write []Entry
}

// Done is the result of a [Batch].
type Done struct {
	// Got has an item for each address. For an absent value, [Item.Known] is false.
	Got []Item
	// Written has the item after each entry, in order. For a removed value, [Item.Known] is
	// false.
	Written []Item
}

// maxWrites is the maximum number of reads, and of writes, in a [Batch].
const maxWrites = 1000

// Batch reads and then writes values of a scope, with one round trip for the reads, one for the writes, and
// one call of the embedder.
func (v *Values) Batch(ctx context.Context, s Scope, b Batch) (Done, error) {
	done, err := v.batch(ctx, s, b)
	if err != nil {
		return Done{}, fmt.Errorf("values: batch: %w", err)
	}
	return done, nil
}

func (v *Values) batch(ctx context.Context, s Scope, b Batch) (done Done, err error) {
	if len(b.Get) > maxWrites || len(b.Write) > maxWrites {
		return Done{}, fmt.Errorf("%d reads and %d writes, and %d of each are allowed: %w", len(b.Get), len(b.Write), maxWrites, ErrInvalid)
	}
	if err := s.Validate(); err != nil {
		return Done{}, err
	}
	writes, err := v.writes(ctx, b.Write)
	if err != nil {
		return Done{}, err
	}
	if done.Got, err = v.get(ctx, s, b.Get); err != nil {
		return Done{}, err
	}
	if len(writes) > 0 {
		done.Written, err = v.store.Apply(ctx, s, writes)
	}
	return done, err
}

// get returns an item for each address, in order.
func (v *Values) get(ctx context.Context, s Scope, addresses []Address) ([]Item, error) {
	if len(addresses) == 0 {
		return nil, nil
	}
	for _, a := range addresses {
		if err := a.Validate(); err != nil {
			return nil, err
		}
	}
	at := map[string]Item{}
	q := driver.ValueSelection{ValueQuery: ValueQuery{Limit: -1}, Addresses: addresses, Refresh: true}
	for item, err := range v.store.Find(ctx, s, q) {
		if err != nil {
			return nil, err
		}
		at[item.Address.Path()] = item
	}
	items := make([]Item, len(addresses))
	for i, a := range addresses {
		items[i] = Item{Address: a}
		if item, ok := at[a.Path()]; ok {
			items[i] = item
		}
	}
	return items, nil
}

func (v *Values) writes(ctx context.Context, entries []Entry) ([]driver.ValueWrite, error) {
	writes := make([]driver.ValueWrite, len(entries))
	texts := make([]string, len(entries))
	for i := range entries {
		var err error
		if writes[i], texts[i], err = v.write(&entries[i]); err != nil {
			return nil, err
		}
	}
	return writes, v.index(ctx, writes, texts)
}

// write returns the store's form of an entry, and its indexed text.
func (v *Values) write(e *Entry) (w driver.ValueWrite, text string, err error) {
	if err := e.Validate(); err != nil {
		return driver.ValueWrite{}, "", err
	}
	if e.Version < Absent {
		return driver.ValueWrite{}, "", fmt.Errorf("version %d: %w", e.Version, ErrInvalid)
	}
	w = driver.ValueWrite{Address: e.Address, Version: e.Version}
	if e.Value == nil {
		return w, "", nil
	}
	if w.Value, err = input.JSON(fmt.Sprintf("value of %.60q", e.Key), e.Value, MaxValue); err != nil {
		return driver.ValueWrite{}, "", err
	}
	sliding := e.Sliding
	if w.TTL = e.TTL; e.TTL == 0 {
		w.TTL, sliding = v.options.Values.TTL, sliding || v.options.Values.Sliding
	}
	w.TTL = max(0, w.TTL)
	w.Refresh = w.TTL > 0 && sliding
	if e.NoIndex {
		return w, "", nil
	}
	index := v.options.Values.Index
	if e.Index != nil {
		if err := checkIndex(e.Index); err != nil {
			return driver.ValueWrite{}, "", err
		}
		index = e.Index
	}
	return w, textOf(w.Value, index), nil
}

// Forget removes all values of a scope and returns their number. An empty part of the scope means any,
// except for the tenant: a tenant and a user select all workspaces and agents. For an empty scope it
// returns [ErrInvalid].
func (v *Values) Forget(ctx context.Context, s Scope) (int, error) {
	err := s.Validate()
	if err == nil && s == (Scope{}) {
		err = fmt.Errorf("a scope that names nobody: %w", ErrInvalid)
	}
	n := 0
	if err == nil {
		n, err = v.store.Forget(ctx, s)
	}
	if err != nil {
		return n, fmt.Errorf("values: forget: %w", err)
	}
	return n, nil
}
