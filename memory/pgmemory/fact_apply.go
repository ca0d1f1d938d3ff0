package pgmemory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory/driver"
)

const applyQuery = `SELECT o_id, o_existed, o_status, o_change, o_about FROM weft.mem_apply(
	$1::bigint[], $2::bytea, $3::text[], $4::bytea[], $5::text, $6::bigint, $7::boolean,
	$8::text[], $9::text[], $10::bigint[], $11::text[], $12::timestamptz[], $13::text[],
	$14::text[], $15::text[], $16::bytea[], $17::bytea[], $18::text[], $19::text[], $20::bigint[],
	$21::int[], $22::float8[], $23::timestamptz[], $24::timestamptz[], $25::text[], $26::timestamptz[],
	$27::text[], $28::text[], $29::text[], $30::bigint[], $31::text[])`

// bulk is the minimum number of facts that one statement adds together. Fewer facts are added one
// by one.
const bulk = 8

// Apply implements [driver.FactStore], in one round trip. If the connection is lost during the
// call, the changes may or may not have been applied, and the error is [ErrUnreachable]. A call
// whose changes have a [driver.FactChange.Job] can be repeated safely.
func (f *factStore) Apply(ctx context.Context, s driver.Scope, changes []driver.FactChange) ([]driver.Applied, error) {
	if len(changes) == 0 {
		return nil, ctx.Err()
	}
	applied, err := f.apply(ctx, s, changes)
	if err != nil {
		return nil, f.db.fail("apply", err)
	}
	return applied, nil
}

func (f *factStore) apply(ctx context.Context, s driver.Scope, changes []driver.FactChange) (applied []driver.Applied, err error) {
	list, err := newChanges(s, changes)
	if err != nil {
		return nil, err
	}
	tenant, user := f.db.locks(s)
	values := append([]any{
		[]int64{tenant, user}, scopeDigest(s), names(s), around(s), changes[0].Job, int64(f.db.options.MaxFacts), list.together(changes),
	}, list.values()...)
	var refused error
	reset := func() { applied, refused = nil, nil }
	err = f.db.link.write(ctx, f.db.sql(applyQuery), values, reset, func(rows pgx.Rows) error {
		var a driver.Applied
		var status, about string
		var change int
		if err := rows.Scan(&a.ID, &a.Existed, &status, &change, &about); err != nil {
			return err
		}
		applied = append(applied, a)
		if status != "" {
			refused = refusal(status, change, about, s, &changes[change])
		}
		return nil
	})
	if err == nil {
		err = refused
	}
	return applied, err
}

// refusal returns the error for a status that mem_apply returned.
func refusal(status string, change int, about string, s driver.Scope, c *driver.FactChange) error {
	var err error
	switch status {
	case "missing":
		err = fmt.Errorf("fact %s: %w", about, driver.ErrNotFound)
	case "version":
		err = fmt.Errorf("fact %s has version %s and not %d: %w", c.Record.ID, about, c.Record.Version, driver.ErrConflict)
	case "taken":
		err = fmt.Errorf("fact %s says something else: %w", about, driver.ErrConflict)
	case "said":
		err = fmt.Errorf("fact %s says the same already: %w", about, driver.ErrConflict)
	case "closed":
		err = fmt.Errorf("superseded fact %s is not valid any more: %w", about, driver.ErrConflict)
	case "forgotten":
		err = fmt.Errorf("what was said at %v, of the scope %s: %w", c.Said, s, driver.ErrForgotten)
	case "quota":
		return fmt.Errorf("the scope %s has as many facts as it may have: %w", s, driver.ErrQuota)
	default:
		err = fmt.Errorf("status %q: %w", status, ErrFormat)
	}
	return fmt.Errorf("change %d: %w", change, err)
}

// changeList holds the columns of changes: element i of each slice belongs to change i.
type changeList struct {
	does, id, actor, instead           []string
	kind, content, conversation, by    []string
	terms, words, model                []string
	metadata, vector                   []*string
	version, turn                      []int64
	space                              []*int64
	trust                              []int32
	importance                         []float64
	said, raw                          [][]byte
	heard, validFrom, validTo, expires []*time.Time
}

