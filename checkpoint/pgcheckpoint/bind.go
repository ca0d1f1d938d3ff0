package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Bind returns a store for a tenant on the database of s, with an [Options.Before] of
// its own and otherwise the options of s. It asks the database nothing, so one may be
// made for each request. Closing it does nothing, and it ends when s is closed. It
// returns [checkpoint.ErrInvalid] for what [Options] does not allow.
//
// It is no method, so that a type which embeds a bound store does not offer its user
// another tenant's.
func Bind(s *Store, tenant string, before func(ctx context.Context, b *pgx.Batch) error) (*Store, error) {
	err := checkName("tenant", tenant)
	if err == nil && before != nil {
		err = s.link.checkBefore()
	}
	if err != nil {
		return nil, fmt.Errorf("pgcheckpoint: bind: %w", err)
	}
	n, l := *s, *s.link
	l.before = before
	n.link, n.pool, n.tenant = &l, nil, tenant
	return &n, nil
}

func (l *link) checkBefore() error {
	if len(l.mode) > 0 {
		return fmt.Errorf("behind a pooler, Before needs connections that cache no statements, as those of Open: %w",
			checkpoint.ErrInvalid)
	}
	return nil
}
