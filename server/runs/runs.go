package runs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// The errors of a [Store]. Test for them with errors.Is.
var (
	// ErrNotFound is returned when there is no record with the given kind and id.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#runserrnotfound.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned when a new record has the id of another one.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#runserrexists.
	ErrExists = errors.New("exists already")
	// ErrConflict is returned when a record was changed since it was read, or when the numbers of
	// new events do not follow those of the log.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#runserrconflict.
	ErrConflict = errors.New("was changed meanwhile")
	// ErrInvalid is returned for a record that no store can keep; see [Record.Check].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#runserrinvalid.
	ErrInvalid = errors.New("is not valid")
)

// A Kind is a kind of record.
type Kind string

// The kinds of records.
const (
	Assistant Kind = "assistant" // a graph with a configuration
	Version   Kind = "version"   // a version of an assistant
	Thread    Kind = "thread"    // the server's data of a thread, besides its checkpoints
	Run       Kind = "run"       // a run of a thread
	Cron      Kind = "cron"      // a schedule of runs
)

// A Record is an object of a server. The fields besides Data can be searched. [Record.Check] has
// the limits of its texts.
type Record struct {
	Kind Kind
	// ID is unique among the records of its kind.
	ID string
	// Parent is the id of the thread of a run or cron, or of the assistant of a version.
	Parent string
	// Owner is the id of the user that owns the record. It is empty without authentication.
	Owner string
	// Graph, Name and Status are empty for kinds that do not have them.
	Graph, Name, Status string
	// Created and Updated are set by the caller, in microseconds.
	Created, Updated time.Time
	// Expires is the time after which the server may delete the record. Zero means never.
	Expires time.Time
	// Metadata is a JSON object. Empty means an object without keys.
	Metadata json.RawMessage
	// Data is JSON that the store does not interpret.
	Data json.RawMessage
	// Revision is 1 for a new record, and grows with each change. The store sets it.
	Revision int64
}

// An Order is a field by which records are sorted.
type Order string

// The orders of a [Query]. Records that are equal in the order are sorted by id.
const (
	ByID      Order = "id"
	ByCreated Order = "created"
	ByUpdated Order = "updated"
	ByName    Order = "name"
	ByStatus  Order = "status"
	ByGraph   Order = "graph"
	ByExpires Order = "expires" // only for a query with Expired
)

// A Query selects records of a kind. Empty fields select all.
type Query struct {
	Kind Kind
	// IDs selects the records with one of these ids, if it is not nil.
	IDs    []string
	Parent string
	// Owner selects the records with this Owner, if it is not nil. Unlike Filter, it compares a run's own Owner.
	Owner *string
	Graph string
	// Name selects records whose names contain it, ignoring case.
	Name     string
	Statuses []string
	// Metadata is a JSON object. It selects records whose metadata contains it: an object
	// contains another one if it has each of its keys with a value that contains the other
	// value; an array contains another one if it has an element that contains each of its
	// elements; any other value contains only itself. Numbers are compared by value.
	Metadata json.RawMessage
	// Filter selects the records that a user may see.
	Filter Filter
	// Expired selects the records that expire at this time or earlier.
	Expired time.Time
	Order   Order // empty means ByCreated
	Reverse bool  // reverses the whole order, also of equal records
	// Limit is the largest number of records; 0 means no limit. Offset skips the first records.
	Limit, Offset int
	// Uncounted says that the caller does not need the total. The total is then at least the number of returned records.
	Uncounted bool
}

// A Filter selects records by their owner and metadata. For a run, it compares the record of the thread. The zero value
// selects all records.
type Filter struct {
	// Owner selects the records of a user, if it is not nil.
	Owner *string
	// Metadata selects records as [Query.Metadata] does.
	Metadata json.RawMessage
	// IDs are the ids of records that are also selected, whatever their owner and metadata.
	IDs []string
}

// Has reports whether the filter selects a record. For a run, pass the record of its thread.
func (f *Filter) Has(r *Record) bool {
	return (f.Owner == nil || r.Owner == *f.Owner) && Contains(r.Metadata, f.Metadata) || slices.Contains(f.IDs, r.ID)
}