func newChanges(s driver.Scope, changes []driver.FactChange) (*changeList, error) {
	l := &changeList{}
	for i := range changes {
		if err := l.add(s, &changes[i]); err != nil {
			return nil, fmt.Errorf("change %d: %w", i, err)
		}
	}
	return l, nil
}

func (l *changeList) add(s driver.Scope, c *driver.FactChange) error {
	r := &c.Record
	id, err := c.Record.ID, error(nil)
	switch c.Kind {
	case driver.Add:
		if id == "" {
			id = uuid.New()
		}
		if !isID(id) {
			return fmt.Errorf("id %.60q is no UUID: %w", id, driver.ErrInvalid)
		}
		for _, old := range c.Supersedes {
			if !isID(old) {
				return fmt.Errorf("fact %.60s: %w", old, driver.ErrNotFound)
			}
		}
	case driver.Update, driver.Close, driver.Delete, driver.Erase, driver.Embed:
		if !isID(id) {
			return fmt.Errorf("fact %.60s: %w", id, driver.ErrNotFound)
		}
	default:
		return fmt.Errorf("change %q: %w", c.Kind, driver.ErrInvalid)
	}
	l.does, l.id, l.version, l.actor = append(l.does, string(c.Kind)), append(l.id, id), append(l.version, r.Version), append(l.actor, c.Actor)
	l.heard, l.instead = append(l.heard, optional(c.Said)), append(l.instead, strings.Join(c.Supersedes, ","))
	l.kind, l.content, l.said = append(l.kind, string(r.Kind)), append(l.content, r.Content), append(l.said, r.Key[:])
	var metadata *string
	var raw []byte
	if len(r.Metadata) > 0 {
		plain, err := plainJSON(r.Metadata)
		if err != nil {
			return fmt.Errorf("metadata: %w: %w", driver.ErrInvalid, err)
		}
		raw, metadata = r.Metadata, &plain
	}
	l.raw, l.metadata = append(l.raw, raw), append(l.metadata, metadata)
	l.conversation, l.turn = append(l.conversation, r.Conversation), append(l.turn, r.Turn)
	l.trust, l.importance = append(l.trust, trustColumn(r.Trust)), append(l.importance, r.Importance)
	l.validFrom, l.validTo, l.expires = append(l.validFrom, optional(r.ValidFrom)), append(l.validTo, optional(r.ValidTo)), append(l.expires, optional(r.ExpiresAt))
	l.by, l.model = append(l.by, r.SupersededBy), append(l.model, r.Model)
	l.terms, l.words = append(l.terms, textArray(r.Terms)), append(l.words, wordArray(s.Tenant, r.Terms))
	var vector *string
	var in *int64
	if n := len(r.Embedding); n > 0 {
		text, number := spellVector(r.Embedding), space(r.Model, n)
		vector, in = &text, &number
	}
	l.vector, l.space = append(l.vector, vector), append(l.space, in)
	return err
}

func (l *changeList) values() []any {
	return []any{
		l.does, l.id, l.version, l.actor, l.heard, l.instead, l.kind, l.content, l.said, l.raw, l.metadata, l.conversation, l.turn,
		l.trust, l.importance, l.validFrom, l.validTo, l.by, l.expires, l.terms, l.words, l.model, l.space, l.vector,
	}
}

// together reports whether one statement can add all facts: there are at least bulk changes, all
// are additions that supersede nothing and do not expire within an hour, and no two have the same
// id or key.
func (l *changeList) together(changes []driver.FactChange) bool {
	if len(changes) < bulk {
		return false
	}
	soon := time.Now().Add(time.Hour)
	ids, said := make(map[string]bool, len(changes)), make(map[[16]byte]bool, len(changes))
	for i := range changes {
		c, r := &changes[i], &changes[i].Record
		expires := !r.ExpiresAt.IsZero() && r.ExpiresAt.Before(soon)
		if c.Kind != driver.Add || len(c.Supersedes) > 0 || ids[l.id[i]] || said[r.Key] || expires {
			return false
		}
		ids[l.id[i]], said[r.Key] = true, true
	}
	return true
}
