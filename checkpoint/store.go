package checkpoint

import (
	"context"
	"iter"
	"time"
)

// A Store keeps the checkpoints of threads. Its methods may be called at the
// same time by any number of goroutines. What a method returns belongs to the
// caller; what it is given, a store does not change and does not keep.
type Store interface {
	// Put adds a checkpoint and makes it the newest of its thread and
	// namespace. Head is the id of the checkpoint that the caller believes to
	// be the newest, empty for none; if another one is, or if c.ID exists, Put
	// stores nothing and returns [ErrConflict]. c.Parent may name an older
	// checkpoint than head: that forks the thread. A parent that does not
	// exist in the namespace is an [ErrNotFound]. When c.Settles is set, the
	// pending writes of the parent are dropped in the same transaction. What
	// [Checkpoint.Check] refuses is stored neither.
	//
	// Putting the newest checkpoint once more, with the same id and parent,
	// succeeds and changes nothing, so that a caller who does not know whether
	// a Put took effect may repeat it.
	Put(ctx context.Context, c Checkpoint, head string) error

	// PutWrites adds pending writes to the checkpoint k, all of them or none.
	// A write with the task and index of an earlier one replaces it. It
	// returns [ErrNotFound] if there is no such checkpoint, and what
	// [CheckWrites] refuses is stored neither: k.ID may not be empty here.
	PutWrites(ctx context.Context, k Key, writes []Write) error

	// Get returns a checkpoint with its lineage and its pending writes, or the
	// newest one of the namespace when k.ID is empty. It returns [ErrNotFound]
	// if there is none.
	Get(ctx context.Context, k Key) (Checkpoint, error)

	// List yields a thread's checkpoints, newest first, as it reads them:
	// memory does not grow with their number. They come without Changes,
	// Snapshot and Lineage. A thread that does not exist has none. An error is
	// the last pair.
	List(ctx context.Context, q Query) iter.Seq2[Checkpoint, error]

	// DeleteThread removes a thread in all its namespaces. A thread that does
	// not exist is no error.
	DeleteThread(ctx context.Context, thread string) error
}

// A Key names a checkpoint.
type Key struct {
	// Thread is the id of the conversation, job or session.
	Thread string
	// Namespace is empty for the graph that was started, and the path of the
	// subgraph's task for what a subgraph stores.
	Namespace string
	// ID is unique in the thread. Empty stands for the newest.
	ID string
}

// A Source says what made a checkpoint.
type Source string

// The sources of a checkpoint.
const (
	Input  Source = "input"  // a run began with new input
	Loop   Source = "loop"   // a superstep ended
	Edited Source = "update" // the state was updated from outside
	Fork   Source = "fork"   // a run began again from its parent
)

// A Checkpoint is the state of a thread between two supersteps, held as what
// this step changed since its parent.
type Checkpoint struct {
	Key
	// Parent is the id of the checkpoint that this one follows; empty for the
	// first.
	Parent string
	// Step counts supersteps since the thread began, inputs and updates
	// included.
	Step int
	// Source says what made the checkpoint.
	Source Source
	// Run is the id of the run that wrote it.
	Run string
	// Version is that of the graph which wrote it.
	Version string
	// Metadata is the caller's own; [Query] can filter by it.
	Metadata map[string]string
	// Control is what the engine needs to go on. It is opaque to a store. Nil
	// and empty are the same, here and in the data of changes and writes.
	Control []byte
	// Changes are what this step did to each channel, in order.
	Changes []Change
	// Snapshot, when not nil, holds the changes that build the whole state of
	// this checkpoint from nothing. Lineages then start here.
	Snapshot []Change
	// Settles says that the pending writes of the parent are part of this
	// checkpoint, and can be dropped.
	Settles bool

	// Time is when the store accepted the checkpoint. Put ignores it.
	Time time.Time
	// Lineage is what the state is rebuilt from, oldest first, this checkpoint
	// last. It starts at the nearest snapshot, or at the first checkpoint. Get
	// fills it; Put ignores it.
	Lineage []Delta
	// Writes are the pending writes, ordered by task and index. Get fills
	// them, List when asked to; Put ignores them.
	Writes []Write
}

// A Delta is one checkpoint's part of a lineage.
type Delta struct {
	// ID is the checkpoint's.
	ID string
	// Source is what made that checkpoint.
	Source Source
	// Snapshot says that Changes build the whole state from nothing.
	Snapshot bool
	// Changes are in the order in which they apply.
	Changes []Change
}

// A Change is the stored form of what happened to one channel.
type Change struct {
	// Channel is the name of the channel.
	Channel string
	// Kind says how Data applies; see package state. A store keeps it as it is.
	Kind uint8
	// Data is opaque to a store.
	Data []byte
}

// A Write is a part of what a task of an unfinished superstep left behind: a
// result, a question, an answer.
type Write struct {
	// Task is the id of the task. Empty stands for the caller of the run.
	Task string
	// Index tells the writes of a task apart. It may be negative.
	Index int
	// Channel is the name of a channel, or one of the engine's own marks,
	// which begin with "$".
	Channel string
	// Kind says how Data applies.
	Kind uint8
	// Data is opaque to a store.
	Data []byte
}

// A Query selects checkpoints of a thread.
type Query struct {
	// Thread is required.
	Thread string
	// Namespace is the one to list; AllNamespaces lists every one.
	Namespace     string
	AllNamespaces bool
	// Before, when set, keeps what was stored before the checkpoint of this
	// id, which may be of any namespace. An id that does not exist in the
	// thread is an [ErrNotFound].
	Before string
	// Source, Run and Step keep the checkpoints that have them, unless empty or nil.
	Source Source
	Run    string
	Step   *int
	// Metadata keeps the checkpoints that hold every one of these pairs.
	Metadata map[string]string
	// Limit is the most to yield. Zero means all.
	Limit int
	// Writes asks for the pending writes too.
	Writes bool
}
