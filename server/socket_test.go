package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
)

// A socketMessage is a response or an event of the thread-centric protocol.
type socketMessage struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id"`
	Result  map[string]any  `json:"result"`
	Error   string          `json:"error"`
	EventID string          `json:"event_id"`
	Seq     int64           `json:"seq"`
	Method  string          `json:"method"`
	Params  struct {
		Namespace []string        `json:"namespace"`
		Node      string          `json:"node"`
		Data      json.RawMessage `json:"data"`
	} `json:"params"`
}

// A socket is the client of a WebSocket.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

func (w *wire) socket(thread string, header http.Header) *socket {
	w.t.Helper()
	conn, resp, err := websocket.Dial(w.t.Context(), w.url+"/threads/"+thread+"/stream/events", &websocket.DialOptions{HTTPHeader: header})
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusSwitchingProtocols, resp.StatusCode)
	conn.SetReadLimit(1 << 20)
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{w.t, conn}
}

func (s *socket) send(id int, method string, params any) {
	s.t.Helper()
	require.NoError(s.t, wsjson.Write(s.t.Context(), s.conn, map[string]any{"id": id, "method": method, "params": params}))
}

func (s *socket) next() socketMessage {
	s.t.Helper()
	var m socketMessage
	require.NoError(s.t, wsjson.Read(s.t.Context(), s.conn, &m))
	return m
}

// until reads messages until one contains a text.
func (s *socket) until(text string) []socketMessage {
	s.t.Helper()
	var out []socketMessage
	for {
		m := s.next()
		out = append(out, m)
		if strings.Contains(string(encoded(m)), text) {
			return out
		}
	}
}

func methods(list []socketMessage) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.Type+m.Method)
	}
	return out
}

func TestAWebSocketHasTheEventsOfARunThatItStarts(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	s := w.socket(uuid.New(), nil)
	s.send(1, "subscription.subscribe", map[string]any{"channels": []string{"values", "lifecycle", "messages", "updates", "tasks", "checkpoints", "tools"}})
	first := s.next()
	assert.Equal(t, "success", first.Type)
	assert.EqualValues(t, 0, first.Result["replayed_events"])
	s.send(2, "run.start", map[string]any{"assistant_id": "tools", "input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": "add 2 3"}}}})
	all := s.until(`"completed"`)

	var text strings.Builder
	seen := map[string]bool{}
	for i, m := range all {
		if m.Type != "event" {
			assert.NotEmpty(t, m.Result["run_id"])
			continue
		}
		assert.False(t, seen[m.EventID], "%s comes twice", m.EventID)
		seen[m.EventID] = true
		var data struct{ Delta struct{ Type, Text string } }
		require.NoError(t, json.Unmarshal(m.Params.Data, &data))
		if data.Delta.Type == "text-delta" {
			text.WriteString(data.Delta.Text)
		}
		if m.Method == "values" && i > 0 {
			assert.Equal(t, "checkpoints", all[i-1].Method, "a checkpoint comes before its values")
		}
		if m.Method == "updates" {
			assert.Contains(t, []string{"agent", "tools"}, m.Params.Node)
			assert.Contains(t, string(m.Params.Data), `{"messages":[`)
		}
	}
	assert.Equal(t, "The sum is 5.", text.String())
	for _, method := range []string{"values", "lifecycle", "messages", "updates", "tasks", "checkpoints"} {
		assert.Contains(t, methods(all), "event"+method)
	}
}

