package pgcheckpoint

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

const (
	// deleteQuery has the parameters tenant, thread, owner and epoch.
	deleteQuery = `SELECT weft.cp_delete($1::text, $2::text, $3::uuid, $4::int)`
	// copyQuery has the parameters tenant, source and target.
	copyQuery = `SELECT weft.cp_copy($1::text, $2::text, $3::text)`
	// threadsQuery has the parameters tenant, the id to list from, and a limit.
	threadsQuery = `SELECT t.id, t.steps, t.created, s.time FROM weft.cp_thread t
	CROSS JOIN LATERAL (SELECT s.time FROM weft.cp_step s WHERE s.thread = t.key ORDER BY s.seq DESC LIMIT 1) s
	WHERE t.tenant = $1::text AND t.id >= $2::text ORDER BY t.id LIMIT $3::int`
)

// DeleteThread implements [checkpoint.Store].
func (s *Store) DeleteThread(ctx context.Context, thread string) error {
	return s.deleteThread(ctx, thread, nil)
}

func (s *Store) deleteThread(ctx context.Context, thread string, l *lease) error {
	k := checkpoint.Key{Thread: thread}
	err := checkKey(k)
	if err == nil {
		err = s.status(ctx, deleteQuery, s.tenant, thread, l.ownerID(), l.number())
	}
	if err != nil {
		return s.fail("delete", k, err)
	}
	return nil
}

// status sends a statement that returns a status, and returns the error of the status.
func (s *Store) status(ctx context.Context, text string, args ...any) error {
	var status int
	err := s.queryWithin(ctx, maintenanceTimeout, text, args, func(rows pgx.Rows) error { return rows.Scan(&status) })
	if err != nil {
		return err
	}
	return statusError(status)
}

// CopyThread implements [checkpoint.ThreadCopier], in one round trip. The copy keeps
// the times and the tags of its source.
func (s *Store) CopyThread(ctx context.Context, from, to string) error {
	err := checkKey(checkpoint.Key{Thread: from})
	if err == nil {
		err = checkKey(checkpoint.Key{Thread: to})
	}
	if err == nil {
		err = s.status(ctx, copyQuery, s.tenant, from, to)
	}
	if err != nil {
		return s.fail(fmt.Sprintf("copy to thread %q", to), checkpoint.Key{Thread: from}, err)
	}
	return nil
}

// ListThreads implements [checkpoint.ThreadLister].
func (s *Store) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		if !storable(prefix) {
			return // no thread id begins with it
		}
		from := prefix
		for {
			page, err := s.threads(ctx, from)
			if err != nil {
				yield(checkpoint.ThreadInfo{}, s.fail("list threads", checkpoint.Key{}, err))
				return
			}
			for _, t := range page {
				if !strings.HasPrefix(t.ID, prefix) || !yield(t, nil) {
					return
				}
			}
			if len(page) < listPage {
				return
			}
			from = page[len(page)-1].ID + "\x01" // the least id that sorts after it
		}
	}
}

// threads returns a page of the threads whose ids are at least from.
func (s *Store) threads(ctx context.Context, from string) ([]checkpoint.ThreadInfo, error) {
	var page []checkpoint.ThreadInfo
	text, args := s.sql(threadsQuery), []any{s.tenant, from, listPage}
	err := s.retry(ctx, s.timeout, func(t try) error {
		page = page[:0]
		return s.link.send(ctx, t.limit, text, args, func(rows pgx.Rows) error {
			var info checkpoint.ThreadInfo
			err := rows.Scan(&info.ID, &info.Checkpoints, &info.Created, &info.Updated)
			page = append(page, info)
			return err
		})
	})
	return page, err
}
