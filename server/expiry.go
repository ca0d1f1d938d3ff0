package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/server/runs"
)

// A TTL is the time for which an unused thread is kept.
type TTL struct {
	// After is the time since the last change of the thread by a run or a client. If it is zero, the thread is kept
	// forever.
	After time.Duration
	// KeepLatest says that the thread then loses all its states but the newest. Otherwise the server deletes the thread.
	KeepLatest bool
}

// ttlBody is a TTL as clients send it: a number of minutes, alone or with a strategy.
type ttlBody struct {
	Minutes  float64 `json:"ttl"`
	Strategy string  `json:"strategy"`
}

// UnmarshalJSON reads a number or an object.
func (b *ttlBody) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		type plain ttlBody
		return json.Unmarshal(data, (*plain)(b))
	}
	return json.Unmarshal(data, &b.Minutes)
}

const maxTTL = 100 * 366 * 24 * time.Hour

// ttl returns the TTL, or nil if the client sent none.
func (b *ttlBody) ttl() (*TTL, error) {
	switch {
	case b == nil:
		return nil, nil
	case b.Minutes <= 0 || b.Minutes > maxTTL.Minutes():
		return nil, invalid("ttl is %g; it must be a number of minutes from 0 to %g.", b.Minutes, maxTTL.Minutes())
	case b.Strategy != "" && b.Strategy != "delete" && b.Strategy != "keep_latest":
		return nil, invalid("The strategy of the ttl is %q; it must be delete or keep_latest.", shortened(b.Strategy))
	}
	return &TTL{After: time.Duration(b.Minutes * float64(time.Minute)), KeepLatest: b.Strategy == "keep_latest"}, nil
}

// ttlOf returns the TTL of a thread.
func (s *Server) ttlOf(d *threadData) TTL {
	switch {
	case d.Temporary:
		return TTL{After: temporaryTime}
	case d.TTL != nil:
		return *d.TTL
	}
	return s.o.ThreadTTL
}

// temporaryTime is the time after which the temporary thread of a run expires, if the server that executed the run was
// killed before it deleted the thread, or if the request or job of the run may be repeated. It is as long as the longest
// pause before a job is tried again.
const temporaryTime = time.Minute

// setThreadData changes the data of a thread, and sets the time when the thread expires. A busy thread does not expire.
func (s *Server) setThreadData(r *runs.Record, change func(*threadData)) error {
	var d threadData
	if err := json.Unmarshal(r.Data, &d); err != nil {
		return err
	}
	change(&d)
	r.Data, r.Expires = encoded(d), time.Time{}
	if ttl := s.ttlOf(&d); ttl.After > 0 && r.Status != threadBusy {
		r.Expires = now().Add(ttl.After)
	}
	return nil
}

const (
	expiryTick = 30 * time.Second
	expiryPage = 100 // the size of a page of the search
)

// expireThreads deletes or prunes expired threads from time to time.
func (s *Server) expireThreads() {
	tick := time.NewTicker(expiryTick)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			if err := safely(func() error { return s.expire(s.ctx) }); err != nil && s.ctx.Err() == nil {
				s.o.Logger.Error("server: expired threads were not deleted", "error", err)
			}
		}
	}
}

// expire deletes or prunes the expired threads, one at a time. It begins with the threads that expired first. After an
// interruption, the next call continues.
func (s *Server) expire(ctx context.Context) error {
	var errs error
	for offset := 0; ; {
		found, _, err := s.o.Runs.Search(ctx, runs.Query{
			Kind: runs.Thread, Expired: now(), Order: runs.ByExpires, Offset: offset, Limit: expiryPage, Uncounted: true,
		})
		if err != nil || len(found) == 0 {
			return errors.Join(errs, err)
		}
		for i := range found {
			if err := s.expireThread(ctx, &found[i]); err != nil || s.uses(found[i].ID) {
				errs = errors.Join(errs, err)
				offset++ // skip the thread, which still exists
			}
		}
	}
}

// uses reports whether a run of the thread waits or is executed. After an error of the store, it returns true.
func (s *Server) uses(thread string) bool {
	if s.o.Queue != nil {
		ids, err := s.unfinishedIDs(s.ctx, thread)
		return len(ids) > 0 || err != nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.active {
		if a.thread == thread {
			return true
		}
	}
	return false
}

func (s *Server) expireThread(ctx context.Context, r *runs.Record) error {
	if s.uses(r.ID) {
		return nil
	}
	var d threadData
	if err := json.Unmarshal(r.Data, &d); err != nil {
		return err
	}
	if !s.ttlOf(&d).KeepLatest {
		err := s.deleteThread(ctx, r.ID, r.Owner)
		if errors.Is(err, runs.ErrNotFound) {
			return nil
		}
		return err
	}
	if g := s.graphs[r.Graph]; g != nil {
		if pruner, ok := g.graph.Checkpoints().(checkpoint.Pruner); ok {
			if _, err := pruner.Prune(withOwner(withUser(ctx, r.Owner), r.Owner), checkpoint.PrunePolicy{Threads: []string{r.ID}, KeepLast: 1}); err != nil {
				return err
			}
		}
	}
	r.Expires = time.Time{} // a change of the thread sets it again
	_, err := s.o.Runs.Update(ctx, *r)
	if errors.Is(err, runs.ErrConflict) || errors.Is(err, runs.ErrNotFound) {
		return nil // the thread was used meanwhile
	}
	return err
}
