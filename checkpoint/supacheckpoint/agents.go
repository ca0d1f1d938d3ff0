package supacheckpoint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Agents are JSON documents, one for each thread, in the table agent_checkpoints, for
// programs that keep an agent's state so. They have no history and no users: only the
// service role may touch them. It is safe for use by any number of goroutines.
type Agents struct{ store *Store }

const (
	getAgentQuery = `SELECT checkpoint_data::text FROM public.agent_checkpoints WHERE thread_id = $1::text`

	putAgentQuery = `INSERT INTO public.agent_checkpoints (thread_id, checkpoint_data) VALUES ($1::text, $2::text::jsonb)
	ON CONFLICT (thread_id) DO UPDATE SET checkpoint_data = excluded.checkpoint_data, updated_at = now()`

	deleteAgentQuery = `DELETE FROM public.agent_checkpoints WHERE thread_id = $1::text`
)

// Agents returns the documents of agents. [Options.Documents] makes their table. A store
// that is a user's has no access to them.
func (s *Store) Agents() (*Agents, error) {
	if s.tenant != "" {
		return nil, fmt.Errorf("supacheckpoint: agents: they belong to no user: %w", ErrRole)
	}
	return &Agents{s}, nil
}

// Get returns the document of a thread, or nil when there is none.
func (a *Agents) Get(ctx context.Context, thread string) (json.RawMessage, error) {
	data, err := a.store.document(ctx, getAgentQuery, thread)
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: get agent: thread %q: %w", thread, err)
	}
	return data, nil
}

// Put stores the document of a thread, in place of the one before. It may be any JSON.
func (a *Agents) Put(ctx context.Context, thread string, data json.RawMessage) error {
	err := checkThread(thread)
	if err == nil && !json.Valid(data) {
		err = fmt.Errorf("this is no JSON: %w", checkpoint.ErrInvalid)
	}
	if err == nil {
		err = a.store.query(ctx, putAgentQuery, []any{thread, string(data)}, ignoreRow)
	}
	if err != nil {
		return fmt.Errorf("supacheckpoint: put agent: thread %q: %w", thread, err)
	}
	return nil
}

// Delete removes the document of a thread. One that does not exist is no error.
func (a *Agents) Delete(ctx context.Context, thread string) error {
	err := checkThread(thread)
	if err == nil {
		err = a.store.query(ctx, deleteAgentQuery, []any{thread}, ignoreRow)
	}
	if err != nil {
		return fmt.Errorf("supacheckpoint: delete agent: thread %q: %w", thread, err)
	}
	return nil
}

// document reads a document, nil for none.
func (s *Store) document(ctx context.Context, sql, thread string, more ...any) (json.RawMessage, error) {
	if err := checkThread(thread); err != nil {
		return nil, err
	}
	var data json.RawMessage
	err := s.query(ctx, sql, append([]any{thread}, more...), func(rows pgx.Rows) error {
		var text string
		err := rows.Scan(&text)
		data = json.RawMessage(text)
		return err
	})
	return data, err
}
