package pgcheckpoint

import (
	"context"
	"fmt"
	"math"

	"github.com/weft-go/weft/checkpoint"
)

// leaseQuery has the parameters tenant, thread, owner, lease time, whether to take the
// thread from another run, and the maximum number of recoveries. It returns the newest
// checkpoint as of the moment in which the lease was given, and the recorded head as of the
// moment in which the statement began.
//
// If the number of leases since the newest step has reached the maximum, and the last run has not released its lease, the
// query gives no lease. Until the last lease expires, the row says that another run holds the thread. After that, the row
// has the source 'parked' and the number of leases. The query reads the clock only once, because the lease could expire
// between two reads.
const leaseQuery = `WITH last AS MATERIALIZED (
	SELECT t.epoch - s.epoch AS runs, extract(epoch FROM t.until - clock_timestamp()) * 1000000 AS remaining FROM weft.cp_thread t
	CROSS JOIN LATERAL (SELECT epoch FROM weft.cp_step WHERE thread = t.key ORDER BY seq DESC LIMIT 1) s
	WHERE t.tenant = $1::text AND t.id = $2::text AND t.owner <> $3::uuid
	AND s.epoch > 0 AND t.epoch - s.epoch >= $6::int AND NOT $5::boolean)
	SELECT l.* FROM weft.cp_lease($1::text, $2::text, $3::uuid, $4::float8, $5::boolean) l
	WHERE NOT EXISTS (SELECT FROM last)
	UNION ALL
	SELECT (ROW(0, NULL, NULL, CASE WHEN remaining < 0 THEN 'parked' ELSE '' END, false, NULL, NULL, NULL, NULL, NULL,
		CASE WHEN remaining < 0 THEN runs ELSE remaining END, NULL, NULL,
		NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL)::weft.cp_part).* FROM last
	UNION ALL ` + headRow

const defaultRecoveries = 5

// recoveries returns the number of consecutive runs that may die without storing a step.
func (o *Options) recoveries() int32 {
	switch n := o.MaxRecoveries; {
	case n == 0:
		return defaultRecoveries
	case n < 0 || n > math.MaxInt32:
		return math.MaxInt32
	default:
		return int32(n)
	}
}

// parkedError returns an [ErrParked] for the number of leases since the newest step.
func parkedError(runs int64) error {
	return fmt.Errorf("%w: the last %d runs stored no step and the last of them died, see Unpark", ErrParked, runs+1)
}

// unparkQuery has the parameters tenant and thread.
const unparkQuery = `UPDATE weft.cp_thread SET owner = NULL, until = NULL
	WHERE tenant = $1::text AND id = $2::text AND until < clock_timestamp()`

// Unpark allows one more run of a parked thread. If that run also dies without storing a
// step, the thread is parked again. Unpark does nothing to a thread that is not parked.
func (s *Store) Unpark(ctx context.Context, thread string) error {
	k := checkpoint.Key{Thread: thread}
	err := checkKey(k)
	if err == nil {
		err = s.query(ctx, unparkQuery, []any{s.tenant, thread}, ignoreRow)
	}
	if err != nil {
		return s.fail("unpark", k, err)
	}
	return nil
}
