package pgruns

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/server/runs"
)

const (
	putTask = `INSERT INTO weft.run_task (thread, id, checkpoint, data) VALUES ($1, $2, $3, $4)
	ON CONFLICT (thread, id) DO UPDATE SET data = excluded.data`
	getTasks  = `SELECT id, checkpoint, data FROM weft.run_task WHERE thread = $1 AND checkpoint = ANY($2::text[]) ORDER BY key`
	copyTasks = `INSERT INTO weft.run_task (thread, id, checkpoint, data)
	SELECT $2::text, id, checkpoint, data FROM weft.run_task WHERE thread = $1 ORDER BY key
	ON CONFLICT (thread, id) DO UPDATE SET data = excluded.data`
)

// PutTasks implements [runs.Store].
func (s *Store) PutTasks(ctx context.Context, thread string, tasks []runs.Task) error {
	list := make([]statement, len(tasks))
	for i, t := range tasks {
		list[i] = statement{putTask, []any{thread, t.ID, t.Checkpoint, []byte(t.Data)}}
	}
	if err := s.exec(ctx, pgdb.AnyFault, list...); err != nil {
		return s.fail("put tasks", err)
	}
	return nil
}

// Tasks implements [runs.Store].
func (s *Store) Tasks(ctx context.Context, thread string, checkpoints ...string) (tasks []runs.Task, err error) {
	if checkpoints == nil {
		checkpoints = []string{}
	}
	err = s.rows(ctx, s.timeout, pgdb.AnyFault, getTasks, []any{thread, checkpoints}, func() { tasks = nil }, func(rows pgx.Rows) error {
		var t runs.Task
		var data []byte
		err := rows.Scan(&t.ID, &t.Checkpoint, &data)
		t.Data = data
		tasks = append(tasks, t)
		return err
	})
	if err != nil {
		return nil, s.fail("tasks", err)
	}
	return tasks, nil
}

// CopyTasks implements [runs.Store].
func (s *Store) CopyTasks(ctx context.Context, from, to string) error {
	if err := s.exec(ctx, pgdb.AnyFault, statement{copyTasks, []any{from, to}}); err != nil {
		return s.fail("copy tasks", err)
	}
	return nil
}
