package sqlitememory

import (
	"database/sql"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
)

// newestQuery returns the time of the last write of an event or of a forgotten scope.
const newestQuery = `SELECT max(coalesce((SELECT at FROM mem_event ORDER BY key DESC LIMIT 1), 0),
	coalesce((SELECT max(at) FROM mem_forgotten), 0))`

// readTime returns the time for a read: the clock, but not earlier than the last write, since a
// clock may be coarse or set back.
func readTime(q *sqlitedb.Session) (now int64, err error) {
	_, err = q.One(newestQuery, nil, &now)
	return max(now, time.Now().UnixMicro()), err
}

// writeTime returns the time for a write, which is after all earlier writes.
func writeTime(w *sqlitedb.Session) (now int64, err error) {
	_, err = w.One(newestQuery, nil, &now)
	return max(now+1, time.Now().UnixMicro()), err
}

// tick returns a time that is later than all its earlier results, and the first of n new
// versions. Stores without events use it.
func tick(w *sqlitedb.Session, n int) (now, version int64, err error) {
	_, err = w.One(`UPDATE mem_clock SET at = max(at + 1, ?), version = version + ? RETURNING at, version`,
		[]any{time.Now().UnixMicro(), n}, &now, &version)
	return now, version - int64(n) + 1, err
}

// micros returns the stored form of a time: microseconds, or NULL for the zero time.
func micros(t time.Time) sql.NullInt64 {
	if t.IsZero() {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: true}
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func maybeTime(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return timeOf(micros.Int64)
}
