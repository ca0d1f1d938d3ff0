package records_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// onEach runs a test on each kind of database. The function given to it runs a
// statement as another program would, and returns the rows as text.
func onEach(t *testing.T, test func(t *testing.T, db *records.DB, query func(string) []string)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "records.db")
		db, err := records.OpenSQLite(t.Context(), path)
		run(t, db, err, test, "sqlite", "file:"+path)
		again, err := records.OpenSQLite(t.Context(), path)
		if err != nil {
			t.Fatalf("opened again: %v", err)
		}
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
		if err != nil {
			t.Fatalf("opened again: %v", err)
		}
		again.Close()
	})
}

func run(t *testing.T, db *records.DB, err error, test func(*testing.T, *records.DB, func(string) []string), driver, address string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	test(t, db, func(statement string) []string {
		t.Helper()
		other, err := sql.Open(driver, address)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		rows, err := other.QueryContext(t.Context(), statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		defer rows.Close()
		var out []string
		for rows.Next() {
			var text sql.NullString
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			if !text.Valid {
				text.String = "NULL"
			}
			out = append(out, text.String)
		}
		return out
	})
}

func TestTables(t *testing.T) {
	onEach(t, func(t *testing.T, db *records.DB, query func(string) []string) {
		s, err := db.CreateSession(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		other, err := db.CreateSession(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{s.ID, other.ID} {
			m := records.Message{SessionID: id, Role: "user", Content: "hi"}
			if _, err := db.CreateMessage(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			m.Images = []records.Image{{Data: []byte("png"), MIMEType: "image/png", OriginalName: "a.png"}}
			if _, err := db.CreateMessage(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			r := records.Resource{ID: "r" + id, SessionID: id, MIMEType: "text/csv", OriginalName: "a.csv", StoredPath: "files/a", SizeBytes: 3 << 30}
			if err := db.CreateResource(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		for statement, want := range map[string][]string{
			`SELECT role || ' ' || content FROM message WHERE "sessionId" = '` + s.ID + `'`:                                                            {"user hi", "user hi"},
			`SELECT "mimeType" || ' ' || "originalName" || ' ' || "storedPath" || ' ' || "sizeBytes" FROM resource WHERE "sessionId" = '` + s.ID + `'`: {"text/csv a.csv files/a 3221225472"},
			`SELECT count(*) FROM session WHERE "updatedAt" >= "createdAt"`:                                                                            {"2"},
		} {
			if got := query(statement); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", statement, got, want)
			}
		}
		metadata := query(`SELECT metadata FROM message WHERE "sessionId" = '` + s.ID + `' ORDER BY id`)
		if len(metadata) != 2 || metadata[0] != "NULL" {
			t.Fatalf("the metadata are %q", metadata)
		}
		var got any
		want := map[string]any{"images": []any{map[string]any{"data": "cG5n", "mimeType": "image/png", "originalName": "a.png"}}}
		if err := json.Unmarshal([]byte(metadata[1]), &got); err != nil || !reflect.DeepEqual(got, any(want)) {
			t.Errorf("the metadata are %s, %v", metadata[1], err)
		}
		messages, err := db.Messages(t.Context(), s.ID)
		if err != nil || len(messages) != 2 || string(messages[1].Images[0].Data) != "png" || messages[0].Images != nil {
			t.Errorf("the messages are %+v, %v", messages, err)
		}
		resources, err := db.Resources(t.Context(), s.ID)
		if err != nil || len(resources) != 1 || resources[0].SizeBytes != 3<<30 || resources[0].SessionID != s.ID {
			t.Errorf("the resources are %+v, %v", resources, err)
		}
	})
}

func TestLookupsAreIndexed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "records.db")
	db, err := records.OpenSQLite(t.Context(), path)
	run(t, db, err, func(t *testing.T, _ *records.DB, query func(string) []string) {
		got := query(`SELECT tbl_name || ' ' || name FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%"sessionId"%' ORDER BY 1`)
		if want := []string{"message message_sessionId", "resource resource_sessionId"}; !slices.Equal(got, want) {
			t.Errorf("the indexes are %q, want %q", got, want)
		}
	}, "sqlite", "file:"+path)
	schema := pgtest.Schema(t)
	db, err = records.OpenPostgres(t.Context(), pgtest.DirectURL(t), schema)
	run(t, db, err, func(t *testing.T, _ *records.DB, query func(string) []string) {
		got := query(`SELECT tablename || ' ' || indexname FROM pg_indexes WHERE schemaname = '` + schema + `' AND indexdef LIKE '%("sessionId")%' ORDER BY 1`)
		if want := []string{"message message_sessionId", "resource resource_sessionId"}; !slices.Equal(got, want) {
			t.Errorf("the indexes are %q, want %q", got, want)
		}
	}, "pgx", pgtest.DirectURL(t))
}

func TestSessions(t *testing.T) {
	onEach(t, func(t *testing.T, db *records.DB, _ func(string) []string) {
		ann, err1 := db.CreateSession(t.Context(), "ann")
		bob, err2 := db.CreateSession(t.Context(), "bob")
		second, err3 := db.CreateSession(t.Context(), "ann")
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Session(t.Context(), "ann", bob.ID); !errors.Is(err, records.ErrNotFound) {
			t.Errorf("ann reads bob's session: %v", err)
		}
		if got, err := db.Session(t.Context(), "bob", bob.ID); err != nil || got.UserID != "bob" || !got.CreatedAt.Equal(bob.CreatedAt) {
			t.Errorf("got %+v, %v, want %+v", got, err, bob)
		}
		if err := db.Touch(t.Context(), ann.ID); err != nil {
			t.Fatal(err)
		}
		saved, err := db.SaveMessage(t.Context(), records.Message{SessionID: ann.ID, Role: "user", Content: "the question"})
		if err != nil || !saved {
			t.Fatalf("saved %t, %v", saved, err)
		}
		if saved, err = db.SaveMessage(t.Context(), records.Message{SessionID: ann.ID, Role: "user", Content: "the question"}); err != nil || saved {
			t.Errorf("saved again: %t, %v", saved, err)
		}
		all, err := db.Sessions(t.Context(), "ann")
		if err != nil || len(all) != 2 || all[0].ID != ann.ID || all[0].Title != "the question" || all[1].ID != second.ID || all[1].Title != "" {
			t.Errorf("the sessions are %+v, %v", all, err)
		}
		if err := db.DeleteSession(t.Context(), ann.ID); err != nil {
			t.Fatal(err)
		}
		if messages, err := db.Messages(t.Context(), ann.ID); err != nil || len(messages) != 0 {
			t.Errorf("there are %v, %v", messages, err)
		}
	})
}

func TestPostgresAddressIsNotRepeated(t *testing.T) {
	t.Parallel()
	if _, err := records.OpenPostgres(t.Context(), "postgres://u:hunter2@host:port/x", "s"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