// Any reports whether the filter selects all records.
func (f *Filter) Any() bool { return f.Owner == nil && Contains(nil, f.Metadata) }

// An Event is an entry of the event log of a thread.
type Event struct {
	// Seq is the number of the event in its thread, from 1. The caller of [Store.Append] sets it. No number is used
	// twice, also after events were removed.
	Seq int64 `json:"seq"`
	// Run is the id of the run.
	Run  string    `json:"run"`
	Time time.Time `json:"time"`
	// Kind and Data are defined by package server.
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
	// Path names the subgraph of the event: one "node:task" for each level, outermost first, separated by "|".
	Path string `json:"path,omitempty"`
	// Node and Task are the node and the id of the task, if the event belongs to one.
	Node string `json:"node,omitempty"`
	Task string `json:"task,omitempty"`
	// Step is the number of the superstep of the task.
	Step int `json:"step,omitempty"`
}

// A Task is the result of a task of a checkpoint. It is kept as long as its thread.
type Task struct {
	// ID is the id of the task, and Checkpoint the checkpoint at which it was due.
	ID, Checkpoint string
	// Data is JSON that the store does not interpret.
	Data json.RawMessage
}

// Bounds select the events of a log to keep: the newest ones, within all bounds that are not zero.
type Bounds struct {
	// Since removes the events before this time.
	Since time.Time
	// Events is the largest number of events of a log.
	Events int
	// Bytes is the largest size of the data of the events of a log.
	Bytes int64
}

// A Store keeps the records and event logs of a server. It is safe for concurrent use. A call that returned without an
// error has stored its changes. A call whose context has ended returns its error soon. The caller and the store share no
// memory: each may change values after it has passed them to the other.
//
// If the store cannot be used for some time, for example in an outage of its database, the error or a wrapped error has a
// method Unavailable() bool that returns true. The server then answers with status 503.
type Store interface {
	// Insert adds new records, all or none. It returns [ErrExists] if there is a record of the
	// same kind and id, and [ErrInvalid] for a record that no store can keep.
	Insert(ctx context.Context, records ...Record) error
	// Get returns a record, or [ErrNotFound].
	Get(ctx context.Context, kind Kind, id string) (Record, error)
	// Update replaces a record and returns its new revision. It returns [ErrConflict] if the
	// stored record has another revision, and [ErrNotFound] if there is none.
	Update(ctx context.Context, r Record) (revision int64, err error)
	// Delete removes a record, or returns [ErrNotFound]. With a thread, it also removes its runs, tasks and events, with
	// a run its events, and with an assistant its versions.
	Delete(ctx context.Context, kind Kind, id string) error
	// Search returns the records that a query selects, and the number of records that it would select without Limit and
	// Offset.
	Search(ctx context.Context, q Query) (records []Record, total int, err error)

	// Append adds events to the log of a thread and replaces records, as Update does: all or nothing. The number of the
	// first event must be one more than Last returns, and each further number one more than the previous one. Otherwise
	// Append returns [ErrConflict].
	Append(ctx context.Context, thread string, events []Event, replaced ...Record) error
	// Events returns events of a thread with higher numbers than after, in order. A limit of 0
	// means all.
	Events(ctx context.Context, thread string, after int64, limit int) ([]Event, error)
	// Last returns the number of the last event that was appended to the log of a thread, even if the event has been
	// removed, and the highest number of the events that Trim has removed from the log. They are 0 if there never was
	// such an event.
	Last(ctx context.Context, thread string) (last, trimmed int64, err error)
	// Trim removes the oldest events of the log of a thread, until the log is within bounds. It returns the number of
	// removed events. An empty thread means all logs.
	Trim(ctx context.Context, thread string, keep Bounds) (int, error)

	// PutTasks adds tasks of a thread. It replaces the data of tasks with the same id.
	PutTasks(ctx context.Context, thread string, tasks []Task) error
	// Tasks returns the tasks of checkpoints of a thread, in the order in which they were added.
	Tasks(ctx context.Context, thread string, checkpoints ...string) ([]Task, error)
	// CopyTasks copies the tasks of a thread to another one.
	CopyTasks(ctx context.Context, from, to string) error
}
