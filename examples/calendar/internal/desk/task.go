package desk

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Task is a task as a model sees it.
type Task struct {
	ID    int64  `json:"task_id"`
	Title string `json:"title"`
	Due   string `json:"due,omitempty"`
	Done  string `json:"done,omitempty"`
}

func (d *Desk) tasks(ctx context.Context, where string, args ...any) ([]Task, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT id, title, due, done FROM tasks WHERE `+where+` ORDER BY done <> '', due = '', due, id LIMIT 50`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []Task{}
	for rows.Next() {
		var t Task
		if err := rows.Scan(&t.ID, &t.Title, &t.Due, &t.Done); err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	return found, rows.Err()
}

type tasksInput struct {
	Done bool `json:"done,omitempty" jsonschema:"those that are done as well"`
}

func (d *Desk) listTasks(ctx context.Context, in tasksInput) ([]Task, error) {
	return d.tasks(ctx, `done = '' OR ?`, in.Done)
}

func (d *Desk) searchTasks(ctx context.Context, in wordsInput) ([]Task, error) {
	where, args := allWords(in.Query, "title")
	return d.tasks(ctx, where, args...)
}

type taskInput struct {
	Title string `json:"title"`
	Due   string `json:"due,omitempty" jsonschema:"a date or a time"`
}

// due converts the due date or time of a task to its stored form.
func (d *Desk) due(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	t, day, err := d.parseTime(text)
	if day {
		return t.Format(time.DateOnly), err
	}
	return t.Format(localTime), err
}

func (d *Desk) createTask(ctx context.Context, in taskInput) (json.RawMessage, error) {
	due, err := d.due(in.Due)
	if err != nil || strings.TrimSpace(in.Title) == "" {
		return nil, errors.Join(err, errors.New("a task has a title, and may have a date"))
	}
	answer, err := d.effect(ctx, func(tx *sql.Tx) (string, error) {
		t := Task{Title: in.Title, Due: due}
		// Choose the id here, so that the stored answer contains it.
		err := tx.QueryRowContext(ctx, `SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'tasks'), 0) + 1`).Scan(&t.ID)
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO tasks (id, title, due) VALUES (?, ?, ?)`, t.ID, t.Title, t.Due)
		}
		text, jsonErr := json.Marshal(t)
		return string(text), errors.Join(err, jsonErr)
	}, func(*sql.Tx) error { return nil })
	return json.RawMessage(answer), err
}

type taskID struct {
	ID int64 `json:"task_id"`
}

func taskOf(ctx context.Context, tx *sql.Tx, id int64) (t Task, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id, title, due, done FROM tasks WHERE id = ?`, id).Scan(&t.ID, &t.Title, &t.Due, &t.Done)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("there is no task %d", id)
	}
	return t, err
}

func (d *Desk) changeTask(ctx context.Context, id int64, answer, statement string, args ...any) (string, error) {
	return d.effect(ctx, func(tx *sql.Tx) (string, error) {
		_, err := taskOf(ctx, tx, id)
		return answer, err
	}, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, append(args, id)...)
		return err
	})
}

func (d *Desk) completeTask(ctx context.Context, in taskID) (string, error) {
	return d.changeTask(ctx, in.ID, "Task done", `UPDATE tasks SET done = ? WHERE id = ?`, d.now().Format(localTime))
}

func (d *Desk) deleteTask(ctx context.Context, in taskID) (string, error) {
	return d.changeTask(ctx, in.ID, "Task deleted", `DELETE FROM tasks WHERE id = ?`)
}

type taskChange struct {
	ID    int64   `json:"task_id"`
	Title *string `json:"title,omitempty"`
	Due   *string `json:"due,omitempty" jsonschema:"a date or a time; empty for none"`
}

func (d *Desk) updateTask(ctx context.Context, in taskChange) (string, error) {
	if in.Due != nil {
		due, err := d.due(*in.Due)
		if err != nil {
			return "", err
		}
		in.Due = &due
	}
	return d.changeTask(ctx, in.ID, "Task changed", `UPDATE tasks SET title = coalesce(?, title), due = coalesce(?, due) WHERE id = ?`, in.Title, in.Due)
}
