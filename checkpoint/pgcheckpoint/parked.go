package pgcheckpoint

import (
	"context"
	"fmt"
	"math"

	"github.com/weft-go/weft/checkpoint"
)

// leaseQuery takes tenant, thread, owner, time, whether to steal, and how often a thread
// is recovered. What it reads is of the moment at which the lease was given.
//
// The runs of a thread that is parked have died: the last one left a lease that has run
// out, and since the newest step there were as many leases as there may be recoveries.
// It stays as it is, and a row of another source says for how many.
const leaseQuery = `WITH parked AS MATERIALIZED (
	SELECT t.epoch - s.epoch AS runs FROM weft.cp_thread t
	CROSS JOIN LATERAL (SELECT epoch FROM weft.cp_step WHERE thread = t.key ORDER BY seq DESC LIMIT 1) s
	WHERE t.tenant = $1::text AND t.id = $2::text AND t.owner <> $3::uuid AND t.until < statement_timestamp()
	AND s.epoch > 0 AND t.epoch - s.epoch >= $6::int AND NOT $5::boolean)
	SELECT l.* FROM weft.cp_lease($1::text, $2::text, $3::uuid, $4::float8, $5::boolean) l
	WHERE NOT EXISTS (SELECT FROM parked)
	UNION ALL
	SELECT (ROW(0, NULL, NULL, 'parked', false, NULL, NULL, NULL, NULL, NULL, runs, NULL, NULL,
		NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL)::weft.cp_part).* FROM parked`

const defaultRecoveries = 5

// recoveries is how often a thread whose runs die is given to another.
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

// parkedError says why a thread is not given to another run.
func parkedError(runs int64) error {
	return fmt.Errorf("%w: the last of %d runs without a step died, see Unpark", ErrParked, runs+1)
}

// unparkQuery takes tenant and thread.
const unparkQuery = `UPDATE weft.cp_thread SET owner = NULL, until = NULL
	WHERE tenant = $1::text AND id = $2::text AND until < clock_timestamp()`

// Unpark lets a thread run once more that is an [ErrParked]. If that run dies, too,
// without a step, it is parked again. It does nothing to other threads.
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
