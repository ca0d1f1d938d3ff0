package sqlitememory

import (
	"context"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// Index implements [driver.ValueStore], with one transaction.
func (v *valueStore) Index(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) (int, error) {
	if len(writes) == 0 {
		return 0, ctx.Err()
	}
	done := 0
	err := v.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		p := putting{Session: w, now: time.Now().UnixMicro()}
		if p.scope, err = valueCorpus.findScope(w, s); err != nil || p.scope.key == 0 {
			return err
		}
		done, err = p.index(ctx, writes)
		return err
	})
	if err != nil {
		return 0, v.db.fail("index", err)
	}
	return done, nil
}

func (p *putting) index(ctx context.Context, writes []driver.ValueWrite) (done int, err error) {
	for i := range writes {
		w := &writes[i]
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		there, err := findValue(p.Session, p.scope.key, w.Address)
		if err != nil {
			return 0, err
		}
		if there == nil || there.Version != w.Version || !there.ExpiresAt.IsZero() && there.ExpiresAt.UnixMicro() <= p.now {
			continue
		}
		next := *there
		next.Terms, next.Embedding, next.Model = w.Terms, w.Embedding, w.Model
		if err := p.store(there, &next); err != nil {
			return 0, err
		}
		done++
	}
	return done, nil
}
