//go:build unix

package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

func TestDoctorNamesAFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	if os.Geteuid() == 0 { // root can write a file whose mode forbids it
		dir := pgtest.Volume(t, "size=8m")
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		file = filepath.Join(dir, "threads.db")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,ro", dir).CombinedOutput()
		require.NoError(t, err, string(out))
	} else {
		require.NoError(t, os.Chmod(file, 0o400))
	}
	only(t, &doctor{address: address{db: file}}, "writes", "the file cannot be written", "the right to write the file")
}

func TestDoctorNamesAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	p := newPostgresStore(t, pgtest.DirectURL(t), pgtest.Schema(t))
	s, err := pgcheckpoint.Open(t.Context(), p.url, pgcheckpoint.Options{Schema: p.schema})
	require.NoError(t, err)
	fill(t, s)
	s.Close()
	assert.Empty(t, faultsOf(t, p.doctor))
	assert.Equal(t, "the database takes writes", p.textOf("writes"))
	u, err := url.Parse(p.url)
	require.NoError(t, err)
	q := u.Query()
	q.Set("default_transaction_read_only", "on")
	u.RawQuery = q.Encode()
	p.db, p.found = u.String(), nil
	only(t, p.doctor, "writes", "default_transaction_read_only is on", "make room first")
}

func TestDoctorNamesAFullDatabase(t *testing.T) {
	t.Parallel()
	dir := pgtest.Volume(t, "size=24m,mode=0777")
	programs, err := fault.Programs(t.Context(), filepath.Join("..", "..", "scripts", "postgres"))
	require.NoError(t, err)
	server, err := fault.NewServer(t.Context(), os.TempDir(), programs)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	require.NoError(t, server.Start(t.Context()))
	space := filepath.Join(dir, "tables")
	require.NoError(t, os.Mkdir(space, 0o700))
	require.NoError(t, server.Chown(space))
	pgtest.Do(t, server.URL(), fmt.Sprintf(`CREATE TABLESPACE small LOCATION '%s'`, space))
	pgtest.Do(t, server.URL(), `CREATE DATABASE agents TABLESPACE small`)
	d := &doctor{address: address{db: strings.Replace(server.URL(), "/postgres?", "/agents?", 1)}, sample: 200}
	s, err := pgcheckpoint.Open(t.Context(), d.db, pgcheckpoint.Options{})
	require.NoError(t, err)
	s.Close()
	assert.Empty(t, faultsOf(t, d))

	_ = os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 24<<20), 0o600) // the error says that the volume is full
	d.found = nil
	only(t, d, "writes", "the database is full", "enlarge the disk")
	require.NoError(t, os.Remove(filepath.Join(dir, "filler")))
	d.found = nil
	assert.Empty(t, faultsOf(t, d))
}

func TestDoctorTriesNoWriteWithoutTheRight(t *testing.T) {
	t.Parallel()
	programs, err := fault.Programs(t.Context(), filepath.Join("..", "..", "scripts", "postgres"))
	require.NoError(t, err)
	server, err := fault.NewServer(t.Context(), os.TempDir(), programs)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	require.NoError(t, server.Start(t.Context()))
	address := server.URL()
	pgtest.Do(t, address, "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
	s, err := pgcheckpoint.Open(t.Context(), address, pgcheckpoint.Options{})
	require.NoError(t, err)
	fill(t, s)
	s.Close()
	u, err := url.Parse(address)
	require.NoError(t, err)
	q := u.Query()
	q.Set("role", "pg_read_all_data")
	u.RawQuery = q.Encode()
	d := &doctor{sample: 200}
	d.db = u.String()
	assert.NotContains(t, faultsOf(t, d), "writes")
	assert.Contains(t, d.textOf("writes"), "not tried")
}
