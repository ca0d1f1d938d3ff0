package compat_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
)

// writtenSchema is the name of the schema in the scripts of testdata.
const writtenSchema = "compat_written"

// load creates and fills tables like the earlier version of the store.
func load(t *testing.T, url, schema, scriptFile, rowsFile string) {
	t.Helper()
	ctx := t.Context()
	script, rows := readFile(t, scriptFile), readFile(t, rowsFile)
	require.NotNil(t, script, scriptFile)
	require.NotNil(t, rows, rowsFile)
	conn := pgtest.Connect(t, url)
	_, err := conn.Exec(ctx, strings.ReplaceAll(string(script), writtenSchema, schema), pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	require.NoError(t, copyRows(ctx, conn, schema, bytes.NewReader(rows)))
}

// loadCheckpoints loads the tables of the checkpoint store. It expires the leases of
// killed runs.
func (f fixture) loadCheckpoints(t *testing.T, url, schema string) {
	t.Helper()
	load(t, url, schema, f.store+"-schema.sql", f.name()+".rows")
	pgtest.Do(t, url, `UPDATE `+schema+`.cp_thread SET until = '2000-01-01' WHERE until IS NOT NULL`)
}

// copyRows fills the tables of a schema. The rows of a table follow a line with the name
// and the columns of the table. The line `\.` ends them.
func copyRows(ctx context.Context, conn *pgx.Conn, schema string, rows io.Reader) error {
	lines := bufio.NewReader(rows)
	for {
		header, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var table bytes.Buffer
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return fmt.Errorf("the table %s: %w", header, err)
			}
			if line == "\\.\n" {
				break
			}
			table.WriteString(line)
		}
		if _, err := conn.PgConn().CopyFrom(ctx, &table, "COPY "+schema+"."+strings.TrimSpace(header)+" FROM STDIN"); err != nil {
			return fmt.Errorf("the table %s: %w", header, err)
		}
		if err := advance(ctx, conn, schema, header); err != nil {
			return err
		}
	}
}

// advance sets the sequence of a table, so that new keys are greater than the copied keys.
func advance(ctx context.Context, conn *pgx.Conn, schema, header string) error {
	table, columns, _ := strings.Cut(header, " (")
	key, _, _ := strings.Cut(columns, ",")
	table = schema + "." + table
	var sequence *string
	err := conn.QueryRow(ctx, `SELECT pg_get_serial_sequence($1, $2)`, table, key).Scan(&sequence)
	if err != nil || sequence == nil {
		return err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`SELECT setval('%s', max(%s)) FROM %s`, *sequence, key, table))
	return err
}
