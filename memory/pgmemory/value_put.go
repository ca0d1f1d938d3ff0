package pgmemory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const putValuesQuery = `SELECT o_status, o_change, o_about, o_version, o_created, o_updated, o_expires FROM weft.mem_put(
	$1::bigint[], $2::bytea, $3::text[], $4::bigint,
	$5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::bigint[], $11::boolean[],
	$12::text[], $13::text[], $14::text[], $15::bigint[], $16::text[])`

// Apply implements [driver.ValueStore], in one round trip. If the connection is lost during the
// call, the writes may or may not have been made, and the error is [ErrUnreachable].
func (v *valueStore) Apply(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) ([]driver.Item, error) {
	if len(writes) == 0 {
		return nil, ctx.Err()
	}
	items, err := v.apply(ctx, s, writes)
	if err != nil {
		return nil, v.db.fail("put values", err)
	}
	return items, nil
}

func (v *valueStore) apply(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) (items []driver.Item, err error) {
	list, err := newWrites(slices.Repeat([]string{s.Tenant}, len(writes)), writes)
	if err != nil {
		return nil, err
	}
	tenant, user := v.db.locks(s)
	values := append([]any{[]int64{tenant, user}, scopeDigest(s), names(s), int64(v.db.options.MaxValues)}, list...)
	var refused error
	reset := func() { items, refused = nil, nil }
	err = v.db.link.write(ctx, v.db.sql(putValuesQuery), values, reset, func(rows pgx.Rows) error {
		var status, about *string
		var change int
		var version *int64
		var created, updated, expires *time.Time
		if err := rows.Scan(&status, &change, &about, &version, &created, &updated, &expires); err != nil {
			return err
		}
		w := &writes[change]
		if *status != "" {
			refused = refusedWrite(*status, *about, s, w, change)
			return nil
		}
		item := driver.Item{Address: driver.Address{Namespace: slices.Clone(w.Namespace), Key: w.Key}}
		if w.Value != nil {
			item.Value, item.Version = slices.Clone(w.Value), *version
			item.CreatedAt, item.UpdatedAt, item.ExpiresAt = created.UTC(), updated.UTC(), maybe(expires)
		}
		items = append(items, item)
		return nil
	})
	if err == nil {
		err = refused
	}
	return items, err
}

// refusedWrite returns the error for a status that mem_put returned.
func refusedWrite(status, about string, s driver.Scope, w *driver.ValueWrite, change int) error {
	switch {
	case status == "quota":
		return fmt.Errorf("the scope %s has as many values as it may have: %w", s, driver.ErrQuota)
	case status != "version":
		return fmt.Errorf("status %q: %w", status, ErrFormat)
	case about == "0":
		return fmt.Errorf("write %d: key %.60q of the namespace %q is not there: %w", change, w.Key, w.Namespace, driver.ErrConflict)
	case w.Version == driver.Absent:
		return fmt.Errorf("write %d: key %.60q of the namespace %q is there: %w", change, w.Key, w.Namespace, driver.ErrConflict)
	}
	return fmt.Errorf("write %d: key %.60q of the namespace %q has version %s and not %d: %w", change, w.Key, w.Namespace, about, w.Version, driver.ErrConflict)
}

// newWrites returns the columns of writes. Element i of tenants is the tenant of write i.
func newWrites(tenants []string, writes []driver.ValueWrite) ([]any, error) {
	n := len(writes)
	var (
		namespace, name, terms, words, model = make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		value, raw, vector                   = make([]*string, n), make([]*string, n), make([]*string, n)
		version, ttl, in                     = make([]int64, n), make([]*int64, n), make([]*int64, n)
		refresh                              = make([]bool, n)
	)
	for i := range writes {
		w := &writes[i]
		namespace[i], name[i], version[i], refresh[i] = textArray(w.Namespace), w.Key, w.Version, w.Refresh
		terms[i], words[i], model[i] = textArray(w.Terms), wordArray(tenants[i], w.Terms), w.Model
		if w.Value != nil {
			plain, err := plainJSON(w.Value)
			if err != nil {
				return nil, fmt.Errorf("write %d: value: %w: %w", i, driver.ErrInvalid, err)
			}
			text := string(w.Value)
			value[i], raw[i] = &plain, &text
		}
		if w.TTL > 0 {
			lives := max(1, w.TTL.Microseconds())
			ttl[i] = &lives
		}
		if d := len(w.Embedding); d > 0 {
			text, number := spellVector(w.Embedding), space(w.Model, d)
			vector[i], in[i] = &text, &number
		}
	}
	return []any{namespace, name, version, value, raw, ttl, refresh, terms, words, model, in, vector}, nil
}
