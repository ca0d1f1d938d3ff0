package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/weft-go/weft/internal/uuid"
)

// A socket is a WebSocket (RFC 6455) that speaks the thread-centric protocol. The client sends
// commands and gets their responses and the events of its subscriptions.
//
// The socket reads events from the log of the thread as fast as the client takes them. It has no queue for a slow client
// besides the buffers of the connection.
type socket struct {
	c    *call
	conn *websocket.Conn
	log  *threadLog
	subs map[string]*subscription // used by pump only

	asks     chan subscriptionCommand
	commands chan *commandBody
}

// A subscriptionCommand adds or removes a subscription. The pump executes it between two events.
type subscriptionCommand struct {
	body *commandBody
	add  *subscription // nil to remove
	id   string        // of the subscription to remove
}

const (
	maxSubscriptions = 100 // of a socket
	maxCommands      = 16  // commands that wait for an earlier one
	maxBeats         = 6   // heartbeats within which a client must take a message or answer a ping
)

// socket upgrades the request to a WebSocket and serves it until the client leaves. The origin of the request has already
// been checked, as for any request.
func (c *call) socket() error {
	log, err := c.openThread()
	if err != nil {
		return err
	}
	defer c.s.closeLog(log)
	conn, err := websocket.Accept(c.w, c.r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil //nolint:nilerr // Accept has sent the error
	}
	conn.SetReadLimit(c.s.o.MaxBody)
	ctx, cancel := context.WithCancelCause(c.ctx())
	defer cancel(nil)
	c.r = c.r.WithContext(ctx)
	s := &socket{c: c, conn: conn, log: log, subs: map[string]*subscription{}, asks: make(chan subscriptionCommand, maxSubscriptions), commands: make(chan *commandBody, maxCommands)}
	worker := new(*c) // a call is not safe for concurrent use
	work := func(ctx context.Context) error { return s.work(ctx, worker) }
	var parts sync.WaitGroup
	for _, part := range []func(context.Context) error{s.pump, work, s.ping, s.read} {
		parts.Go(func() { cancel(part(ctx)) })
	}
	<-ctx.Done()
	s.close(context.Cause(ctx)) // makes read return
	parts.Wait()
	for {
		select {
		case b := <-s.commands:
			c.s.accounts.giveBytes(c.user.ID, b.bytes)
		default:
			return nil
		}
	}
}

// close sends the client the reason why the socket ends. The close code of a refusal is 4000 plus its status.
func (s *socket) close(cause error) {
	code, reason := websocket.StatusNormalClosure, ""
	refusal, refused := errors.AsType[*Refusal](cause)
	switch {
	case refused:
		code, reason = websocket.StatusCode(4000+refusal.Status), shortened(refusal.Detail)
	case errors.Is(cause, errClosed):
		code, reason = websocket.StatusGoingAway, "The server is shutting down."
	case errors.Is(cause, errInternal):
		code, reason = websocket.StatusInternalError, "The server failed. Its log says why."
	}
	_ = s.conn.Close(code, reason) // the client may have left
}

var errInternal = errors.New("the server failed")