func TestALateSubscriptionGetsAllEventsAfterItsResponse(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	s := w.socket(thread, nil)
	s.send(1, "subscription.subscribe", map[string]any{"channels": []string{"lifecycle"}})
	s.next()
	s.send(2, "run.start", map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 1}})
	s.until(`"completed"`)

	s.send(3, "subscription.subscribe", map[string]any{"channels": []string{"custom", "lifecycle"}})
	response := s.next()
	require.Equal(t, "3", string(response.ID), "the response comes before the events")
	assert.EqualValues(t, 3, response.Result["replayed_events"])
	replayed := s.until(`"completed"`)
	assert.Equal(t, []string{"eventlifecycle", "eventcustom", "eventlifecycle"}, methods(replayed))
	assert.JSONEq(t, `{"payload":{"tag":"a","step":0}}`, string(replayed[1].Params.Data))

	s.send(4, "subscription.unsubscribe", map[string]any{"subscription_id": response.Result["subscription_id"]})
	assert.Equal(t, "success", s.next().Type)
	s.send(5, "subscription.unsubscribe", map[string]any{"subscription_id": response.Result["subscription_id"]})
	assert.Equal(t, "no_such_subscription", s.next().Error)
	s.send(6, "run.start", map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "b", "n": 1}})
	rest := s.until(`"completed"`)
	assert.NotContains(t, methods(rest), "eventcustom")
	for _, m := range rest {
		if m.Type == "event" {
			assert.Greater(t, m.Seq, replayed[2].Seq)
		}
	}
}

func TestQuestionsAreAnsweredOverAWebSocket(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	s := w.socket(uuid.New(), nil)
	s.send(1, "subscription.subscribe", map[string]any{"channels": []string{"input", "values", "lifecycle"}})
	s.next()
	s.send(2, "run.start", map[string]any{"assistant_id": "approve", "input": map[string]any{"request": "r"}})
	var question struct {
		ID string `json:"interrupt_id"`
	}
	for _, m := range s.until(`"interrupted"`) {
		if m.Method == "input.requested" {
			require.NoError(t, json.Unmarshal(m.Params.Data, &question))
		}
	}
	s.send(3, "input.respond", map[string]any{"namespace": []string{}, "interrupt_id": question.ID, "response": "yes"})
	assert.Contains(t, string(encoded(s.until(`"completed"`))), `r: yes`)
}

func TestAWebSocketAnswersWrongMessages(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.MaxBody = 1 << 10 })
	s := w.socket(w.thread(), nil)
	require.NoError(t, s.conn.Write(t.Context(), websocket.MessageText, []byte("{")))
	assert.Equal(t, "invalid_argument", s.next().Error)
	for name, params := range map[string]any{
		"no channels":         map[string]any{},
		"an unknown channel":  map[string]any{"channels": []string{"everything"}},
		"wrong parameters":    []int{1},
		"channels of numbers": map[string]any{"channels": []int{1}},
	} {
		s.send(7, "subscription.subscribe", params)
		m := s.next()
		assert.Equal(t, "7", string(m.ID), name)
		assert.Equal(t, "invalid_argument", m.Error, name)
	}
	s.send(8, "subscription.unsubscribe", nil)
	assert.Equal(t, "invalid_argument", s.next().Error)
	s.send(9, "state.get", nil)
	assert.Equal(t, "unknown_command", s.next().Error)
	require.NoError(t, wsjson.Write(t.Context(), s.conn, map[string]any{"id": "x", "method": "run.start"}))
	assert.Equal(t, "invalid_argument", s.next().Error)

	require.NoError(t, s.conn.Write(t.Context(), websocket.MessageText, make([]byte, 1<<11)))
	_, _, err := s.conn.Read(t.Context())
	assert.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(err), "%v", err)
}

func TestAWebSocketIsRefusedLikeOtherRequests(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) {
		o.Auth = func(r *http.Request) (server.User, error) { return server.User{ID: r.Header.Get("X-User")}, nil }
	})
	ada, bob := http.Header{"X-User": {"ada"}}, http.Header{"X-User": {"bob"}}
	thread := w.json(http.MethodPost, "/threads", map[string]any{}, "X-User", "ada")["thread_id"].(string)
	path := w.url + "/threads/" + thread + "/stream/events"
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"no user":        {nil, http.StatusUnauthorized},
		"another origin": {http.Header{"X-User": {"ada"}, "Origin": {"https://evil.example"}}, http.StatusForbidden},
	} {
		_, resp, err := websocket.Dial(t.Context(), path, &websocket.DialOptions{HTTPHeader: c.header})
		require.Error(t, err, name)
		assert.Equal(t, c.status, resp.StatusCode, name)
	}
	assert.Equal(t, http.StatusUpgradeRequired, w.send(http.MethodGet, "/threads/"+thread+"/stream/events", nil, "X-User", "ada").StatusCode)
	w.socket(thread, ada).send(1, "subscription.subscribe", map[string]any{"channels": []string{"values"}})

	// Bob subscribes to the thread of Ada, and to a thread that she creates later.
	later := uuid.New()
	for _, id := range []string{thread, later} {
		s := w.socket(id, bob)
		s.send(1, "subscription.subscribe", map[string]any{"channels": []string{"values", "lifecycle"}})
		assert.Equal(t, "success", s.next().Type)
		w.json(http.MethodPost, "/threads/"+id+"/runs/wait", map[string]any{
			"assistant_id": "slow", "input": map[string]any{"tag": "secret", "n": 0}, "if_not_exists": "create",
		}, "X-User", "ada")
		s.send(2, "subscription.subscribe", map[string]any{"channels": []string{"values", "lifecycle"}})
		m := s.next()
		assert.Equal(t, "2", string(m.ID), "the next message is the response")
		assert.EqualValues(t, 0, m.Result["replayed_events"])
		s.send(3, "input.respond", map[string]any{"interrupt_id": "x"})
		assert.Equal(t, "error", s.next().Type)
	}
}

