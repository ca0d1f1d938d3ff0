package sqlitememory

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory"
)

// Apply implements [memory.Store], with one transaction.
func (f *Facts) Apply(ctx context.Context, s memory.Scope, changes []memory.Change) ([]memory.Applied, error) {
	if len(changes) == 0 {
		return nil, ctx.Err()
	}
	var applied []memory.Applied
	err := f.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		applied, err = apply(ctx, &applying{Session: w, of: s, most: f.db.options.MaxFacts}, changes)
		return err
	})
	if err != nil {
		return nil, f.db.fail("apply", err)
	}
	return applied, nil
}

// An applying is a call of Apply that is under way.
type applying struct {
	*sqlitedb.Session
	of    memory.Scope
	most  int
	scope scope // without a key while nothing is stored in it
	now   int64
	added bool

	forgotten *int64 // when, if it was asked for; 0 for never
}

func apply(ctx context.Context, a *applying, changes []memory.Change) (applied []memory.Applied, err error) {
	if a.now, err = writeTime(a.Session); err != nil {
		return nil, err
	}
	if a.scope, err = factCorpus.findScope(a.Session, a.of); err != nil {
		return nil, err
	}
	applied = make([]memory.Applied, len(changes))
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
	// keepJobs is longer than a store has to know them.
	keepJobs = 60 * 24 * time.Hour
)

// claimJob reports whether the changes of a job were applied before.
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

// enter gives the scope a key.
func (a *applying) enter() (err error) {
	if a.scope.key == 0 {
		a.scope, err = factCorpus.enterScope(a.Session, a.of)
	}
	return err
}

// allowed returns [memory.ErrForgotten] for what was said before its scope was forgotten.
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
		return fmt.Errorf("what was said at %v, of the scope %s: %w", said, a.of, memory.ErrForgotten)
	}
	return nil
}

const countValid = `SELECT count(*) FROM (SELECT 1 FROM mem_fact WHERE scope = ? AND valid_to IS NULL LIMIT ?)`

func (a *applying) checkQuota() error {
	if a.most <= 0 || !a.added {
		return nil
	}
	var n int
	_, err := a.One(countValid, []any{a.scope.key, a.most + 1}, &n)
	if err == nil && n > a.most {
		err = fmt.Errorf("more than %d facts in the scope %s: %w", a.most, a.of, memory.ErrQuota)
	}
	return err
}

// apply does a change.
func (a *applying) apply(c *memory.Change) (memory.Applied, error) {
	if c.Kind == memory.Add {
		return a.add(c)
	}
	r, err := a.fact(c.Record.ID)
	if err != nil {
		return memory.Applied{}, err
	}
	if v := c.Record.Version; v != 0 && v != r.Version {
		return memory.Applied{}, fmt.Errorf("fact %s has version %d and not %d: %w", r.ID, r.Version, v, memory.ErrConflict)
	}
	switch c.Kind {
	case memory.Update:
		err = a.update(r, c)
	case memory.Close:
		err = a.close(r, cmpTime(c.Record.ValidTo, a.now), "", c.Actor)
	case memory.Delete:
		err = drop(a.Session, &a.scope, r, c.Actor, a.now)
	case memory.Embed:
		err = a.embed(r, &c.Record)
	default:
		err = fmt.Errorf("change %q: %w", c.Kind, memory.ErrInvalid)
	}
	return memory.Applied{ID: r.ID, Existed: true}, err
}

// fact returns one of the scope.
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
		return nil, fmt.Errorf("fact %.60s: %w", id, memory.ErrNotFound)
	}
	return r, nil
}

