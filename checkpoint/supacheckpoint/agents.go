package supacheckpoint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Agents stores one JSON document per thread in the table agent_checkpoints. The
// documents have no history and no users; only the service role has access. Agents is
// safe for concurrent use.
type Agents struct{ store *Store }

const (
	getAgentQuery = `SELECT checkpoint_data::text FROM public.agent_checkpoints WHERE thread_id = $1::text`

	putAgentQuery = `INSERT INTO public.agent_checkpoints (thread_id, checkpoint_data) VALUES ($1::text, $2::text::jsonb)
	ON CONFLICT (thread_id) DO UPDATE SET checkpoint_data = excluded.checkpoint_data, updated_at = now()`

	deleteAgentQuery = `DELETE FROM public.agent_checkpoints WHERE thread_id = $1::text`
)

// Agents returns access to the documents of agents. [Options.Documents] creates their table.
// Agents returns [ErrRole] for the store of a user.
func (s *Store) Agents() (*Agents, error) {
	if s.tenant != "" {
		return nil, fmt.Errorf("supacheckpoint: agents: a store of a user has no access; call Agents on the store of the service: %w", ErrRole)
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

// Put stores the document of a thread and replaces the previous one. The document may
// be any JSON value.
func (a *Agents) Put(ctx context.Context, thread string, data json.RawMessage) error {
	err := checkThread(thread)
	if err == nil && !json.Valid(data) {
		err = fmt.Errorf("the document is not JSON: %w", checkpoint.ErrInvalid)
	}
	if err == nil {
		err = a.store.query(ctx, putAgentQuery, []any{thread, string(data)}, ignoreRow)
	}
	if err != nil {
		return fmt.Errorf("supacheckpoint: put agent: thread %q: %w", thread, err)
	}
	return nil
}

// Delete removes the document of a thread. It returns nil if there is none.
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

// document reads a document. It returns nil if there is none.
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
