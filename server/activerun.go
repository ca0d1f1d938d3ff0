package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
)

// An activeRun is a run that has not ended.
type activeRun struct {
	id, thread string
	g          *served
	data       *runData
	asked      *runData    // the data when the run came to this server. Its request is read while the run is executed
	record     runs.Record // without Data, which is decoded in data
	size       int         // of the record's data when the run came to this server

	ctx    context.Context // ends when the run is cancelled
	cancel context.CancelCauseFunc
	begin  chan struct{} // closed when the run is the first of its thread
	done   chan struct{} // closed when the run has ended
	// unstored is closed when storing the end of the run has failed for endPatience. The readers of the run are then
	// aborted.
	unstored chan struct{}

	drained atomic.Bool // another server continues the run
	counted bool        // the run counts for its user. The server's lock guards counted
	began   bool        // the store has the run as executed by this server
	ran     bool        // this server has begun a task of the run

	mu       sync.Mutex
	canceled cancellation
}

// A cancellation is the way in which a run is cancelled, from the weakest to the strongest.
type cancellation int

const (
	notCanceled  cancellation = iota
	drainRun                  // stop the run, and let the next server continue it
	interruptRun              // stop the run, and keep its state
	rollbackRun               // stop the run, and undo it
	lostRun                   // stop the run, because another server executes it
)

var errCanceled = errors.New("the run was cancelled")

func newActiveRun(r runs.Record, g *served) (*activeRun, error) {
	d, err := readRun(&r)
	if err != nil {
		return nil, err
	}
	size := len(r.Data)
	r.Data = nil
	a := &activeRun{
		id: r.ID, thread: r.Parent, g: g, data: d, asked: d, record: r, size: size, begin: make(chan struct{}), done: make(chan struct{}), unstored: make(chan struct{}),
	}
	a.ctx, a.cancel = context.WithCancelCause(withOwner(withUser(context.Background(), r.Owner), a.owner()))
	switch d.Cancel {
	case multitaskInterrupt:
		a.stop(interruptRun)
	case multitaskRollback:
		a.stop(rollbackRun)
	}
	return a, nil
}

// owner returns the owner of the thread.
func (a *activeRun) owner() string {
	if a.data.Owner != nil {
		return *a.data.Owner
	}
	return a.record.Owner
}

// stop cancels the run. The strongest of several requests takes precedence.
func (a *activeRun) stop(how cancellation) {
	a.mu.Lock()
	a.canceled = max(a.canceled, how)
	a.mu.Unlock()
	switch how {
	case rollbackRun:
		a.cancel(graph.ErrRolledBack)
	case drainRun:
		a.cancel(graph.ErrDrained)
	case lostRun:
		a.cancel(errSuperseded)
	default:
		a.cancel(errCanceled)
	}
}

func (a *activeRun) drain() { a.stop(drainRun) }

func (a *activeRun) cancellation() cancellation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.canceled
}

// encoded returns the data of the run as it is stored.
func (a *activeRun) encoded() (json.RawMessage, error) {
	d := *a.data
	d.Cancel = a.canceledAs()
	return d.encoded()
}

// canceledAs returns the multitask strategy by which a client has cancelled the run, or "" if none has.
func (a *activeRun) canceledAs() string {
	switch a.cancellation() {
	case interruptRun:
		return multitaskInterrupt
	case rollbackRun:
		return multitaskRollback
	}
	return ""
}

// background returns a context that does not end with the run.
func (a *activeRun) background() context.Context { return context.WithoutCancel(a.ctx) }
