package checkpoint

import (
	"sync/atomic"
	"time"
)

// A memoryClock tells the time of a store. For a while after it was read, the
// monotonic clock tells how much later it is, which costs half; the whole clock
// is read again soon, as it also knows of a suspended machine.
type memoryClock struct {
	reading atomic.Pointer[clockReading]
}

type clockReading struct {
	time time.Time
	at   int64
}

const clockFresh = 100 * time.Millisecond

// now returns nanoseconds since 1970.
func (c *memoryClock) now() int64 {
	if r := c.reading.Load(); r != nil {
		if since := time.Since(r.time); since >= 0 && since < clockFresh {
			return r.at + int64(since)
		}
	}
	r := &clockReading{time: time.Now()}
	r.at = r.time.UnixNano()
	c.reading.Store(r)
	return r.at
}

// elapsed is the time since the first record, which never goes backwards.
func (l *memoryLog) elapsed(now int64) int64 {
	if len(l.refs) == 0 {
		l.created = now
	}
	return max(now-l.created, l.updated)
}
