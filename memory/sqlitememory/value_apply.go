package sqlitememory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// Apply implements [driver.ValueStore], with one transaction.
func (v *valueStore) Apply(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) ([]driver.Item, error) {
	if len(writes) == 0 {
		return nil, ctx.Err()
	}
	var items []driver.Item
	err := v.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		p := putting{Session: w}
		items, err = p.apply(ctx, s, writes)
		if err == nil && p.grew && v.db.options.MaxValues > 0 {
			err = p.checkQuota(s, v.db.options.MaxValues)
		}
		return err
	})
	if err != nil {
		return nil, v.db.fail("apply", err)
	}
	return items, nil
}

// A putting is a call of Apply in progress.
type putting struct {
	*sqlitedb.Session
	scope   scope
	now     int64
	version int64 // of the next write
	grew    bool
}

func (p *putting) apply(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) (items []driver.Item, err error) {
	if p.scope, err = valueCorpus.enterScope(p.Session, s); err != nil {
		return nil, err
	}
	if p.now, p.version, err = tick(p.Session, len(writes)); err != nil {
		return nil, err
	}
	items = make([]driver.Item, len(writes))
	for i := range writes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if items[i], err = p.put(&writes[i]); err != nil {
			return nil, fmt.Errorf("write %d: %w", i, err)
		}
	}
	return items, nil
}

func (p *putting) put(w *driver.ValueWrite) (driver.Item, error) {
	there, err := findValue(p.Session, p.scope.key, w.Address)
	if err != nil {
		return driver.Item{}, err
	}
	old := there
	if old != nil && !old.ExpiresAt.IsZero() && old.ExpiresAt.UnixMicro() <= p.now {
		old = nil // it has expired, but has not been removed
	}
	if err := allowedWrite(w, old); err != nil {
		return driver.Item{}, err
	}
	if w.Value == nil {
		return driver.Item{Address: copyAddress(w.Address)}, p.remove(there)
	}
	p.grew = p.grew || old == nil
	next := p.next(w, old)
	return next.Item, p.store(there, next)
}

func allowedWrite(w *driver.ValueWrite, old *value) error {
	switch {
	case w.Version == driver.Absent && old != nil:
		return fmt.Errorf("key %.60q of the namespace %q is there: %w", w.Key, w.Namespace, driver.ErrConflict)
	case w.Version > 0 && old == nil:
		return fmt.Errorf("key %.60q of the namespace %q is not there: %w", w.Key, w.Namespace, driver.ErrConflict)
	case w.Version > 0 && w.Version != old.Version:
		return fmt.Errorf("key %.60q of the namespace %q has version %d and not %d: %w", w.Key, w.Namespace, old.Version, w.Version, driver.ErrConflict)
	}
	return nil
}

func copyAddress(a driver.Address) driver.Address {
	return driver.Address{Namespace: slices.Clone(a.Namespace), Key: a.Key}
}

// next returns the new form of a value.
func (p *putting) next(w *driver.ValueWrite, old *value) *value {
	at := timeOf(p.now)
	v := &value{ValueRecord: driver.ValueRecord{
		Item:  driver.Item{Address: copyAddress(w.Address), Value: bytes.Clone(w.Value), Version: p.version, CreatedAt: at, UpdatedAt: at},
		Terms: w.Terms, Embedding: w.Embedding, Model: w.Model,
	}}
	p.version++
	if old != nil {
		v.CreatedAt = old.CreatedAt
	}
	if w.TTL > 0 {
		ttl := max(1, w.TTL.Microseconds())
		v.ExpiresAt = timeOf(p.now + ttl)
		if w.Refresh {
			v.refresh = ttl
		}
	}
	return v
}

func (p *putting) remove(v *value) error {
	if v == nil {
		return nil
	}
	if err := valueCorpus.removeWords(p.Session, &p.scope, v.key, v.Terms); err != nil {
		return err
	}
	_, err := p.Exec(`DELETE FROM mem_value WHERE key = ?`, v.key)
	return err
}

// store replaces the row there by the value next, or inserts next if there is nil.
func (p *putting) store(there, next *value) (err error) {
	if there == nil {
		if next.key, err = p.Insert(insertValue, next.columns(p.scope.key)...); err != nil {
			return err
		}
		return valueCorpus.addWords(p.Session, &p.scope, next.key, next.Terms)
	}
	if _, err := p.Exec(updateValue, append(next.columns(p.scope.key), there.key)...); err != nil {
		return err
	}
	return valueCorpus.replaceWords(p.Session, &p.scope, there.key, there.Terms, next.Terms)
}

func (p *putting) checkQuota(s driver.Scope, most int) error {
	var n int
	_, err := p.One(`SELECT count(*) FROM (SELECT 1 FROM mem_value f WHERE f.scope = ? AND `+alive+` LIMIT ?)`, []any{p.scope.key, p.now, most + 1}, &n)
	if err == nil && n > most {
		err = fmt.Errorf("more than %d values in the scope %s: %w", most, s, driver.ErrQuota)
	}
	return err
}