// A WebSocket begins with a GET request, but its commands may change objects.
func TestCommandsOfAWebSocketNeedTheirOwnPermission(t *testing.T) {
	t.Parallel()
	thread := uuid.New()
	start := map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 0}}
	for name, change := range map[string]func(*server.Options){
		"a server that is only read": func(o *server.Options) { o.ReadOnly = true },
		"a user that only reads": func(o *server.Options) {
			o.Auth = func(*http.Request) (server.User, error) { return server.User{ID: "ada"}, nil }
			o.Authorize = func(_ context.Context, a server.Access) (server.Filter, error) {
				if a.Action != server.ActionRead && a.Action != server.ActionSearch {
					return server.Filter{}, &server.Refusal{Status: http.StatusForbidden, Detail: "You may only read."}
				}
				return server.Filter{}, nil
			}
		},
	} {
		w := newWire(t, change)
		s := w.socket(thread, nil)
		s.send(1, "subscription.subscribe", map[string]any{"channels": []string{"values", "lifecycle"}})
		assert.Equal(t, "success", s.next().Type, name)
		for i, method := range []string{"run.start", "input.respond"} {
			s.send(2+i, method, start)
			assert.Equal(t, "error", s.next().Type, "%s: %s", name, method)
		}
		list, total, err := w.runs.Search(t.Context(), runs.Query{Kind: runs.Run})
		require.NoError(t, err)
		assert.Empty(t, list, name)
		assert.Zero(t, total, name)
	}
}

func TestAServerThatEndsClosesItsWebSockets(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	s := w.socket(w.thread(), nil)
	s.send(1, "subscription.subscribe", map[string]any{"channels": []string{"values"}})
	s.next()
	go func() { _ = w.server.Close(context.Background()) }()
	_, _, err := s.conn.Read(t.Context())
	assert.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err), "%v", err)
}

func TestAWebSocketPingsItsClient(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Heartbeat = 200 * time.Millisecond })
	pings := make(chan struct{}, 1)
	conn, _, err := websocket.Dial(t.Context(), w.url+"/threads/"+uuid.New()+"/stream/events", &websocket.DialOptions{
		OnPingReceived: func(context.Context, []byte) bool {
			select {
			case pings <- struct{}{}:
			default:
			}
			return true
		},
	})
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	left := conn.CloseRead(t.Context())
	for range 3 {
		select {
		case <-pings:
		case <-left.Done():
			t.Fatal("the server has closed the connection")
		}
	}
}

// The server has no queue for a client that takes no events. It closes the connection.
func TestAWebSocketLeavesAClientThatReadsNothing(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Heartbeat = 50 * time.Millisecond })
	s := w.socket(uuid.New(), nil)
	s.send(1, "subscription.subscribe", map[string]any{"channels": []string{"values", "tasks"}})
	s.send(2, "run.start", map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": strings.Repeat("x", 8<<20), "n": 0}})
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.Error(c, wsjson.Write(t.Context(), s.conn, map[string]any{"id": 3, "method": "state.get"}))
	}, 20*time.Second, 20*time.Millisecond)
}
