package sqlitedb

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/migration"
)

const hasTableQuery = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`

// migrate applies the missing migrations, each in a separate transaction. Several
// processes may call it concurrently. It does not write to a database that is up to date.
// The name of the table becomes a part of the SQL text, so it must be a constant.
func migrate(w *Session, table string, list []migration.Migration) error {
	for {
		done, err := applied(w, table, list)
		if err != nil {
			return err
		}
		if done == len(list) {
			return nil
		}
		err = w.Transaction(func() error {
			if done, err = applied(w, table, list); err != nil || done == len(list) {
				return err
			}
			return apply(w, table, list[done])
		})
		if err != nil {
			return err
		}
	}
}

// applied returns the number of migrations that the database has recorded.
func applied(w *Session, table string, list []migration.Migration) (int, error) {
	var one int
	found, err := w.One(hasTableQuery, []any{table}, &one)
	if err != nil || !found {
		return 0, err
	}
	var notes []migration.Note
	err = w.Each(`SELECT version, checksum FROM `+table+` ORDER BY version`, nil, func(scan func(...any) error) (bool, error) {
		var n migration.Note
		err := scan(&n.Version, &n.Checksum)
		notes = append(notes, n)
		return true, err
	})
	if err != nil {
		return 0, err
	}
	return migration.Applied(list, notes)
}

func apply(w *Session, table string, m migration.Migration) error {
	create := `CREATE TABLE IF NOT EXISTS ` + table + ` (
	version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied INTEGER NOT NULL)`
	for _, script := range []string{create, m.Script} {
		// Do not cache the script as a prepared statement, since it runs only once.
		if _, err := w.conn.ExecContext(context.Background(), script); err != nil {
			return fmt.Errorf("migration %s: %w", m.Name, err)
		}
	}
	_, err := w.Exec(`INSERT INTO `+table+` (version, name, checksum, applied) VALUES (?, ?, ?, ?)`,
		m.Version, m.Name, m.Checksum, time.Now().UnixMicro())
	return err
}
