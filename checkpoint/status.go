package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/internal/mark"
)

// A StatusLister is a [Store] that can list the threads that wait or have failed, without
// reading their checkpoints.
type StatusLister interface {
	// ListStatus yields the nodes at which threads wait or have failed, ordered by node and
	// then by thread. A thread is yielded once for each of its nodes. The query has to be
	// valid; see [StatusQuery.Check]. An error with a thread is about that thread alone, and the
	// caller may continue the loop. Such an entry has no node, so it comes first.
	ListStatus(ctx context.Context, q StatusQuery) iter.Seq2[ThreadStatus, error]
}

// A Status says why a thread does not continue.
type Status string

// The statuses that a [StatusLister] lists. The pending writes of the newest checkpoint of
// the root namespace decide; see [Marks]. While a run resumes the thread, the status stays
// until the run has stored the next checkpoint, or the result of the task.
const (
	Paused Status = "paused" // a task asked a question, or the run reached a static pause
	Failed Status = "failed" // a task returned an error
)

// A StatusQuery selects the threads that a [StatusLister] lists.
type StatusQuery struct {
	// Status is required.
	Status Status
	// Node selects the threads that wait, or have failed, at this node. Empty means any node.
	Node string
	// After selects the entries that follow this entry of an earlier list. Only its fields
	// Node and Thread count. The zero value selects all entries.
	After ThreadStatus
	// Limit is the largest number of entries to yield. Zero means no limit.
	Limit int
}

// Check returns [ErrInvalid] if the status is neither [Paused] nor [Failed], or the limit is
// negative. It is for implementers of [StatusLister].
func (q StatusQuery) Check() error {
	switch {
	case q.Status != Paused && q.Status != Failed:
		return fmt.Errorf("checkpoint: list by status: the status is %q, and must be %q or %q: %w", q.Status, Paused, Failed, ErrInvalid)
	case q.Limit < 0:
		return fmt.Errorf("checkpoint: list by status: limit %d is negative: %w", q.Limit, ErrInvalid)
	}
	return nil
}

// Select returns the entries of one thread that the query selects, given the time of its newest
// checkpoint and its marks. It is for implementers of [StatusLister].
func (q StatusQuery) Select(thread string, at time.Time, marks []Mark) []ThreadStatus {
	var found []ThreadStatus
	for _, m := range marks {
		s := ThreadStatus{Thread: thread, Status: m.Status, Node: m.Node, Time: at}
		if m.Status == q.Status && (q.Node == "" || m.Node == q.Node) && s.Compare(q.After) > 0 && !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}

// A ThreadStatus says that a thread waits or has failed at a node.
type ThreadStatus struct {
	Thread string
	Status Status
	// Node is a node of the thread's graph. For a question or a failure in a subgraph it is
	// the node that runs the subgraph.
	Node string
	// Time is the time of the thread's newest checkpoint of the root namespace.
	Time time.Time
}

// Compare orders two entries as [StatusLister] does: by node and then by thread.
func (s ThreadStatus) Compare(other ThreadStatus) int {
	return cmp.Or(cmp.Compare(s.Node, other.Node), cmp.Compare(s.Thread, other.Thread))
}

// A Mark is a pending write that gives a thread a status at a node.
type Mark struct {
	Task   string
	Index  int
	Status Status
	Node   string
}

// Marks returns the pending writes that give a thread a status: the open questions and the
// failures of tasks without a result, and the static pauses. A failure of a task hides its
// questions, unless the task failed because it could not read an answer: then it waits for another
// answer. Marks also returns the tasks that have a result or a failure. The marks of their earlier
// writes no longer count. The argument has the pending writes of the newest checkpoint of the root
// namespace, or the writes of one PutWrites.
//
// An [EncryptedStore] hides the data of writes, so Marks is less exact there. It omits static pauses.
// It still returns a question that was withdrawn and a failure whose task runs again, and it counts
// a result that was refused. The next write of the task corrects the status.
// Marks is for implementers of [StatusLister].
func Marks(writes []Write) (marks []Mark, ended []string) {
	done, failed := outcomes(writes)
	for task := range done {
		ended = append(ended, task)
	}
	for task := range failed {
		ended = append(ended, task)
	}
	for i := range writes {
		w := &writes[i]
		switch {
		case w.Channel == mark.Stop:
			marks = append(marks, stops(w)...)
		case done[w.Task]:
		case w.Channel == mark.Error && w.Kind != mark.AsksAgain && len(w.Data) > 0: // else the task is being retried
			marks = append(marks, Mark{w.Task, w.Index, Failed, nodeOf(w.Task)})
		case w.Channel == mark.Ask && !failed[w.Task] && string(w.Data) != "[]": // else the question was withdrawn
			marks = append(marks, Mark{w.Task, w.Index, Paused, nodeOf(w.Task)})
		}
	}
	return marks, ended
}

// outcomes returns the tasks that have a result, and those that have a failure.
func outcomes(writes []Write) (done, failed map[string]bool) {
	void := voidOf(writes)
	done, failed = map[string]bool{}, map[string]bool{}
	for i := range writes {
		switch w := &writes[i]; {
		case endsTask(w) && w.Index >= void[w.Task]:
			done[w.Task] = true
		case w.Channel == mark.Error && w.Kind != mark.AsksAgain:
			failed[w.Task] = true
		}
	}
	return done, failed
}

// endsTask reports whether a pending write is the last one of a task's result.
func endsTask(w *Write) bool { return w.Channel == mark.Done || w.Kind&mark.EndOfResult != 0 }

// voidOf returns, for each task, the index below which results do not count.
func voidOf(writes []Write) (below map[string]int) {
	for i := range writes {
		if writes[i].Channel == mark.Void {
			_ = json.Unmarshal(writes[i].Data, &below) // encrypted data hides it
		}
	}
	return below
}

// stops returns a mark for each static pause of a write.
func stops(w *Write) []Mark {
	var pauses []struct {
		Node string `json:"node"`
	}
	if json.Unmarshal(w.Data, &pauses) != nil {
		return nil
	}
	marks := make([]Mark, 0, len(pauses))
	for _, p := range pauses {
		marks = append(marks, Mark{w.Task, w.Index, Paused, p.Node})
	}
	return marks
}

// nodeOf returns the node of a task. The id of a task begins with the name of its node.
func nodeOf(task string) string {
	if i := strings.IndexAny(task, "[~"); i >= 0 {
		return task[:i]
	}
	return task
}