const (
	hasFact   = `SELECT 1 FROM mem_fact WHERE scope = ? AND id = ?`
	factSaid  = ` FROM mem_fact f JOIN mem_scope s ON s.key = f.scope WHERE f.scope = ? AND f.kind = ? AND f.digest = ? AND (f.trust >= 2) = ? AND f.valid_to IS NULL`
	findSaid  = `SELECT f.key, f.id, f.expires_at` + factSaid
	deadFacts = `SELECT key FROM mem_fact WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
)

func (a *applying) add(c *memory.Change) (memory.Applied, error) {
	if err := a.enter(); err != nil {
		return memory.Applied{}, err
	}
	r := &row{Record: c.Record, scope: a.scope.key}
	if r.ID == "" {
		r.ID = uuid.New()
	}
	packed, ok := packID(r.ID)
	if !ok {
		return memory.Applied{}, fmt.Errorf("id %.60q is no UUID: %w", r.ID, memory.ErrInvalid)
	}
	var one int
	if there, err := a.One(hasFact, []any{a.scope.key, packed}, &one); err != nil || there {
		return memory.Applied{ID: r.ID, Existed: true}, err
	}
	at := timeOf(a.now)
	r.CreatedAt, r.UpdatedAt, r.Version = at, at, 1
	r.ValidFrom = timeOf(cmpTime(r.ValidFrom, a.now))
	said, err := a.said(r)
	if err != nil {
		return memory.Applied{}, err
	}
	id := r.ID
	if said != "" && r.ValidTo.IsZero() {
		id = said
	}
	if err := a.supersede(c.Supersedes, said, id, r.ValidFrom.UnixMicro()); err != nil {
		return memory.Applied{}, err
	}
	if id != r.ID {
		return memory.Applied{ID: id, Existed: true}, nil
	}
	return memory.Applied{ID: id}, a.insert(r, c.Actor)
}

// said returns the id of the valid fact that says the same. One that has expired is removed, as if
// it had been swept.
func (a *applying) said(r *row) (id string, err error) {
	var key int64
	var packed []byte
	var expires sql.NullInt64
	found, err := a.One(findSaid, []any{a.scope.key, string(r.Kind), r.Key[:], r.Trust >= memory.Untrusted}, &key, &packed, &expires)
	if err != nil || !found {
		return "", err
	}
	if !expires.Valid || expires.Int64 > a.now {
		return spellID(packed), nil
	}
	old, err := oneRow(a.Session, factByKey, key)
	if err != nil {
		return "", err
	}
	return "", drop(a.Session, &a.scope, old, expired, a.now)
}

// supersede closes facts. The one that says the same stays.
func (a *applying) supersede(ids []string, same, by string, at int64) error {
	for _, id := range ids {
		if same != "" && id == same {
			continue
		}
		old, err := a.fact(id)
		if err != nil {
			return fmt.Errorf("superseded: %w", err)
		}
		if !old.ValidTo.IsZero() {
			return fmt.Errorf("superseded fact %s is not valid any more: %w", id, memory.ErrConflict)
		}
		if err := a.close(old, at, by, by); err != nil {
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
	return note(a.Session, a.scope.key, a.now, memory.Event{ID: r.ID, Kind: memory.Add, After: r.Content, By: actor})
}

func (a *applying) update(r *row, c *memory.Change) error {
	next, to := *r, &c.Record
	next.Content, next.Key, next.Metadata, next.Importance, next.Trust = to.Content, to.Key, to.Metadata, to.Importance, to.Trust
	next.ExpiresAt, next.UpdatedAt, next.Version = to.ExpiresAt, timeOf(a.now), r.Version+1
	next.Terms, next.Embedding, next.Model = to.Terms, to.Embedding, to.Model
	if err := a.replace(r, &next); err != nil {
		return err
	}
	return note(a.Session, a.scope.key, a.now, memory.Event{ID: r.ID, Kind: memory.Update, Before: r.Content, After: next.Content, By: c.Actor})
}

func (a *applying) embed(r *row, to *memory.Record) error {
	next := *r
	next.Terms, next.Embedding, next.Model = to.Terms, to.Embedding, to.Model
	return a.replace(r, &next)
}

func (a *applying) replace(r, next *row) error {
	values, err := next.values()
	if err != nil {
		return err
	}
	_, err = a.Exec(updateFact, append(values, r.key)...)
	if sqlitedb.IsUnique(err) {
		return fmt.Errorf("another fact says the same as fact %s would: %w", r.ID, memory.ErrConflict)
	}
	if err != nil {
		return err
	}
	return factCorpus.replaceWords(a.Session, &a.scope, r.key, r.Terms, next.Terms)
}

// close ends the validity of a row. One that has ended keeps the earlier end.
func (a *applying) close(r *row, at int64, by, actor string) error {
	if !r.ValidTo.IsZero() {
		at = min(at, r.ValidTo.UnixMicro())
	}
	if by == "" {
		by = r.SupersededBy
	}
	if _, err := a.Exec(closeFact, at, by, a.now, r.Version+1, r.key); err != nil {
		return err
	}
	return note(a.Session, a.scope.key, a.now, memory.Event{ID: r.ID, Kind: memory.Close, Before: r.Content, By: actor})
}

func cmpTime(t time.Time, otherwise int64) int64 {
	if t.IsZero() {
		return otherwise
	}
	return t.UnixMicro()
}
