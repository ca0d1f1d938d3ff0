package sqlitememory

import (
	"context"
	"encoding/hex"
	"iter"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// valueStore is a [driver.ValueStore]. It is safe for concurrent use.
type valueStore struct{ db *DB }

var _ driver.ValueStore = (*valueStore)(nil)

// Values returns the database's store of values.
func (d *DB) Values() driver.ValueStore { return &valueStore{d} }

var valueCorpus = &corpus{
	table: "mem_value", index: "mem_value_word", scopes: "mem_value_scope", counts: "f.words > 0", document: "f.value", vectors: true,
}

// alive is the condition that a value has not expired. Its argument is the time.
const alive = `(f.expires_at IS NULL OR f.expires_at > ?)`

// valueSelection returns a query as a condition on mem_value f, without its After and its limit.
func valueSelection(q *sqlitedb.Session, in driver.Scope, query *driver.ValueSelection) (*selection, error) {
	only := in.Only()
	s, err := valueCorpus.selection(q, &only)
	if err != nil || s.none {
		return s, err
	}
	s.where = query.Where
	blob := func(text string) any { return []byte(text) }
	if query.Addresses != nil {
		list := make([]string, len(query.Addresses))
		for i, a := range query.Addresses {
			list[i] = hex.EncodeToString(packAddress(a))
		}
		s.and(`f.address IN (SELECT unhex(value) FROM json_each(?))`, listOf(list))
	}
	s.prefix(`f.address`, packLabels(query.Prefix), blob)
	if query.Own {
		s.and(`instr(f.address, x'0000') = ?`, len(packLabels(query.Prefix)))
	}
	if query.KeyPrefix != "" {
		s.and(`substr(f.address, instr(f.address, x'0000') + 2, ?) = ?`, len(query.KeyPrefix), []byte(query.KeyPrefix))
	}
	if query.Without != "" {
		s.and(`f.words + f.dimension > 0 AND NOT (f.model = ? AND f.dimension = ?)`, query.Without, query.Dimension)
	}
	s.and(alive, time.Now().UnixMicro())
	return s, nil
}

// Find implements [driver.ValueStore].
func (v *valueStore) Find(ctx context.Context, s driver.Scope, q driver.ValueSelection) iter.Seq2[driver.Item, error] {
	return func(yield func(driver.Item, error) bool) {
		limit, limited := q.Most()
		if !limited {
			limit = -1
		}
		l := listing[*value]{limit: limit, read: func(last **value, n int) (page []*value, more bool, err error) {
			after := q.After
			if last != nil {
				after = &(*last).Item
			}
			err = v.db.sql.Read(ctx, func(session *sqlitedb.Session) (err error) {
				page, more, err = values(session, s, &q, after, n)
				return err
			})
			return page, more, err
		}}
		if len(q.Where) > 0 {
			sel := selection{where: q.Where}
			l.holds = func(r *value) bool { return sel.holds(r.Value) }
		}
		if q.Refresh {
			l.then = func(page []*value) error { return v.refresh(ctx, page) }
		}
		for r, err := range l.all() {
			if err != nil {
				yield(driver.Item{}, v.db.fail("find", err))
				return
			}
			if !yield(r.Item, nil) {
				return
			}
		}
	}
}

// values returns up to n values that follow a value, or fewer values if they are large, and whether
// there may be more.
func values(q *sqlitedb.Session, in driver.Scope, query *driver.ValueSelection, after *driver.Item, n int) (page []*value, more bool, err error) {
	sel, err := valueSelection(q, in, query)
	if err != nil || sel.none {
		return nil, false, err
	}
	order := ` ORDER BY f.updated_at DESC, f.address DESC LIMIT ?`
	switch {
	case query.Order == driver.ByKey && after != nil:
		sel.and(`f.address > ?`, packAddress(after.Address))
	case after != nil:
		sel.and(`(f.updated_at, f.address) < (?, ?)`, after.UpdatedAt.UnixMicro(), packAddress(after.Address))
	}
	if query.Order == driver.ByKey {
		order = ` ORDER BY f.address LIMIT ?`
	}
	size := 0
	err = q.Each(selectValue+` FROM mem_value f WHERE `+sel.text+order, append(sel.args, n), func(scan func(...any) error) (bool, error) {
		r, err := scanValue(scan)
		if err != nil {
			return false, err
		}
		page = append(page, r)
		size += len(r.Value)
		return size < pageBytes, nil
	})
	return page, len(page) == n || size >= pageBytes, err
}

// refresh restarts the TTL of sliding values, unless they have changed since they were read.
func (v *valueStore) refresh(ctx context.Context, page []*value) error {
	refreshes := false
	for _, r := range page {
		refreshes = refreshes || r.refresh > 0
	}
	if !refreshes {
		return nil
	}
	return v.db.sql.Change(ctx, func(w *sqlitedb.Session) error {
		now := time.Now().UnixMicro()
		for _, r := range page {
			if r.refresh == 0 {
				continue
			}
			n, err := w.Exec(`UPDATE mem_value SET expires_at = ? WHERE key = ? AND version = ? AND expires_at > ?`, now+r.refresh, r.key, r.Version, now)
			if err != nil {
				return err
			}
			if n > 0 {
				r.ExpiresAt = timeOf(now + r.refresh)
			}
		}
		return nil
	})
}

// Search implements [driver.ValueStore]. It compares the vectors of all selected values.
func (v *valueStore) Search(ctx context.Context, s driver.Scope, q driver.ValueSearch) (driver.ValueCandidates, error) {
	var found driver.ValueCandidates
	err := v.db.sql.Read(ctx, func(session *sqlitedb.Session) error {
		u := survey{Session: session, of: valueCorpus, terms: q.Terms, embedding: q.Embedding, model: q.Model, limit: q.Limit}
		sel, err := valueSelection(session, s, &q.Selection)
		if err != nil {
			return err
		}
		keys, err := u.find(ctx, sel)
		if err != nil {
			return err
		}
		rows, err := byKeys(session, valuesByKeys, keys, nil, scanValue)
		found = driver.ValueCandidates{Values: u.rows, Terms: u.words, Frequency: u.frequency}
		for _, r := range rows {
			found.Records = append(found.Records, r.ValueRecord)
		}
		return err
	})
	if err != nil {
		return driver.ValueCandidates{}, v.db.fail("search", err)
	}
	return found, nil
}

// Namespaces implements [driver.ValueStore].
func (v *valueStore) Namespaces(ctx context.Context, s driver.Scope, q driver.NamespaceQuery) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		limit, limited := q.Most()
		if !limited {
			limit = -1
		}
		walk := newNamespaceWalk(s, &q)
		l := listing[[]string]{limit: limit, read: func(last *[]string, n int) (page [][]string, more bool, err error) {
			from := walk.from
			if last != nil {
				from = walk.behind(*last)
			}
			err = v.db.sql.Read(ctx, func(session *sqlitedb.Session) (err error) {
				page, err = walk.next(ctx, session, from, n)
				return err
			})
			return page, len(page) == n, err
		}}
		for labels, err := range l.all() {
			if err != nil {
				yield(nil, v.db.fail("namespaces", err))
				return
			}
			if !yield(labels, nil) {
				return
			}
		}
	}
}

