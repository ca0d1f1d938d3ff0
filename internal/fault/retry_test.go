//go:build unix

package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

// failingSteps is SQL that makes one in five inserts of a step fail. Each client has a
// sequence. The values of the sequence select the failing inserts and the error codes.
const failingSteps = `
CREATE FUNCTION weft.fail() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE n bigint := nextval('weft.' || current_setting('application_name'));
BEGIN
  IF ('x' || substr(md5(TG_ARGV[1] || n || current_setting('application_name')), 1, 8))::bit(32)::bigint % 5 = 0 THEN
    RAISE EXCEPTION 'made to fail' USING ERRCODE = (string_to_array(TG_ARGV[0], ','))[1 + n % TG_ARGV[2]::int];
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER fail BEFORE INSERT ON weft.cp_step FOR EACH ROW EXECUTE FUNCTION weft.fail('$CODES', '$SEED', '$COUNT');`

// F5: one insert of a step in five fails in the database. The store tries at most five times after
// conflicts, and until its patience ends after lost connections. It does not retry after any other
// error.
func TestF05OnlyTemporaryErrorsAreRetried(t *testing.T) {
	seed := begin(t)
	for _, c := range []struct {
		name  string
		codes []string
		again bool
		most  int // the maximum number of tries of a step; zero means any
	}{
		{"conflicts", []string{"40001", "40P01"}, true, 5},
		{"lost connections", []string{"57P01", "53300"}, true, 0},
		{"permanent", []string{"23505", "23502", "42501", "42703"}, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const clients = 8
			steps := count(400, 4000) / clients
			o := newSchema(t)
			direct := open(t, pgtest.DirectURL(t), o)
			sql := strings.NewReplacer("weft.", o.Schema+".", "$CODES", strings.Join(c.codes, ","),
				"$SEED", fmt.Sprint(seed), "$COUNT", fmt.Sprint(len(c.codes))).Replace(failingSteps)
			for i := range clients {
				sql += fmt.Sprintf("CREATE SEQUENCE %s.client%d;", o.Schema, i)
			}
			pgtest.Do(t, pgtest.DirectURL(t), sql)
			var mu sync.Mutex
			tries, most, failed := 0, 0, map[string]int{}
			var all sync.WaitGroup
			for i := range clients {
				store, _ := openPool(t, pgtest.DirectURL(t), o, func(p *pgxpool.Config) {
					p.ConnConfig.RuntimeParams["application_name"] = fmt.Sprint("client", i)
					p.MaxConns = 1
				})
				all.Go(func() {
					thread, head, stored, before := fmt.Sprint("t", i), "", 0, 0
					for n := range steps {
						id := stepID(n + 1)
						err := store.Put(t.Context(), step(thread, id, head, fmt.Sprint(stored)), head)
						now := pgtest.Ask[int](t, pgtest.DirectURL(t), fmt.Sprintf(`SELECT last_value::int FROM %s.client%d`, o.Schema, i))
						mu.Lock()
						tries += now - before
						most = max(most, now-before)
						if err != nil {
							failed[codeOf(err)]++
						}
						mu.Unlock()
						if before = now; err == nil {
							head, stored = id, stored+1
						}
					}
					wantChain(t, direct, thread, stored)
				})
			}
			all.Wait()
			steps *= clients
			t.Logf("F5: %d steps, %d tries, at most %d for one; failed: %v", steps, tries, most, failed)
			if c.most > 0 {
				assert.LessOrEqual(t, most, c.most, "tries of a step")
			} else {
				assert.Empty(t, failed, "error codes of failed steps")
			}
			if c.again {
				assert.GreaterOrEqual(t, most, 2, "tries of a step")
				assert.GreaterOrEqual(t, tries, steps+steps/8, "tries of all steps")
			} else {
				assert.Len(t, failed, len(c.codes), "error codes of failed steps")
			}
			for code, n := range failed {
				assert.Contains(t, c.codes, code)
				if c.again { // one step in 3,125 fails five times, so errors are possible
					assert.LessOrEqual(t, n, 2+steps/1000, "steps failed with %s", code)
				}
			}
		})
	}
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return err.Error()
}

// F23: many clients share eight connections of a pooler in transaction mode. No call fails.
func TestF23ManyClientsShareAPooler(t *testing.T) {
	begin(t)
	clients, steps := count(40, 200), count(5, 50)
	o := newSchema(t)
	direct := open(t, pgtest.DirectURL(t), o)
	o.Pooling = pgcheckpoint.Transaction
	var stores []*pgcheckpoint.Store
	for range clients {
		store, _ := openPool(t, pgtest.PooledURL(t), o, func(c *pgxpool.Config) { c.MaxConns = 1 })
		stores = append(stores, store)
	}
	var all sync.WaitGroup
	for i, store := range stores {
		all.Go(func() {
			thread, head := fmt.Sprint("t", i), ""
			for n := range steps {
				c := step(thread, stepID(n+1), head, fmt.Sprint(n))
				if !assert.NoError(t, store.Put(t.Context(), c, head)) {
					return
				}
				head = c.ID
				got, err := store.Get(t.Context(), checkpoint.Key{Thread: thread})
				if !assert.NoError(t, err) || !assert.Equal(t, head, got.ID) {
					return
				}
			}
		})
	}
	all.Wait()
	for i := range clients {
		wantChain(t, direct, fmt.Sprint("t", i), steps)
	}
	t.Logf("F23: %d clients made %d calls each without an error", clients, 2*steps)
}
