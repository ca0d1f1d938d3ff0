package sqlitedb

import (
	"context"
	"time"
)

// Read calls fn in a read transaction, which sees a consistent snapshot of the database.
// It may call fn several times.
func (d *DB) Read(ctx context.Context, fn func(q *Session) error) error {
	q, err := d.readers.acquire(ctx)
	if err != nil {
		return err
	}
	defer d.readers.release(q)
	return d.retry(ctx, func() error {
		return q.transaction(beginRead, func() error { return fn(q) })
	})
}

// Change calls fn in a write transaction. It may call fn several times. See [DB.Write]
// for errors.
func (d *DB) Change(ctx context.Context, fn func(w *Session) error) error {
	return d.Write(ctx, func(w *Session) error {
		return w.Transaction(func() error { return fn(w) })
	})
}

// Write calls fn with the writing session, outside of a transaction. It may call fn
// several times. An error that wraps [ErrReplaced] means that fn has changed the opened
// file, but that the path now leads to another file or to no file.
func (d *DB) Write(ctx context.Context, fn func(w *Session) error) error {
	w, err := d.writer.acquire(ctx)
	if err != nil {
		return err
	}
	defer d.writer.release(w)
	write := func() error { return d.explainWrite(d.retry(ctx, func() error { return fn(w) })) }
	err = write()
	if FaultOf(err) == Full && d.reuseLog(w) {
		err = write()
	}
	if err != nil {
		return err
	}
	return d.checkFile()
}

// reuseLog moves the write-ahead log into the database, so that the next transaction
// overwrites the log from its start. On a full disk, the log is the only space for the
// transaction. It reports whether it has moved a log.
func (d *DB) reuseLog(w *Session) bool {
	if d.file == "" {
		return false
	}
	var busy, frames, moved int
	_, err := w.One(`PRAGMA wal_checkpoint(RESTART)`, nil, &busy, &frames, &moved)
	return err == nil && busy == 0 && frames > 0
}

// Empty moves the write-ahead log into the database and truncates the log. It waits for
// readers, and returns [ErrInUse] if they take longer than the busy timeout.
func (d *DB) Empty(ctx context.Context) error {
	w, err := d.writer.acquire(ctx)
	if err != nil {
		return err
	}
	defer d.writer.release(w)
	for start := time.Now(); ; {
		var busy, frames, moved int
		if _, err := w.One(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, &busy, &frames, &moved); err != nil && !isBusy(err) {
			return err
		} else if err == nil && busy == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(start) >= d.busy {
			return ErrInUse
		}
	}
}

// retry calls fn again while it fails because of a lock, until the busy timeout has passed or
// ctx ends. SQLite waits for at most [busySlice] in each call, so the end of ctx is noticed
// soon.
func (d *DB) retry(ctx context.Context, fn func() error) error {
	for start := time.Now(); ; {
		err := fn()
		if !isBusy(err) || time.Since(start) >= d.busy {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