// Forget implements [driver.ValueStore]. It overwrites removed data in the file, and removes it
// from the write-ahead log; see [ErrInUse].
func (v *valueStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	return v.db.forget(ctx, valueCorpus, s, nil, func(w *sqlitedb.Session, s *scope) (int, error) {
		return valueCorpus.removeRows(ctx, w, s, `f.scope = ?`, s.key)
	})
}

// Sweep implements [driver.ValueStore], with one transaction.
func (v *valueStore) Sweep(ctx context.Context, limit int) (int, error) {
	if limit <= 0 {
		return 0, ctx.Err()
	}
	count := 0
	err := v.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		count, err = sweepValues(ctx, w, limit)
		return err
	})
	if err != nil {
		return 0, v.db.fail("sweep", err)
	}
	return count, nil
}

func sweepValues(ctx context.Context, w *sqlitedb.Session, limit int) (int, error) {
	type doomed struct{ key, scope int64 }
	var list []doomed
	query := `SELECT key, scope FROM mem_value WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
	err := w.Each(query, []any{time.Now().UnixMicro(), limit}, func(scan func(...any) error) (bool, error) {
		var d doomed
		err := scan(&d.key, &d.scope)
		list = append(list, d)
		return true, err
	})
	for _, d := range list {
		var s scope
		if err == nil {
			s, err = valueCorpus.scopeOf(w, d.scope)
		}
		if err == nil {
			_, err = valueCorpus.removeRows(ctx, w, &s, `f.key = ?`, d.key)
		}
	}
	return len(list), err
}
