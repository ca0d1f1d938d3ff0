package sqlitememory

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// Apply implements [driver.FactStore], with one transaction.
func (f *factStore) Apply(ctx context.Context, s driver.Scope, changes []driver.FactChange) ([]driver.Applied, error) {
	if len(changes) == 0 {
		return nil, ctx.Err()
	}
	var applied []driver.Applied
	err := f.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		applied, err = apply(ctx, &applying{Session: w, of: s, most: f.db.options.MaxFacts}, changes)
		return err
	})
	if err != nil {
		return nil, f.db.fail("apply", err)
	}
	return applied, nil
}

// An applying is a call of Apply in progress.
type applying struct {
	*sqlitedb.Session
	of    driver.Scope
	most  int
	scope scope // its key is 0 until the scope is stored
	now   int64
	added bool

	forgotten *int64 // when the scope was forgotten; nil before it is read, 0 for never
}

func apply(ctx context.Context, a *applying, changes []driver.FactChange) (applied []driver.Applied, err error) {
	if a.now, err = writeTime(a.Session); err != nil {
		return nil, err
	}
	if a.scope, err = factCorpus.findScope(a.Session, a.of); err != nil {
		return nil, err
	}
	applied = make([]driver.Applied, len(changes))
	if again, err := a.claimJob(changes[0].Job); err != nil || again {
		return applied, err
	}
	for i := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := a.allowed(changes[i].Said)
		if err == nil {
			applied[i], err = a.apply(&changes[i])
		}
		if err != nil {
			return nil, fmt.Errorf("change %d: %w", i, err)
		}
	}
	return applied, a.checkQuota()
}

const (
	hasJob    = `SELECT 1 FROM mem_job WHERE scope = ? AND job = ?`
	insertJob = `INSERT INTO mem_job (scope, job, at) VALUES (?, ?, ?)`
	deleteJob = `DELETE FROM mem_job WHERE at < ?`
	// keepJobs is the time for which jobs are stored. It is longer than [driver.FactChange]
	// requires.
	keepJobs = 60 * 24 * time.Hour
)

// claimJob stores a job, and reports whether its changes were applied before.
func (a *applying) claimJob(job string) (again bool, err error) {
	if job == "" {
		return false, nil
	}
	if err := a.enter(); err != nil {
		return false, err
	}
	var one int
	if again, err = a.One(hasJob, []any{a.scope.key, job}, &one); err != nil || again {
		return again, err
	}
	if _, err = a.Exec(insertJob, a.scope.key, job, a.now); err != nil {
		return false, err
	}
	_, err = a.Exec(deleteJob, a.now-keepJobs.Microseconds())
	return false, err
}

// enter creates the scope if it does not exist, and sets its key.
func (a *applying) enter() (err error) {
	if a.scope.key == 0 {
		a.scope, err = factCorpus.enterScope(a.Session, a.of)
	}
	return err
}

// allowed returns [driver.ErrForgotten] if the scope was forgotten after the argument said.
func (a *applying) allowed(said time.Time) error {
	if said.IsZero() {
		return nil
	}
	if a.forgotten == nil {
		at, err := forgottenAt(a.Session, around(a.of)...)
		if err != nil {
			return err
		}
		a.forgotten = &at
	}
	if *a.forgotten != 0 && !said.After(timeOf(*a.forgotten)) {
		return fmt.Errorf("what was said at %v, of the scope %s: %w", said, a.of, driver.ErrForgotten)
	}
	return nil
}

// countLasting counts the facts that have not ended.
const countLasting = `SELECT count(*) FROM (SELECT 1 FROM mem_fact WHERE scope = ? AND (valid_to IS NULL OR valid_to > ?) LIMIT ?)`

func (a *applying) checkQuota() error {
	if a.most <= 0 || !a.added {
		return nil
	}
	var n int
	_, err := a.One(countLasting, []any{a.scope.key, a.now, a.most + 1}, &n)
	if err == nil && n > a.most {
		err = fmt.Errorf("more than %d facts in the scope %s: %w", a.most, a.of, driver.ErrQuota)
	}
	return err
}

// apply applies one change.
func (a *applying) apply(c *driver.FactChange) (driver.Applied, error) {
	if c.Kind == driver.Add {
		return a.add(c)
	}
	r, err := a.fact(c.Record.ID)
	if err != nil {
		return driver.Applied{}, err
	}
	if v := c.Record.Version; v != 0 && v != r.Version {
		return driver.Applied{}, fmt.Errorf("fact %s has version %d and not %d: %w", r.ID, r.Version, v, driver.ErrConflict)
	}
	switch c.Kind {
	case driver.Update:
		err = a.update(r, c)
	case driver.Close:
		err = a.close(r, cmpTime(c.Record.ValidTo, a.now), "", c.Actor)
	case driver.Delete:
		err = drop(a.Session, &a.scope, r, c.Actor, a.now)
	case driver.Erase:
		err = erase(a.Session, &a.scope, r)
	case driver.Embed:
		err = a.embed(r, &c.Record)
	default:
		err = fmt.Errorf("change %q: %w", c.Kind, driver.ErrInvalid)
	}
	return driver.Applied{ID: r.ID, Existed: true}, err
}

