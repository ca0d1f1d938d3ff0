package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Bind returns a store for a tenant on the database of s. The returned store uses before as
// its [Options.Before], and otherwise has the options of s. Bind does not query the database,
// so a program may call it for each request. Closing the returned store does nothing, and it
// cannot be used after s is closed. Bind returns [checkpoint.ErrInvalid] for a tenant or a
// function that [Options] does not allow.
//
// Bind is not a method, so that a type which embeds a bound store does not give access
// to other tenants.
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
		return fmt.Errorf("behind a transaction pooler, Before needs connections that do not cache statements: use Open or PoolConfig: %w",
			checkpoint.ErrInvalid)
	}
	return nil
}
