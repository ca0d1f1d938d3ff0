package records_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// onEach runs a test on each kind of database. The test gets a function that runs a statement as another program
// would, and returns the rows as text.
func onEach(t *testing.T, test func(t *testing.T, db *records.DB, query func(string) []string)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "records.db")
		db, err := records.OpenSQLite(t.Context(), path)
		run(t, db, err, test, "sqlite", "file:"+path)
		again, err := records.OpenSQLite(t.Context(), path)
		require.NoError(t, err, "opened again")
		again.Close()
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		schema := pgtest.Schema(t)
		db, err := records.OpenPostgres(t.Context(), pgtest.DirectURL(t), schema)
		url := pgtest.DirectURL(t)
		separator := "?"
		if strings.Contains(url, "?") {
			separator = "&"
		}
		run(t, db, err, test, "pgx", url+separator+"search_path="+schema)
		again, err := records.OpenPostgres(t.Context(), url, schema)
		require.NoError(t, err, "opened again")
		again.Close()
	})
}

// Other users of the machine cannot read the records, even if an older version let them.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "records.db")
	require.NoError(t, os.WriteFile(path, nil, 0o644)) //nolint:gosec // as older versions made it
	db, err := records.OpenSQLite(t.Context(), path)
	require.NoError(t, err)
	defer db.Close()
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func run(t *testing.T, db *records.DB, err error, test func(*testing.T, *records.DB, func(string) []string), driver, address string) {
	t.Helper()
	require.NoError(t, err)
	defer db.Close()
	test(t, db, func(statement string) []string {
		t.Helper()
		other, err := sql.Open(driver, address)
		require.NoError(t, err)
		defer other.Close()
		rows, err := other.QueryContext(t.Context(), statement)
		require.NoError(t, err, statement)
		defer rows.Close()
		var out []string
		for rows.Next() {
			var text sql.NullString
			require.NoError(t, rows.Scan(&text))
			if !text.Valid {
				text.String = "NULL"
			}
			out = append(out, text.String)
		}
		require.NoError(t, rows.Err())
		return out
	})
}

func TestTables(t *testing.T) {
	onEach(t, func(t *testing.T, db *records.DB, query func(string) []string) {
		s, err := db.CreateSession(t.Context(), "ann")
		require.NoError(t, err)
		other, err := db.CreateSession(t.Context(), "ann")
		require.NoError(t, err)
		for _, id := range []string{s.ID, other.ID} {
			m := records.Message{SessionID: id, Role: "user", Content: "hi"}
			_, err := db.CreateMessage(t.Context(), m)
			require.NoError(t, err)
			m.Images = []records.Image{{Data: []byte("png"), MIMEType: "image/png", OriginalName: "a.png"}}
			_, err = db.CreateMessage(t.Context(), m)
			require.NoError(t, err)
			r := records.Resource{ID: "r" + id, SessionID: id, MIMEType: "text/csv", OriginalName: "a.csv", StoredPath: "files/a", SizeBytes: 3 << 30}
			require.NoError(t, db.CreateResource(t.Context(), r))
		}
		for statement, want := range map[string][]string{
			`SELECT role || ' ' || content FROM message WHERE "sessionId" = '` + s.ID + `'`:                                                            {"user hi", "user hi"},
			`SELECT "mimeType" || ' ' || "originalName" || ' ' || "storedPath" || ' ' || "sizeBytes" FROM resource WHERE "sessionId" = '` + s.ID + `'`: {"text/csv a.csv files/a 3221225472"},
			`SELECT count(*) FROM session WHERE "updatedAt" >= "createdAt"`:                                                                            {"2"},
		} {
			assert.Equal(t, want, query(statement), statement)
		}
		metadata := query(`SELECT metadata FROM message WHERE "sessionId" = '` + s.ID + `' ORDER BY id`)
		require.Len(t, metadata, 2)
		assert.Equal(t, "NULL", metadata[0])
		assert.JSONEq(t, `{"images": [{"data": "cG5n", "mimeType": "image/png", "originalName": "a.png"}]}`, metadata[1])
		messages, err := db.Messages(t.Context(), s.ID)
		require.NoError(t, err)
		require.Len(t, messages, 2)
		assert.Empty(t, messages[0].Images)
		assert.Equal(t, "png", string(messages[1].Images[0].Data))
		resources, err := db.Resources(t.Context(), s.ID)
		require.NoError(t, err)
		require.Len(t, resources, 1)
		assert.EqualValues(t, 3<<30, resources[0].SizeBytes)
		assert.Equal(t, s.ID, resources[0].SessionID)
	})
}

