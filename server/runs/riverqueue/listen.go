package riverqueue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgdb"
)

// findListener sets the connection for LISTEN. It reports whether the pool connects through a transaction pooler.
func (q *Queue) findListener(ctx context.Context) (pooled bool, err error) {
	config := q.pool.Config().ConnConfig
	if pooled, err = pgdb.DetectPooler(ctx, config); err != nil {
		return false, err
	}
	switch {
	case q.o.Listen != "":
		q.direct, err = pgx.ParseConfig(q.o.Listen)
	case !pooled:
		q.direct = config
	}
	return pooled, err
}

const (
	lookAlways = 250 * time.Millisecond // the time between two checks for changes without LISTEN
	lookRarely = 5 * time.Second        // the same with LISTEN, in case a message was lost
	maxPayload = 7000                   // bytes; the limit of PostgreSQL is 8000
	minBackOff = 100 * time.Millisecond
	maxBackOff = 5 * time.Second
)

// channel returns the name of the channel for NOTIFY. Each schema has its own.
func (q *Queue) channel() string {
	sum := sha256.Sum256([]byte(q.o.Schema))
	return "weft_runs_" + hex.EncodeToString(sum[:8])
}

// Tell implements [runs.Queue]. While a message is sent, the threads of further calls are collected for the next one.
func (q *Queue) Tell(thread string) {
	q.mu.Lock()
	q.told[thread] = true
	q.mu.Unlock()
	select {
	case q.tell <- struct{}{}:
	default:
	}
}

// send sends messages until ctx ends.
func (q *Queue) send(ctx context.Context) {
	for wait := minBackOff; ; {
		select {
		case <-ctx.Done():
			return
		case <-q.tell:
		}
		err := q.sendTold(ctx)
		if err == nil {
			wait = minBackOff
			continue
		}
		if ctx.Err() == nil {
			q.o.Logger.Warn("riverqueue: a message was not sent; it is sent again", "error", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, maxBackOff)
	}
}

// sendTold sends messages with the threads in told. After an error, it puts back the threads that were not sent.
func (q *Queue) sendTold(ctx context.Context) error {
	q.mu.Lock()
	told := slices.Collect(maps.Keys(q.told))
	clear(q.told)
	q.mu.Unlock()
	for len(told) > 0 {
		text, n := q.id, 0
		for ; n < len(told) && (n == 0 || len(text)+len(told[n]) < maxPayload); n++ {
			text += " " + told[n]
		}
		sctx, cancel := context.WithTimeout(ctx, statementTime)
		_, err := q.pool.Exec(sctx, notify, q.channel(), text)
		cancel()
		if err != nil {
			for _, thread := range told {
				q.Tell(thread)
			}
			return err
		}
		told = told[n:]
	}
	return nil
}

// listen passes the messages of other servers to the worker, and checks for changes from time to time, until ctx ends.
func (q *Queue) listen(ctx context.Context) {
	if q.direct == nil {
		tick := time.NewTicker(lookAlways)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				q.worker.Changed()
			}
		}
	}
	for wait := minBackOff; ctx.Err() == nil; wait = min(2*wait, maxBackOff) {
		begun := time.Now()
		err := q.listenOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		q.o.Logger.Warn("riverqueue: the connection for LISTEN was lost", "error", err)
		if time.Since(begun) > maxBackOff {
			wait = minBackOff
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
			q.worker.Changed()
		}
		timer.Stop()
	}
}

// listenOnce passes messages to the worker until the connection is lost.
func (q *Queue) listenOnce(ctx context.Context) error {
	setup, cancel := context.WithTimeout(ctx, statementTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(setup, q.direct.Copy())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(setup, `LISTEN `+q.channel()); err != nil {
		return err
	}
	q.worker.Changed() // messages before LISTEN were lost
	for last := time.Now(); ; {
		wait, cancel := context.WithDeadline(ctx, last.Add(q.look))
		m, err := conn.WaitForNotification(wait)
		due := wait.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case m != nil:
			from, threads, _ := strings.Cut(m.Payload, " ")
			if from != q.id {
				q.worker.Changed(strings.Fields(threads)...)
			}
		case due: // detects a connection that was lost without an error
			ping, cancel := context.WithTimeout(ctx, statementTime)
			err := conn.Ping(ping)
			cancel()
			if err != nil {
				return err
			}
		case err != nil:
			return err
		}
		if time.Since(last) >= q.look { // also if there is always another message
			last = time.Now()
			q.worker.Changed()
		}
	}
}
