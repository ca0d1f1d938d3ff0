package server

import (
	"context"

	"github.com/weft-go/weft/server/runs"
)

// A logReader reads a log to its end and waits for more events.
type logReader struct {
	log *threadLog
	has int64 // the number of the last event that the reader has; guarded by the lock of the log
}

// reader returns a reader of the events after a number. The caller closes it.
func (l *threadLog) reader(after int64) *logReader {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &logReader{log: l, has: after}
	l.readers[r] = struct{}{}
	return r
}

func (r *logReader) close() {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	delete(r.log.readers, r)
}

// after is like threadLog.after, and records that the reader has the events up to seq.
func (r *logReader) after(ctx context.Context, seq int64) (events []runs.Event, missed int64, changed <-chan struct{}, err error) {
	r.log.mu.Lock()
	r.has = seq
	r.log.mu.Unlock()
	return r.log.after(ctx, seq)
}
