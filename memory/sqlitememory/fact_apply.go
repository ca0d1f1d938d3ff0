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
	factHas  = `SELECT f.key, f.id, f.kind, f.digest, f.trust, f.valid_from, f.valid_to, f.expires_at, f.version, f.content FROM mem_fact f WHERE `
	findByID = factHas + `f.scope = ? AND f.id = ?`
	findSaid = factHas + `f.scope = ? AND f.kind = ? AND f.digest = ? AND (f.trust >= 2) = ? AND f.valid_to IS NULL`
	// extendFact leaves the large columns alone.
	extendFact = `UPDATE mem_fact SET valid_from = ?, expires_at = ?, updated_at = ?, version = ? WHERE key = ?`
	deadFacts  = `SELECT key FROM mem_fact WHERE expires_at <= ? ORDER BY expires_at LIMIT ?`
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
	at := timeOf(a.now)
	r.CreatedAt, r.UpdatedAt, r.Version = at, at, 1
	r.ValidFrom = timeOf(cmpTime(r.ValidFrom, a.now))
	if old, err := a.there(findByID, a.scope.key, packed); err != nil || old != nil {
		if err == nil && !old.says(r) {
			err = fmt.Errorf("fact %s says something else: %w", r.ID, memory.ErrConflict)
		}
		if err == nil {
			err = a.extend(old, r, c.Actor)
		}
		return memory.Applied{ID: r.ID, Existed: true}, err
	}
	said, err := a.there(findSaid, a.scope.key, string(r.Kind), r.Key[:], r.Trust >= memory.Untrusted)
	if err != nil {
		return memory.Applied{}, err
	}
	id, same := r.ID, ""
	if said != nil {
		same = said.ID
	}
	if said != nil && r.ValidTo.IsZero() {
		id = said.ID
	}
	if err := a.supersede(c.Supersedes, same, id, r.ValidFrom.UnixMicro()); err != nil {
		return memory.Applied{}, err
	}
	if id != r.ID {
		return memory.Applied{ID: id, Existed: true}, a.extend(said, r, c.Actor)
	}
	return memory.Applied{ID: id}, a.insert(r, c.Actor)
}

// there returns a fact without its large columns, and nil if there is none. One that has expired is
// removed, as if it had been swept.
func (a *applying) there(query string, args ...any) (*row, error) {
	r := &row{scope: a.scope.key}
	var kind string
	var id, digest []byte
	var trust int
	var from int64
	var to, expires sql.NullInt64
	found, err := a.One(query, args, &r.key, &id, &kind, &digest, &trust, &from, &to, &expires, &r.Version, &r.Content)
	if err != nil || !found {
		return nil, err
	}
	r.ID, r.Kind, r.Trust = spellID(id), memory.Kind(kind), memory.Trust(trust)
	copy(r.Key[:], digest)
	r.ValidFrom, r.ValidTo, r.ExpiresAt = timeOf(from), maybeTime(to), maybeTime(expires)
	if !expires.Valid || expires.Int64 > a.now {
		return r, nil
	}
	old, err := oneRow(a.Session, factByKey, r.key)
	if err != nil {
		return nil, err
	}
	return nil, drop(a.Session, &a.scope, old, expired, a.now)
}

// says reports whether two facts say the same. What is not trusted stands apart.
func (r *row) says(other *row) bool {
	return r.Kind == other.Kind && r.Key == other.Key && (r.Trust >= memory.Untrusted) == (other.Trust >= memory.Untrusted)
}

// extend makes a valid fact hold for as long as what says the same, if that is longer.
func (a *applying) extend(r, again *row, actor string) error {
	if !r.ValidTo.IsZero() || !again.ValidTo.IsZero() {
		return nil
	}
	from, expires := r.ValidFrom, r.ExpiresAt
	if again.ValidFrom.Before(from) {
		from = again.ValidFrom
	}
	if again.ExpiresAt.IsZero() || again.ExpiresAt.After(expires) && !expires.IsZero() {
		expires = again.ExpiresAt
	}
	if from.Equal(r.ValidFrom) && expires.Equal(r.ExpiresAt) {
		return nil
	}
	if _, err := a.Exec(extendFact, from.UnixMicro(), micros(expires), a.now, r.Version+1, r.key); err != nil {
		return err
	}
	return note(a.Session, a.scope.key, a.now, memory.Event{ID: r.ID, Kind: memory.Update, Before: r.Content, After: r.Content, By: actor})
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

// close ends the validity of a row, not before it began. One that has ended keeps the earlier end.
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
	return note(a.Session, a.scope.key, a.now, memory.Event{ID: r.ID, Kind: memory.Close, Before: r.Content, By: actor})
}

func cmpTime(t time.Time, otherwise int64) int64 {
	if t.IsZero() {
		return otherwise
	}
	return t.UnixMicro()
}