func TestLookupsAreIndexed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "records.db")
	db, err := records.OpenSQLite(t.Context(), path)
	run(t, db, err, func(t *testing.T, _ *records.DB, query func(string) []string) {
		got := query(`SELECT tbl_name || ' ' || name FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%"sessionId"%' ORDER BY 1`)
		assert.Equal(t, []string{"message message_sessionId", "resource resource_sessionId"}, got)
	}, "sqlite", "file:"+path)
	schema := pgtest.Schema(t)
	db, err = records.OpenPostgres(t.Context(), pgtest.DirectURL(t), schema)
	run(t, db, err, func(t *testing.T, _ *records.DB, query func(string) []string) {
		// The query reads only the definitions of this schema's indexes, because other tests drop
		// the indexes of other schemas at the same time.
		got := query(`WITH own AS MATERIALIZED (SELECT indexrelid, indrelid FROM pg_index JOIN pg_class ON oid = indexrelid
				WHERE relnamespace = '` + schema + `'::regnamespace)
			SELECT r.relname || ' ' || i.relname FROM own JOIN pg_class r ON r.oid = indrelid JOIN pg_class i ON i.oid = indexrelid
			WHERE pg_get_indexdef(indexrelid) LIKE '%("sessionId")%' ORDER BY 1`)
		assert.Equal(t, []string{"message message_sessionId", "resource resource_sessionId"}, got)
	}, "pgx", pgtest.DirectURL(t))
}

func TestSessions(t *testing.T) {
	onEach(t, func(t *testing.T, db *records.DB, _ func(string) []string) {
		ann, err1 := db.CreateSession(t.Context(), "ann")
		bob, err2 := db.CreateSession(t.Context(), "bob")
		second, err3 := db.CreateSession(t.Context(), "ann")
		require.NoError(t, errors.Join(err1, err2, err3))
		_, err := db.Session(t.Context(), "ann", bob.ID)
		require.ErrorIs(t, err, records.ErrNotFound, "ann reads bob's session")
		got, err := db.Session(t.Context(), "bob", bob.ID)
		require.NoError(t, err)
		assert.Equal(t, "bob", got.UserID)
		assert.True(t, got.CreatedAt.Equal(bob.CreatedAt))
		require.NoError(t, db.Touch(t.Context(), ann.ID))
		question := records.Message{SessionID: ann.ID, Role: "user", Content: "the question"}
		saved, err := db.SaveMessage(t.Context(), question)
		require.NoError(t, err)
		assert.True(t, saved)
		saved, err = db.SaveMessage(t.Context(), question)
		require.NoError(t, err)
		assert.False(t, saved, "saved again")
		all, err := db.Sessions(t.Context(), "ann")
		require.NoError(t, err)
		require.Len(t, all, 2)
		assert.Equal(t, []string{ann.ID, "the question"}, []string{all[0].ID, all[0].Title})
		assert.Equal(t, []string{second.ID, ""}, []string{all[1].ID, all[1].Title})
		require.NoError(t, db.DeleteSession(t.Context(), ann.ID))
		messages, err := db.Messages(t.Context(), ann.ID)
		require.NoError(t, err)
		assert.Empty(t, messages)
	})
}

func TestPostgresAddressIsNotRepeated(t *testing.T) {
	t.Parallel()
	_, err := records.OpenPostgres(t.Context(), "postgres://u:hunter2@host:port/x", "s")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "hunter2")
}
