package checkpoint

import "time"

// A memoryClock tells how long ago a log began. Steps that follow each other
// quickly take their time from the monotonic clock alone, which costs half; the
// whole clock is read again soon, as it also knows of a suspended machine.
type memoryClock struct {
	read time.Time
	at   int64 // of read
}

const clockFresh = 100 * time.Millisecond

// elapsed is the time since the first record, which never goes backwards.
func (l *memoryLog) elapsed() int64 {
	at := l.clock.at
	if since := time.Since(l.clock.read); since >= 0 && since < clockFresh {
		at += int64(since)
	} else {
		now := time.Now()
		if len(l.refs) == 0 {
			l.created = now.Round(0)
		}
		at = int64(now.Round(0).Sub(l.created))
		l.clock = memoryClock{read: now, at: at}
	}
	return max(at, l.updated)
}
