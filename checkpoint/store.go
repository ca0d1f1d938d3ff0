package checkpoint

import (
	"context"
	"iter"
	"time"
)

// A Store keeps the checkpoints of threads. It is safe for concurrent use. The caller
// owns the values that a method returns. A store does not modify or retain its
// arguments.
type Store interface {
	// Put adds a checkpoint and makes it the newest of its thread and namespace. The
	// argument head is the id of the newest checkpoint that the caller knows; empty
	// means that there is none. If another checkpoint is the newest, or if c.ID
	// exists, Put stores nothing and returns [ErrConflict]. c.Parent may be an older
	// checkpoint than head, which forks the thread. Put returns [ErrNotFound] if the
	// parent does not exist in the namespace. If c.Settles is set, Put deletes the
	// pending writes of the parent in the same transaction. Put stores nothing if
	// [Checkpoint.Check] returns an error, and returns that error.
	//
	// Put succeeds and changes nothing if the newest checkpoint has the same id and parent.
	// So a caller may repeat a Put whose result it does not know.
	Put(ctx context.Context, c Checkpoint, head string) error

	// PutWrites adds pending writes to the checkpoint k, either all or none. A write
	// replaces an earlier one with the same task and index. PutWrites returns
	// [ErrNotFound] if the checkpoint does not exist. It stores nothing if
	// [CheckWrites] returns an error, and returns that error. k.ID must not be empty.
	PutWrites(ctx context.Context, k Key, writes []Write) error

	// Get returns a checkpoint with its lineage and its pending writes. If k.ID is
	// empty, it returns the newest checkpoint of the namespace. It returns
	// [ErrNotFound] if the checkpoint does not exist, and [ErrInvalid] for an empty thread.
	Get(ctx context.Context, k Key) (Checkpoint, error)

	// List yields the checkpoints of a thread, newest first, without Changes, Snapshot
	// and Lineage. A thread that does not exist has no checkpoints. After an error, List
	// yields nothing more. For an invalid query, it yields the error of [Query.Check].
	//
	// The caller may call the store inside the loop, also to write to the same thread, and
	// may leave the loop at any time. So List holds no lock and no transaction while it
	// yields: it reads page after page. Its use of memory should not depend on the number
	// of checkpoints.
	List(ctx context.Context, q Query) iter.Seq2[Checkpoint, error]

	// DeleteThread removes all namespaces of a thread. It succeeds if the thread does
	// not exist, and returns [ErrInvalid] for an empty thread.
	DeleteThread(ctx context.Context, thread string) error
}

// A Key names a checkpoint.
type Key struct {
	// Thread is the id of the conversation, job or session.
	Thread string
	// Namespace is empty for the graph that was invoked. For a subgraph, it is the
	// path of the subgraph's task.
	Namespace string
	// ID is unique in the thread. Empty means the newest checkpoint.
	ID string
}

// A Source says why a checkpoint was made.
type Source string

// The sources of a checkpoint.
const (
	Input  Source = "input"  // a run began with new input
	Loop   Source = "loop"   // a superstep ended
	Edited Source = "update" // the state was updated outside of a run
	Fork   Source = "fork"   // a run began again from the parent
)

// A Checkpoint is the state of a thread between two supersteps. It is stored as the
// changes of one step since its parent.
type Checkpoint struct {
	Key
	// Parent is the id of the checkpoint that this one follows; empty for the first.
	Parent string
	// Step counts supersteps since the thread began, including inputs and updates.
	Step int
	// Source says why the checkpoint was made.
	Source Source
	// Run is the id of the run that wrote the checkpoint.
	Run string
	// Version is the version of the graph that wrote the checkpoint.
	Version string
	// Metadata is defined by the caller. A [Query] can filter by it.
	Metadata map[string]string
	// Control is the state that the engine needs to resume. A store does not interpret it.
	// It may return nil for an empty slice, here and in the data of changes and writes.
	Control []byte
	// Changes are the changes of this step to the channels, in order.
	Changes []Change
	// Snapshot, if not nil, has the changes that build the whole state of this checkpoint
	// from an empty state. A lineage that includes the checkpoint begins with it.
	Snapshot []Change
	// Settles means that this checkpoint includes the pending writes of its parent,
	// which Put then deletes. A store does not keep this field.
	Settles bool

	// Time is the time at which the store accepted the checkpoint. Put ignores it.
	Time time.Time
	// Lineage holds the changes from which the state is rebuilt, oldest first. It
	// begins at the nearest snapshot or the first checkpoint, and ends with this
	// checkpoint. Get sets it; Put ignores it.
	Lineage []Delta
	// Writes are the pending writes, ordered by task and index. Get sets them, and
	// List if the [Query] asks for them; Put ignores them.
	Writes []Write
}

// A Delta is one checkpoint's part of a lineage.
type Delta struct {
	// ID is the id of the checkpoint.
	ID string
	// Source says why the checkpoint was made.
	Source Source
	// Snapshot means that Changes build the whole state from an empty state.
	Snapshot bool
	// Changes are in the order in which they apply.
	Changes []Change
}

// A Change is the stored form of a change to one channel.
type Change struct {
	// Channel is the name of the channel.
	Channel string
	// Kind says how Data applies; see package state. A store does not interpret it.
	Kind uint8
	// Data is not interpreted by a store.
	Data []byte
}

// A Write is a pending write: a part of the stored result of a task whose superstep has
// not ended, a question or an answer.
type Write struct {
	// Task is the id of the task. Empty means the caller of the run.
	Task string
	// Index distinguishes the writes of a task. It may be negative.
	Index int
	// Channel is the name of a channel, or a name that begins with "$" for a mark of
	// the engine.
	Channel string
	// Kind says how Data applies. The last write of a task's result also has the bit 0x80.
	// A store does not interpret it.
	Kind uint8
	// Data is not interpreted by a store.
	Data []byte
}

// A Query selects checkpoints of a thread.
type Query struct {
	// Thread is required.
	Thread string
	// Namespace is the namespace to list. AllNamespaces lists all of them.
	Namespace     string
	AllNamespaces bool
	// Before, if set, selects checkpoints that were stored before the checkpoint with
	// this id, which may be in any namespace. List returns [ErrNotFound] if the id
	// does not exist in the thread.
	Before string
	// Source, Run and Step select the checkpoints with these values. Empty and nil
	// select all.
	Source Source
	Run    string
	Step   *int
	// Metadata selects checkpoints that have all of these pairs.
	Metadata map[string]string
	// Limit is the largest number of checkpoints to yield. Zero means no limit.
	Limit int
	// Writes asks for the pending writes too.
	Writes bool
}
