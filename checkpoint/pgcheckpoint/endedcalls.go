package pgcheckpoint

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/weft-go/weft/checkpoint"
)

const (
	// spacesQuery has one parameter, the keys of threads.
	spacesQuery = `SELECT thread, key, name FROM weft.cp_space WHERE thread = ANY ($1::bigint[])`

	// callersQuery has two parameters, the keys of threads and the ids of checkpoints.
	callersQuery = `SELECT id, thread, seq FROM weft.cp_step WHERE thread = ANY ($1::bigint[]) AND id = ANY ($2::uuid[])`
)

// A call is one call of a subgraph. It has its own namespace.
type call struct {
	thread int64
	caller string      // the namespace of the checkpoint at which the call was made
	at     pgtype.UUID // the id of that checkpoint
}

// markEndedCalls marks the checkpoints of subgraph calls that cannot be resumed. A call
// cannot be resumed if the checkpoint at which it was made is marked or missing, or belongs
// to another such call. A checkpoint with a tag is kept.
func (s *Store) markEndedCalls(ctx context.Context, tx *link, keys []int64, nodes []node) error {
	spaces, err := s.readSpaces(ctx, tx, keys)
	if err != nil {
		return err
	}
	calls := callsOf(spaces)
	if len(calls) == 0 {
		return nil
	}
	kept, err := s.readKept(ctx, tx, nodes, spaces, calls)
	if err != nil {
		return err
	}
	ended := map[place]bool{} // by the call's namespace
	for at, space := range spaces {
		for c, ok := calls[space]; ok; c, ok = calls[namespace{space.thread, c.caller}] {
			if !kept[c] {
				ended[at] = true
				break
			}
		}
	}
	for i := range nodes {
		n := &nodes[i]
		n.remove = n.remove || ended[place{n.thread, n.space}] && !n.tagged
	}
	return nil
}

// A namespace is a namespace of a thread.
type namespace struct {
	thread int64
	name   string
}

// readSpaces returns the namespaces of threads, without the root namespaces. A root namespace
// has the key 0 and the empty name.
func (s *Store) readSpaces(ctx context.Context, tx *link, keys []int64) (map[place]namespace, error) {
	spaces := map[place]namespace{}
	err := tx.query(ctx, s.sql(spacesQuery), []any{keys}, func(rows pgx.Rows) error {
		var at place
		var name string
		err := rows.Scan(&at.thread, &at.number, &name)
		spaces[at] = namespace{at.thread, name}
		return err
	})
	return spaces, err
}

// callsOf returns the calls of subgraphs by namespace. It includes the calls to which the
// given namespaces belong, and the calls in which those calls are nested.
func callsOf(spaces map[place]namespace) map[namespace]call {
	calls := map[namespace]call{}
	for _, space := range spaces {
		name := space.name
		for caller, id, ok := checkpoint.CalledAt(name); ok; caller, id, ok = checkpoint.CalledAt(name) {
			calls[namespace{space.thread, name}] = call{space.thread, caller, optionalID(id)}
			name = caller
		}
	}
	return calls
}

// readKept returns the calls that were made at a checkpoint which exists and is not marked.
func (s *Store) readKept(
	ctx context.Context, tx *link, nodes []node, spaces map[place]namespace, calls map[namespace]call,
) (map[call]bool, error) {
	index := make(map[place]*node, len(nodes))
	for i := range nodes {
		index[place{nodes[i].thread, nodes[i].seq}] = &nodes[i]
	}
	ids, threads := make([]pgtype.UUID, 0, len(calls)), map[int64]bool{}
	for _, c := range calls {
		ids, threads[c.thread] = append(ids, c.at), true
	}
	kept := map[call]bool{}
	args := []any{slices.Collect(maps.Keys(threads)), ids}
	err := tx.query(ctx, s.sql(callersQuery), args, func(rows pgx.Rows) error {
		var id pgtype.UUID
		var at place
		if err := rows.Scan(&id, &at.thread, &at.number); err != nil {
			return err
		}
		if n := index[at]; n != nil && !n.remove {
			kept[call{at.thread, spaces[place{at.thread, n.space}].name, id}] = true
		}
		return nil
	})
	return kept, err
}
