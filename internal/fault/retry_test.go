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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

// failingSteps lets one in five inserts of a step fail, which one is a matter of a
// sequence that each client has for itself. Codes are given in turn.
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

// F5: one step in five fails in the database. What is worth trying again is, at most
// five times; nothing else is.
func TestF05ServerErrors(t *testing.T) {
	seed := begin(t)
	for _, c := range []struct {
		name  string
		codes []string
		again bool
	}{
		{"of others", []string{"40001", "40P01", "57P01", "53300"}, true},
		{"of its own", []string{"23505", "23502", "42501", "42703"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const clients = 8
			steps := count(400, 4000) / clients
			o := newSchema(t)
			sound := open(t, pgtest.DirectURL(t), o)
			sql := strings.NewReplacer("weft.", o.Schema+".", "$CODES", strings.Join(c.codes, ","),
				"$SEED", fmt.Sprint(seed), "$COUNT", fmt.Sprint(len(c.codes))).Replace(failingSteps)
			for i := range clients {
				sql += fmt.Sprintf("CREATE SEQUENCE %s.client%d;", o.Schema, i)
			}
			pgtest.Do(t, pgtest.DirectURL(t), sql)
			var mu sync.Mutex
			tries, most, refused := 0, 0, map[string]int{}
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
							refused[codeOf(err)]++
						}
						mu.Unlock()
						if before = now; err == nil {
							head, stored = id, stored+1
						}
					}
					wantChain(t, sound, thread, stored)
				})
			}
			all.Wait()
			steps *= clients
			t.Logf("F5: %d steps, %d tries, at most %d for one; refused: %v", steps, tries, most, refused)
			if c.again && (most > 5 || most < 2 || tries < steps+steps/8) {
				t.Errorf("%d steps took %d tries, at most %d for one", steps, tries, most)
			}
			if !c.again && (most != 1 || len(refused) != len(c.codes)) {
				t.Errorf("what can not be helped was tried %d times; refused: %v", most, refused)
			}
			for code, n := range refused {
				// One that failed five times in a row is one in 3,125.
				if c.again && n > 2+steps/1000 || !strings.Contains(strings.Join(c.codes, ","), code) {
					t.Errorf("%d steps were refused with %q", n, code)
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

// F23: two hundred clients go through eight connections of a pooler that gives them out
// for a transaction.
func TestF23Pooler(t *testing.T) {
	begin(t)
	clients, steps := count(40, 200), count(5, 50)
	o := newSchema(t)
	sound := open(t, pgtest.DirectURL(t), o)
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
				if err := store.Put(t.Context(), c, head); err != nil {
					t.Error(err)
					return
				}
				head = c.ID
				got, err := store.Get(t.Context(), checkpoint.Key{Thread: thread})
				if err != nil || got.ID != head {
					t.Errorf("got %q, error %v want %q", got.ID, err, head)
					return
				}
			}
		})
	}
	all.Wait()
	for i := range clients {
		wantChain(t, sound, fmt.Sprint("t", i), steps)
	}
	t.Logf("F23: %d clients made %d calls each without an error", clients, 2*steps)
}
