package pgruns_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/pgtest"
)

// In a store with many threads, the searches of a server read few of them.
func TestSearchesUseIndexes(t *testing.T) {
	t.Parallel()
	schema, url := pgtest.Schema(t), pgtest.DirectURL(t)
	open(t, url, schema)
	pgtest.Do(t, url, `INSERT INTO `+schema+`.run_record (kind, id, parent, owner, graph, name, folded, status, created, updated, labels)
		SELECT kind, kind || n, 'thread' || n, 'owner' || n % 2000, 'graph', '', '', 'idle', now() + n * interval '1 second', now(), jsonb_build_object('user', 'u' || n, 'graph_id', 'g')
		FROM generate_series(1, 20000) n, (VALUES ('thread'), ('run')) k (kind)`)
	pgtest.Do(t, url, `ANALYZE `+schema+`.run_record`)
	runsOfOwner := `parent IN (SELECT id FROM ` + schema + `.run_record WHERE kind = 'thread' AND kind <> 'run' AND owner = 'owner7')`
	for _, c := range []struct{ index, where string }{
		{"run_record_labels", `kind = 'thread' AND kind <> 'run' AND labels @> '{"user":"u7"}' ORDER BY created DESC, id DESC LIMIT 10`},
		{"run_record_created", `kind = 'thread' AND kind <> 'run' ORDER BY created DESC, id DESC LIMIT 10`},
		{"run_record_parent", `kind = 'run' AND parent = 'thread7' ORDER BY created DESC, id DESC LIMIT 10`},
		{"run_record_owner", `kind = 'thread' AND kind <> 'run' AND owner = 'owner7' ORDER BY created DESC, id DESC LIMIT 10`},
		{"run_record_owner", `kind = 'run' AND ` + runsOfOwner + ` ORDER BY created DESC, id DESC LIMIT 10`},
		{"run_record_parent", `kind = 'run' AND ` + runsOfOwner + ` ORDER BY created DESC, id DESC LIMIT 10`},
		{"run_record_expires", `kind = 'thread' AND kind <> 'run' AND expires <= now() ORDER BY id LIMIT 100`},
	} {
		plan := pgtest.Ask[string](t, url, `EXPLAIN (FORMAT JSON) SELECT id FROM `+schema+`.run_record WHERE `+c.where)
		assert.True(t, strings.Contains(plan, c.index), "the plan of %s does not use %s: %s", c.where, c.index, plan)
	}
}
