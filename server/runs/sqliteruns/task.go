package sqliteruns

import (
	"context"
	"encoding/json"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/server/runs"
)

const (
	putTask = `INSERT INTO run_task (thread, id, checkpoint, data) VALUES (?, ?, ?, ?)
	ON CONFLICT (thread, id) DO UPDATE SET data = excluded.data`
	getTasks = `SELECT id, checkpoint, data FROM run_task WHERE thread = ? AND checkpoint IN (SELECT value FROM json_each(?)) ORDER BY key`
	// Because of the WHERE clause, SQLite parses ON as a part of the INSERT and not of a join.
	copyTasks = `INSERT INTO run_task (thread, id, checkpoint, data) SELECT ?, id, checkpoint, data FROM run_task WHERE thread = ? AND true ORDER BY key
	ON CONFLICT (thread, id) DO UPDATE SET data = excluded.data`
)

// PutTasks implements [runs.Store].
func (s *Store) PutTasks(ctx context.Context, thread string, tasks []runs.Task) error {
	return s.change(ctx, "put tasks", func(w *sqlitedb.Session) error {
		for _, t := range tasks {
			if _, err := w.Exec(putTask, thread, t.ID, t.Checkpoint, []byte(t.Data)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tasks implements [runs.Store].
func (s *Store) Tasks(ctx context.Context, thread string, checkpoints ...string) (tasks []runs.Task, err error) {
	list, err := json.Marshal(checkpoints)
	if err != nil {
		return nil, s.fail("tasks", err)
	}
	err = s.read(ctx, "tasks", func(q *sqlitedb.Session) error {
		tasks = nil
		return q.Each(getTasks, []any{thread, string(list)}, func(scan func(...any) error) (bool, error) {
			var t runs.Task
			var data []byte
			err := scan(&t.ID, &t.Checkpoint, &data)
			t.Data = data
			tasks = append(tasks, t)
			return true, err
		})
	})
	return tasks, err
}

// CopyTasks implements [runs.Store].
func (s *Store) CopyTasks(ctx context.Context, from, to string) error {
	return s.change(ctx, "copy tasks", func(w *sqlitedb.Session) error {
		_, err := w.Exec(copyTasks, to, from)
		return err
	})
}