// read reads the commands of the client until the connection is closed.
func (s *socket) read(ctx context.Context) error {
	for {
		// If the context ended during Read, the connection would be closed without a reason.
		_, data, err := s.conn.Read(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		if err := s.c.s.admit(s.c.user); err != nil { // a command counts like a request
			return err
		}
		b := &commandBody{bytes: large(len(data))}
		if err := s.c.s.accounts.takeBytes(s.c.user.ID, b.bytes, 0, s.c.s.o.Auth != nil); err != nil {
			return err
		}
		queued := false
		if err = json.Unmarshal(data, b); err != nil {
			err = s.write(ctx, commandFailure(nil, &commandError{codeInvalid, "A command is a JSON object."}))
		} else {
			queued, err = s.execute(ctx, b)
		}
		if !queued {
			s.c.s.accounts.giveBytes(s.c.user.ID, b.bytes)
		}
		if err != nil {
			return err
		}
	}
}

// work executes commands in order. Commands for subscriptions do not wait for them.
func (s *socket) work(ctx context.Context, c *call) error {
	for {
		select {
		case b := <-s.commands:
			c.bytes = b.bytes
			answer := c.answer(s.log, b)
			c.release()
			if err := s.write(ctx, answer); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// execute passes a command to pump or to work. It reports whether work has the command.
func (s *socket) execute(ctx context.Context, b *commandBody) (queued bool, err error) {
	ask := subscriptionCommand{body: b}
	err = b.check()
	switch {
	case err != nil:
	case b.Method == "subscription.subscribe":
		ask.add = &subscription{}
		if err = json.Unmarshal(orEmpty(b.Params), ask.add); err != nil {
			err = &commandError{codeInvalid, "The parameters cannot be read."}
		} else {
			err = ask.add.check()
		}
	case b.Method == "subscription.unsubscribe":
		var p struct {
			ID string `json:"subscription_id"`
		}
		if err = json.Unmarshal(orEmpty(b.Params), &p); err != nil || p.ID == "" {
			err = &commandError{codeInvalid, "subscription_id is missing."}
		}
		ask.id = p.ID
	default:
		select {
		case s.commands <- b:
			return true, nil
		default:
			err = &commandError{codeInvalid, "Too many commands wait. Send the next one after a response."}
		}
	}
	if err != nil {
		return false, s.write(ctx, commandFailure(b.ID, err))
	}
	select {
	case s.asks <- ask:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// pump sends the events of the subscriptions, and adds and removes subscriptions.
func (s *socket) pump(ctx context.Context) error {
	r := s.c.readThread(s.log)
	defer r.reader.close()
	for {
		events, changed, err := r.next()
		if err != nil {
			return s.failed(err)
		}
		for i := range events {
			if !s.selects(&events[i]) {
				continue
			}
			if err := s.write(ctx, &events[i]); err != nil {
				return err
			}
		}
		select {
		case ask := <-s.asks:
			if err := s.subscribe(ctx, s.gather(ask), r.after); err != nil {
				return err
			}
		case <-orReady(changed):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.c.s.ctx.Done():
			return errClosed
		}
	}
}

// failed logs an error whose text the client does not get. It returns the error with which the socket is closed.
func (s *socket) failed(err error) error {
	if _, ok := errors.AsType[*Refusal](err); ok || s.c.ctx().Err() != nil {
		return err
	}
	s.c.s.o.Logger.Error("server: a WebSocket failed", "thread", s.log.thread, "error", err)
	if isOutage(err) {
		return outageRefusal()
	}
	return errInternal
}

// selects reports whether a subscription selects an event.
func (s *socket) selects(ev *threadEvent) bool {
	for _, sub := range s.subs {
		if ev.selectedBy(sub) {
			return true
		}
	}
	return false
}

// gather returns a command and the commands that follow within gatherTime. A client sends several subscriptions together,
// and takes the end of a run in one of them as the end in all. So the replayed events of all subscriptions must be in one
// order.
func (s *socket) gather(first subscriptionCommand) []subscriptionCommand {
	list := []subscriptionCommand{first}
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	for len(list) < maxSubscriptions {
		select {
		case ask := <-s.asks:
			list = append(list, ask)
		case <-timer.C:
			return list
		}
	}
	return list
}

const gatherTime = 5 * time.Millisecond

// subscribe adds and removes subscriptions. After the responses, it sends the events that the new subscriptions select,
// up to the event with the number until. Later events come from pump.
func (s *socket) subscribe(ctx context.Context, asks []subscriptionCommand, until int64) error {
	var added []*subscription
	for _, ask := range asks {
		ask.body.after = s.log.end()
		var response any
		switch {
		case ask.add == nil && s.subs[ask.id] == nil:
			response = commandFailure(ask.body.ID, &commandError{codeNoSubscription, "There is no subscription " + shortened(ask.id) + "."})
		case ask.add == nil:
			delete(s.subs, ask.id)
			response = s.c.success(s.log, ask.body, emptyObject)
		case len(s.subs) == maxSubscriptions:
			response = commandFailure(ask.body.ID, &commandError{codeInvalid, "The connection has too many subscriptions."})
		default:
			id, count := uuid.New(), 0
			if err := s.replay([]*subscription{ask.add}, until, func(*threadEvent) error { count++; return nil }); err != nil {
				return err
			}
			s.subs[id] = ask.add
			added = append(added, ask.add)
			response = s.c.success(s.log, ask.body, map[string]any{"subscription_id": id, "replayed_events": count})
		}
		if err := s.write(ctx, response); err != nil {
			return err
		}
	}
	return s.replay(added, until, func(ev *threadEvent) error { return s.write(ctx, ev) })
}

// replay calls f for each event that one of the subscriptions selects, up to the event with the number until.
func (s *socket) replay(subs []*subscription, until int64, f func(*threadEvent) error) error {
	r := s.c.readThread(s.log)
	defer r.reader.close()
	r.until = until
	for len(subs) > 0 && until > 0 && r.after < until {
		events, changed, err := r.next()
		if err != nil {
			return s.failed(err)
		}
		for i := range events {
			ev := &events[i]
			if !slices.ContainsFunc(subs, ev.selectedBy) {
				continue
			}
			if err := f(ev); err != nil {
				return err
			}
		}
		if changed != nil {
			return nil
		}
	}
	return nil
}

// selectedBy reports whether a subscription selects the event. Each subscription selects a gap.
func (ev *threadEvent) selectedBy(sub *subscription) bool {
	return ev.Method == gapEvent || sub.has(ev.channel, ev.Params.Namespace)
}

// write sends a message. It fails if the client does not take the message in time.
func (s *socket) write(ctx context.Context, message any) error {
	ctx, cancel := s.patience(ctx)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, encoded(message))
}

// patience returns a context with the time limit for a client to take a message or to answer. It ignores the end of ctx,
// which would close the connection without a reason.
func (s *socket) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), maxBeats*s.c.s.o.Heartbeat)
}

// ping checks at each heartbeat that the client still answers.
func (s *socket) ping(ctx context.Context) error {
	tick := time.NewTicker(s.c.s.o.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		waits, cancel := s.patience(ctx)
		err := s.conn.Ping(waits)
		cancel()
		if err != nil {
			return err
		}
	}
}

// events serves GET for the event stream of a thread, which is a WebSocket.
func (c *call) events() error {
	if c.r.Header.Get("Upgrade") == "" {
		c.w.Header().Set("Upgrade", "websocket")
		return refuse(http.StatusUpgradeRequired, "This path is a WebSocket. Send POST for server-sent events.")
	}
	return c.socket()
}
