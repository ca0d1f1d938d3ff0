package supacheckpoint_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// failing makes the database fail the first calls of PutSession with a SQLSTATE. A sequence
// counts the calls, because a rollback does not undo it.
func failing(t *testing.T, p place, state string, tries int) {
	t.Helper()
	do(t, p, `CREATE SEQUENCE weft.tries`)
	do(t, p, `GRANT USAGE ON SEQUENCE weft.tries TO authenticated`)
	do(t, p, fmt.Sprintf(`CREATE FUNCTION weft.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('weft.tries') <= %d THEN RAISE EXCEPTION 'as asked' USING ERRCODE = '%s'; END IF;
		RETURN NEW;
	END $$`, tries, state))
	do(t, p, `CREATE TRIGGER fail BEFORE INSERT ON weft.cp_session FOR EACH ROW EXECUTE FUNCTION weft.fail()`)
}

// A call is retried after a transient error, and each wait is twice the wait before.
// A call is not retried after any other error.
func TestOnlyTransientErrorsAreRetried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state    string
		fails    int
		max      int
		tries    int
		ok       bool
		reported []string
	}{
		"nothing":               {"40001", 0, 0, 1, true, nil},
		"a serialization":       {"40001", 2, 0, 3, true, []string{"wait=2ms", "wait=4ms"}},
		"a deadlock":            {"40P01", 3, 0, 4, true, []string{"wait=2ms", "wait=4ms", "wait=8ms"}},
		"too many connections":  {"53300", 4, 0, 4, false, []string{"wait=8ms"}},
		"more tries":            {"40001", 5, 5, 6, true, []string{"wait=32ms"}},
		"no tries":              {"40001", 1, -1, 1, false, nil},
		"a constraint":          {"23505", 1, 0, 1, false, nil},
		"a missing privilege":   {"42501", 1, 0, 1, false, nil},
		"an invalid text":       {"22P02", 1, 0, 1, false, nil},
		"an error of a trigger": {"P0001", 1, 0, 1, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := directPlace(t)
			failing(t, p, c.state, c.fails)
			var said bytes.Buffer
			p.options.Retry = supacheckpoint.Retry{Max: c.max, Delay: 2 * time.Millisecond}
			p.options.Logger = slog.New(slog.NewTextHandler(&said, nil))
			err := as(t, p.open(t), ann).PutSession(t.Context(), "plan", supacheckpoint.SessionUpdate{Status: "x"})
			if c.ok {
				assert.NoError(t, err)
			} else {
				var e *pgconn.PgError
				require.ErrorAs(t, err, &e)
				assert.Equal(t, c.state, e.Code)
			}
			assert.Equal(t, c.tries, ask[int](t, p, `SELECT last_value::int FROM weft.tries`))
			for _, text := range c.reported {
				assert.Contains(t, said.String(), text)
			}
			if c.tries == 1 {
				assert.Empty(t, said.String())
			}
		})
	}
}
