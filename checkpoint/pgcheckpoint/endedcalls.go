package pgcheckpoint

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/weft-go/weft/checkpoint"
)

const (
	// spacesQuery has one parameter, the key of the thread.
	spacesQuery = `SELECT key, name FROM weft.cp_space WHERE thread = $1::bigint`

	// callersQuery has two parameters, the key of the thread and the ids of checkpoints.
	callersQuery = `SELECT id, seq FROM weft.cp_step WHERE thread = $1::bigint AND id = ANY ($2::uuid[])`
)

// A call is one call of a subgraph. It has its own namespace.
type call struct {
	caller string      // the namespace of the checkpoint at which the call was made
	at     pgtype.UUID // the id of that checkpoint
}

// markEndedCalls marks the checkpoints of subgraph calls that cannot be resumed. A call
// cannot be resumed if the checkpoint at which it was made is marked or missing, or belongs
// to another such call. A checkpoint with a tag is kept.
func (s *Store) markEndedCalls(ctx context.Context, tx *link, key int64, nodes []node) error {
	spaces, err := s.readSpaces(ctx, tx, key)
	if err != nil {
		return err
	}
	calls := callsOf(spaces)
	if len(calls) == 0 {
		return nil
	}
	kept, err := s.readKept(ctx, tx, key, nodes, spaces, calls)
	if err != nil {
		return err
	}
	ended := map[int32]bool{} // by key of the call's namespace
	for space, name := range spaces {
		for c, ok := calls[name]; ok; c, ok = calls[c.caller] {
			if !kept[c] {
				ended[space] = true
				break
			}
		}
	}
	for i := range nodes {
		n := &nodes[i]
		n.remove = n.remove || ended[n.space] && !n.tagged
	}
	return nil
}

// readSpaces returns the names of the namespaces by key, without the root namespace. The
// root namespace has the key 0 and the empty name.
func (s *Store) readSpaces(ctx context.Context, tx *link, key int64) (map[int32]string, error) {
	spaces := map[int32]string{}
	err := tx.query(ctx, s.sql(spacesQuery), []any{key}, func(rows pgx.Rows) error {
		var space int32
		var name string
		err := rows.Scan(&space, &name)
		spaces[space] = name
		return err
	})
	return spaces, err
}

// callsOf returns the calls of subgraphs by namespace. It includes the calls to which the
// given namespaces belong, and the calls in which those calls are nested.
func callsOf(spaces map[int32]string) map[string]call {
	calls := map[string]call{}
	for _, name := range spaces {
		for caller, id, ok := checkpoint.CalledAt(name); ok; caller, id, ok = checkpoint.CalledAt(name) {
			calls[name] = call{caller, optionalID(id)}
			name = caller
		}
	}
	return calls
}

// readKept returns the calls that were made at a checkpoint which exists and is not marked.
func (s *Store) readKept(
	ctx context.Context, tx *link, key int64, nodes []node, spaces map[int32]string, calls map[string]call,
) (map[call]bool, error) {
	index := make(map[int32]*node, len(nodes))
	for i := range nodes {
		index[nodes[i].seq] = &nodes[i]
	}
	ids := make([]pgtype.UUID, 0, len(calls))
	for _, c := range calls {
		ids = append(ids, c.at)
	}
	kept := map[call]bool{}
	err := tx.query(ctx, s.sql(callersQuery), []any{key, ids}, func(rows pgx.Rows) error {
		var id pgtype.UUID
		var seq int32
		if err := rows.Scan(&id, &seq); err != nil {
			return err
		}
		if n := index[seq]; n != nil && !n.remove {
			kept[call{spaces[n.space], id}] = true
		}
		return nil
	})
	return kept, err
}