// fact returns the fact of the scope with an id.
func (a *applying) fact(id string) (*row, error) {
	var r *row
	packed, ok := packID(id)
	if ok && a.scope.key != 0 {
		var err error
		if r, err = oneRow(a.Session, factByID, a.scope.key, packed); err != nil {
			return nil, err
		}
	}
	if r == nil {
		return nil, fmt.Errorf("fact %.60s: %w", id, driver.ErrNotFound)
	}
	return r, nil
}

const (
	factHas = `SELECT f.key, f.id, f.kind, f.digest, f.trust, f.valid_from, f.valid_to, f.superseded_by, f.expires_at, f.version, f.content
	FROM mem_fact f WHERE `
	findByID     = factHas + `f.scope = ? AND f.id = ?`
	findByDigest = factHas + `f.scope = ? AND f.digest = ? AND f.id <> ?`
	// extendFact does not write the large columns.
	extendFact = `UPDATE mem_fact SET valid_from = ?, valid_to = ?, expires_at = ?, updated_at = ?, version = ? WHERE key = ?`
	deadFacts  = `SELECT key FROM mem_fact WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
)

func (a *applying) add(c *driver.FactChange) (driver.Applied, error) {
	if err := a.enter(); err != nil {
		return driver.Applied{}, err
	}
	r := &row{FactRecord: c.Record, scope: a.scope.key}
	if r.ID == "" {
		r.ID = uuid.New()
	}
	packed, ok := packID(r.ID)
	if !ok {
		return driver.Applied{}, fmt.Errorf("id %.60q is no UUID: %w", r.ID, driver.ErrInvalid)
	}
	at := timeOf(a.now)
	r.CreatedAt, r.UpdatedAt, r.Version = at, at, 1
	r.ValidFrom = timeOf(cmpTime(r.ValidFrom, a.now))
	if old, err := a.there(findByID, a.scope.key, packed); err != nil || len(old) > 0 {
		if err == nil && !old[0].says(r) {
			err = fmt.Errorf("fact %s says something else: %w", r.ID, driver.ErrConflict)
		}
		if err == nil && r.repeats(old[0], at) {
			err = a.extend(old[0], r, time.Time{}, c.Actor)
		}
		return driver.Applied{ID: r.ID, Existed: true}, err
	}
	same, floor, err := a.repeated(r, packed)
	if err != nil {
		return driver.Applied{}, err
	}
	id, keeps := r.ID, ""
	if same != nil {
		id, keeps = same.ID, same.ID
	}
	if err := a.supersede(c.Supersedes, keeps, id, r.ValidFrom); err != nil {
		return driver.Applied{}, err
	}
	if same != nil {
		return driver.Applied{ID: id, Existed: true}, a.extend(same, r, floor, c.Actor)
	}
	return driver.Applied{ID: id}, a.insert(r, c.Actor)
}

// repeated returns the stored fact that a row repeats, or nil, and the result floor of
// [driver.Repeated].
func (a *applying) repeated(r *row, packed []byte) (*row, time.Time, error) {
	rows, err := a.there(findByDigest, a.scope.key, r.Key[:], packed)
	if err != nil {
		return nil, time.Time{}, err
	}
	facts := make([]*driver.Fact, len(rows))
	for i := range rows {
		facts[i] = &rows[i].Fact
	}
	if i, floor := driver.Repeated(&r.Fact, facts, timeOf(a.now)); i >= 0 {
		return rows[i], floor, nil
	}
	return nil, time.Time{}, nil
}

// there returns facts without their large columns. Like Sweep, it removes expired facts.
func (a *applying) there(query string, args ...any) (rows []*row, err error) {
	var dead []int64
	err = a.Each(query, args, func(scan func(...any) error) (bool, error) {
		r := &row{scope: a.scope.key}
		var kind string
		var id, digest []byte
		var trust int
		var from int64
		var to, expires sql.NullInt64
		if err := scan(&r.key, &id, &kind, &digest, &trust, &from, &to, &r.SupersededBy, &expires, &r.Version, &r.Content); err != nil {
			return false, err
		}
		r.ID, r.Kind = spellID(id), driver.Kind(kind)
		r.Trust, _ = trustOf(trust)
		copy(r.Key[:], digest)
		r.ValidFrom, r.ValidTo, r.ExpiresAt = timeOf(from), maybeTime(to), maybeTime(expires)
		if expires.Valid && expires.Int64 <= a.now {
			dead = append(dead, r.key)
		} else {
			rows = append(rows, r)
		}
		return true, nil
	})
	for i := 0; i < len(dead) && err == nil; i++ {
		var old *row
		if old, err = oneRow(a.Session, factByKey, dead[i]); err == nil {
			err = drop(a.Session, &a.scope, old, expired, a.now)
		}
	}
	return rows, err
}

// says reports whether two facts have the same kind and text, and are both trusted or both
// untrusted. It ignores their validity.
func (r *row) says(other *row) bool {
	return r.Kind == other.Kind && (r.Trust == driver.Untrusted) == (other.Trust == driver.Untrusted) && input.SameText(r.Content, other.Content)
}

// lasts reports whether a fact has not ended.
func lasts(r *row, now int64) bool { return r.ValidTo.IsZero() || r.ValidTo.UnixMicro() > now }

// repeats reports whether r repeats other; see [driver.Fact.Repeats].
func (r *row) repeats(other *row, now time.Time) bool {
	i, _ := driver.Repeated(&r.Fact, []*driver.Fact{&other.Fact}, now)
	return i == 0
}

// extend stores r as [driver.Fact.Join] extends it by a fact that repeats it.
func (a *applying) extend(r, again *row, floor time.Time, actor string) error {
	next := r.Join(&again.Fact, floor)
	if next.ValidFrom.Equal(r.ValidFrom) && next.ValidTo.Equal(r.ValidTo) && next.ExpiresAt.Equal(r.ExpiresAt) {
		return nil
	}
	if _, err := a.Exec(extendFact, next.ValidFrom.UnixMicro(), micros(next.ValidTo), micros(next.ExpiresAt), a.now, r.Version+1, r.key); err != nil {
		return err
	}
	return note(a.Session, a.scope.key, a.now, driver.Event{ID: r.ID, Kind: driver.Update, Before: r.Content, After: r.Content, By: actor})
}

// supersede closes the facts with the given ids at the time when a new fact replaces them. It skips
// the fact with the id same, which has the same text as the new fact.
func (a *applying) supersede(ids []string, same, by string, at time.Time) error {
	for _, id := range ids {
		if same != "" && id == same {
			continue
		}
		old, err := a.fact(id)
		if err != nil {
			return fmt.Errorf("superseded: %w", err)
		}
		if !old.ValidTo.IsZero() && !old.ValidTo.After(at) {
			return fmt.Errorf("superseded fact %s is valid until %v, and the other one from %v on: %w", id, old.ValidTo, at, driver.ErrConflict)
		}
		if err := a.close(old, at.UnixMicro(), by, by); err != nil {
			return err
		}
	}
	return nil
}

func (a *applying) insert(r *row, actor string) error {
	values, err := r.values()
	if err != nil {
		return err
	}
	if r.key, err = a.Insert(insertFact, values...); err != nil {
		return err
	}
	if err := factCorpus.addWords(a.Session, &a.scope, r.key, r.Terms); err != nil {
		return err
	}
	a.added = true
	return note(a.Session, a.scope.key, a.now, driver.Event{ID: r.ID, Kind: driver.Add, After: r.Content, By: actor})
}

func (a *applying) update(r *row, c *driver.FactChange) error {
	next, to := *r, &c.Record
	next.Content, next.Key, next.Metadata, next.Importance, next.Trust = to.Content, to.Key, to.Metadata, to.Importance, to.Trust
	next.ExpiresAt, next.UpdatedAt, next.Version = to.ExpiresAt, timeOf(a.now), r.Version+1
	next.Terms, next.Embedding, next.Model = to.Terms, to.Embedding, to.Model
	packed, _ := packID(r.ID)
	same, _, err := a.repeated(&next, packed)
	if err == nil && same != nil && lasts(r, a.now) && lasts(same, a.now) {
		err = fmt.Errorf("fact %s says the same already: %w", same.ID, driver.ErrConflict)
	}
	if err == nil {
		err = a.replace(r, &next)
	}
	if err != nil {
		return err
	}
	return note(a.Session, a.scope.key, a.now, driver.Event{ID: r.ID, Kind: driver.Update, Before: r.Content, After: next.Content, By: c.Actor})
}

func (a *applying) embed(r *row, to *driver.FactRecord) error {
	next := *r
	next.Terms, next.Embedding, next.Model = to.Terms, to.Embedding, to.Model
	return a.replace(r, &next)
}

func (a *applying) replace(r, next *row) error {
	values, err := next.values()
	if err != nil {
		return err
	}
	if _, err = a.Exec(updateFact, append(values, r.key)...); err != nil {
		return err
	}
	return factCorpus.replaceWords(a.Session, &a.scope, r.key, r.Terms, next.Terms)
}

// close ends the validity of a row at a time, but not before the row became valid, and not after
// its current end.
func (a *applying) close(r *row, at int64, by, actor string) error {
	at = max(at, r.ValidFrom.UnixMicro())
	if !r.ValidTo.IsZero() {
		at = min(at, r.ValidTo.UnixMicro())
	}
	if by == "" {
		by = r.SupersededBy
	}
	if _, err := a.Exec(closeFact, at, by, a.now, r.Version+1, r.key); err != nil {
		return err
	}
	return note(a.Session, a.scope.key, a.now, driver.Event{ID: r.ID, Kind: driver.Close, Before: r.Content, By: actor})
}

func cmpTime(t time.Time, otherwise int64) int64 {
	if t.IsZero() {
		return otherwise
	}
	return t.UnixMicro()
}
