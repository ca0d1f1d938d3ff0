package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
)

const (
	// programTables selects the relations of the programs by their names. It requires that the schema also has the migration
	// table of the prefix, such as cp_migration.
	programTables = `c.relname ~ '^((cp|river)_|run_(migration|record|log|event|task|open|live)$|mem_(migration|scope|fact|event|job|forgotten|turn|session|message|shelf|source|chunk|value|value_scope|quota)$)'
		AND EXISTS (SELECT FROM pg_class m WHERE m.relnamespace = c.relnamespace AND m.relname = split_part(c.relname, '_', 1) || '_migration')`
	// roleQuery has the parameters schema and role. It returns no row if the role does not exist. Otherwise the row has the
	// role, whether the role may use the schema, the number of tables of programs, and whether the role may write one of them.
	roleQuery = `SELECT r.rolname::text, coalesce(bool_and(has_schema_privilege(r.oid, c.relnamespace, 'USAGE')), false), count(c.oid), coalesce(bool_or(
		has_table_privilege(r.oid, c.oid, 'INSERT') OR has_table_privilege(r.oid, c.oid, 'UPDATE') OR has_table_privilege(r.oid, c.oid, 'DELETE')), false)
	FROM pg_roles r LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = $1::text)
		ON c.relkind IN ('r', 'p') AND c.relname !~ '_migration$' AND c.relname <> 'cp_project' AND ` + programTables + `
	WHERE r.rolname = coalesce(nullif($2::text, ''), current_user) GROUP BY 1`
	// missingQuery has the parameters schema and role. It returns the rights that programs need and the role lacks. An identity
	// column needs no right on its sequence.
	missingQuery = `SELECT c.relname::text, c.relkind = 'S', p.privilege
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, unnest(CASE WHEN c.relkind = 'S' THEN ARRAY['USAGE']
		WHEN c.relname ~ '_migration$' OR c.relname IN ('cp_project', 'mem_quota') THEN ARRAY['SELECT']
		WHEN c.relname = 'mem_event' THEN ARRAY['SELECT', 'INSERT', 'DELETE']
		ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END) AS p(privilege)
	WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p', 'S') AND ` + programTables + `
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i' AND c.relkind = 'S')
		AND NOT CASE WHEN c.relkind = 'S' THEN has_sequence_privilege($2::text, c.oid, p.privilege)
			WHEN p.privilege = 'UPDATE' THEN has_any_column_privilege($2::text, c.oid, p.privilege)
			ELSE has_table_privilege($2::text, c.oid, p.privilege) END
	ORDER BY c.relname, p.privilege`
)

// A right is one privilege on a table or a sequence, such as INSERT.
type right struct {
	On       string
	Sequence bool
	Name     string
}

func (r right) String() string { return r.Name + " on " + r.On }

// grantsOf returns the statements that grant the missing rights to a role. One statement covers all tables that lack the same rights.
func grantsOf(missing []right, schema, role string) (statements []string) {
	type lack struct {
		rights   string
		sequence bool
	}
	rights, sequence, tables := map[string][]string{}, map[string]bool{}, map[lack][]string{}
	for _, r := range missing {
		rights[r.On], sequence[r.On] = append(rights[r.On], r.Name), r.Sequence
	}
	var order []lack
	for _, name := range sortedKeys(rights) {
		l := lack{strings.Join(rights[name], ", "), sequence[name]}
		if tables[l] == nil {
			order = append(order, l)
		}
		tables[l] = append(tables[l], pgx.Identifier{schema, name}.Sanitize())
	}
	for _, l := range order {
		kind := "TABLE"
		if l.sequence {
			kind = "SEQUENCE"
		}
		statements = append(statements, fmt.Sprintf("GRANT %s ON %s %s TO %s", l.rights, kind, strings.Join(tables[l], ", "), pgx.Identifier{role}.Sanitize()))
	}
	return statements
}

// grants checks that a role has the rights that programs need. The role is that of -role, or else the role of this
// connection. The check skips the role of this connection if that role can only read.
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
	case role == "":
		return fmt.Errorf("there is no role %s", d.role)
	case tables == 0: // the check of the schema reports the missing tables
		return nil
	case !writes && d.role == "":
		d.skip("grants", "the role %s only reads; -role NAME examines the rights of the role of your programs", role)
		return nil
	}
	rows, err = db.Query(ctx, missingQuery, d.schemaName(), role)
	if err != nil {
		return err
	}
	missing, err := pgx.CollectRows(rows, pgx.RowToStructByPos[right])
	if err != nil {
		return err
	}
	var lacks []string
	statements := grantsOf(missing, d.schemaName(), role)
	if !usage {
		lacks = append(lacks, "USAGE on the schema")
		use := fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", pgx.Identifier{d.schemaName()}.Sanitize(), pgx.Identifier{role}.Sanitize())
		statements = append([]string{use}, statements...)
	}
	for _, r := range missing {
		lacks = append(lacks, r.String())
	}
	if len(lacks) == 0 {
		d.ok("grants", "the role may read and write the tables of the schema")
		return nil
	}
	d.fault("grants", "as the role that owns the tables: "+strings.Join(statements, "; "),
		"the role %s lacks rights that programs need: %s", role, some(lacks))
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
