package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
)

const (
	// roleQuery has the parameters schema and role. It returns the role, whether it may use the schema, the number of tables
	// of programs, and whether the role may write one of them.
	roleQuery = `SELECT r.rolname::text, bool_and(has_schema_privilege(r.oid, n.oid, 'USAGE')), count(*),
		bool_or(has_table_privilege(r.oid, c.oid, 'INSERT') OR has_table_privilege(r.oid, c.oid, 'UPDATE') OR has_table_privilege(r.oid, c.oid, 'DELETE'))
	FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE r.rolname = coalesce(nullif($2::text, ''), current_user) AND n.nspname = $1::text AND c.relkind IN ('r', 'p')
		AND c.relname ~ '^(cp|run|river|mem)_' AND c.relname !~ '_migration$' AND c.relname <> 'cp_project' GROUP BY 1`
	// missingQuery has the parameters schema and role. It returns the rights that the role lacks and programs need.
	missingQuery = `SELECT p.privilege || ' on ' || c.relname
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, unnest(CASE WHEN c.relkind = 'S' THEN ARRAY['USAGE']
		WHEN c.relname ~ '_migration$' OR c.relname = 'cp_project' THEN ARRAY['SELECT']
		ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END) AS p(privilege)
	WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p', 'S') AND c.relname ~ '^(cp|run|river|mem)_' AND NOT CASE WHEN c.relkind = 'S'
		THEN has_sequence_privilege($2::text, c.oid, p.privilege) ELSE has_table_privilege($2::text, c.oid, p.privilege) END
	ORDER BY c.relname, p.privilege`
)

// grants checks that a role has the rights that programs need: that of -role, or else the role of this connection,
// unless it reads only.
func (d *doctor) grants(ctx context.Context, db querier) error {
	var role string
	var usage, writes bool
	tables := 0
	rows, err := db.Query(ctx, roleQuery, d.schemaName(), d.role)
	if err != nil {
		return err
	}
	if _, err = pgx.ForEachRow(rows, []any{&role, &usage, &tables, &writes}, func() error { return nil }); err != nil {
		return err
	}
	switch {
	case tables == 0 && d.role != "":
		return fmt.Errorf("there is no role %s, or the schema has no tables", d.role)
	case tables == 0: // the check of the schema says so
		return nil
	case !writes && d.role == "":
		d.skip("grants", "the role %s only reads; -role NAME examines the rights of the role of your programs", role)
		return nil
	}
	rows, err = db.Query(ctx, missingQuery, d.schemaName(), role)
	if err != nil {
		return err
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if !usage {
		missing = append([]string{"USAGE on the schema"}, missing...)
	}
	if len(missing) == 0 {
		d.ok("grants", "the role may read and write the tables of the schema")
		return nil
	}
	schema, to := pgx.Identifier{d.schemaName()}.Sanitize(), pgx.Identifier{role}.Sanitize()
	d.fault("grants", fmt.Sprintf("as the role that owns the tables: GRANT USAGE ON SCHEMA %[1]s TO %[2]s; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]s TO %[2]s; "+
		"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %[1]s TO %[2]s", schema, to),
		"the role %s lacks rights that programs need: %s", role, some(missing))
	return nil
}

// queueTables checks the tables of the queue that servers share.
func (d *doctor) queueTables(ctx context.Context, pool *pgxpool.Pool, s *store) error {
	has, err := d.hasTable(ctx, pool, "river_job")
	if err != nil {
		return err
	}
	const remedy = "weft threads migrate -queue, with the role that owns the tables"
	if !has {
		if _, server := s.runs.(*pgruns.Store); server {
			d.ok("schema", "no tables of a queue (river_*), which servers with package riverqueue need; they make them if they may, and so does weft threads migrate -queue")
		}
		return nil
	}
	done, err := riverqueue.Migrated(ctx, pool, riverqueue.Options{Schema: d.address.schema})
	if err == nil && !done {
		d.fault("schema", remedy, "the tables of the queue (river_*) are older than this version")
	}
	return err
}
