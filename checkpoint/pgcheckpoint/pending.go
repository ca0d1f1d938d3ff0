package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// putWritesQuery has the parameters tenant, thread, owner, epoch and time of a lease;
// namespace and id; tasks, numbers and data.
const putWritesQuery = `SELECT weft.cp_put_writes($1::text, $2::text, $3::uuid, $4::int, $5::float8,
	$6::text, $7::uuid, $8::text[], $9::bigint[], $10::bytea[])`

// putMarkedQuery has the parameters of putWritesQuery, and the changes of the thread's status.
const putMarkedQuery = `SELECT weft.cp_put_marked($1::text, $2::text, $3::uuid, $4::int, $5::float8,
	$6::text, $7::uuid, $8::text[], $9::bigint[], $10::bytea[], $11::text::jsonb)`

// PutWrites implements [checkpoint.Store].
func (s *Store) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	return s.putWrites(ctx, k, writes, nil)
}

func (s *Store) putWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write, l *lease) error {
	if err := checkpoint.CheckWrites(k, writes, s.maxValue); err != nil {
		return err
	}
	w, err := packWrites(k, writes)
	if err != nil {
		return s.fail("put writes", k, err)
	}
	args := []any{
		s.tenant, k.Thread, l.ownerID(), l.number(), s.leaseTime.Seconds(),
		k.Namespace, packID(k.ID).uuid, w.tasks, w.numbers, w.data,
	}
	text := putWritesQuery
	if k.Namespace == "" {
		marks, err := markChanges(writes)
		if err != nil {
			return s.fail("put writes", k, err)
		}
		if marks != nil {
			text, args = putMarkedQuery, append(args, marks)
		}
	}
	var status int
	err = s.query(ctx, text, args, func(rows pgx.Rows) error { return rows.Scan(&status) })
	if err == nil {
		err = statusError(status)
	}
	if err != nil {
		return s.fail("put writes", k, err)
	}
	return nil
}

func statusError(status int) error {
	switch status {
	case statusDone:
		return nil
	case statusNotFound:
		return checkpoint.ErrNotFound
	case statusFenced:
		return ErrFenced
	}
	return checkpoint.ErrConflict
}

// packedWrites holds pending writes in columns.
type packedWrites struct {
	tasks   []string
	numbers []int64
	data    [][]byte
}

// packWrites packs writes into columns. It omits a write if a later write of the same call
// replaces it.
func packWrites(k checkpoint.Key, writes []checkpoint.Write) (*packedWrites, error) {
	if err := checkKey(k); err != nil {
		return nil, err
	}
	type place struct {
		task  string
		index int
	}
	p := &packedWrites{tasks: []string{}, numbers: []int64{}, data: [][]byte{}}
	at := make(map[place]int, len(writes))
	for i := range writes {
		w := &writes[i]
		data := tie(packChanges([]checkpoint.Change{{Channel: w.Channel, Kind: w.Kind, Data: w.Data}}),
			writeSum(k.ID, w.Task, int64(w.Index)))
		if j, ok := at[place{w.Task, w.Index}]; ok {
			p.data[j] = data
			continue
		}
		if err := checkName("task", w.Task); err != nil {
			return nil, err
		}
		at[place{w.Task, w.Index}] = len(p.data)
		p.tasks, p.numbers, p.data = append(p.tasks, w.Task), append(p.numbers, int64(w.Index)), append(p.data, data)
	}
	return p, nil
}

// unpack returns the pending writes of a checkpoint, in the order of the columns.
func (p *packedWrites) unpack(id string) ([]checkpoint.Write, error) {
	if len(p.tasks) != len(p.numbers) || len(p.tasks) != len(p.data) {
		return nil, fmt.Errorf("the columns of its pending writes differ in length: %w", checkpoint.ErrCorrupt)
	}
	if len(p.tasks) == 0 {
		return nil, nil
	}
	writes := make([]checkpoint.Write, 0, len(p.tasks))
	for i, task := range p.tasks {
		untie(p.data[i], writeSum(id, task, p.numbers[i]))
		changes, err := unpackChanges(p.data[i])
		if err == nil && len(changes) != 1 {
			err = checkpoint.ErrCorrupt
		}
		if err != nil {
			return nil, fmt.Errorf("pending write %d of task %q: %w", p.numbers[i], task, err)
		}
		c := &changes[0]
		writes = append(writes, checkpoint.Write{
			Task: task, Index: int(p.numbers[i]), Channel: c.Channel, Kind: c.Kind, Data: c.Data,
		})
	}
	return writes, nil
}
