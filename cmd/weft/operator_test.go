package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/server"
)

// withOperator makes the server accept the name of a user as the token of this user. The user ops is an operator.
func withOperator(o *server.Options) {
	o.Auth = func(r *http.Request) (server.User, error) {
		switch token := r.Header.Get("X-Api-Key"); token {
		case "":
			return server.User{}, http.ErrNoCookie
		case "ops":
			return server.User{ID: "ops", Permissions: []string{server.PermissionOperate}}, nil
		default:
			return server.User{ID: token}, nil
		}
	}
}

// as lets a terminal send the token of a user.
func (m *terminal) as(user string) *terminal {
	m.env = map[string]string{"WEFT_SERVER": m.words["http://127.0.0.1:8123"], "WEFT_TOKEN": user}
	return m
}

// An operator lists, shows, answers, resumes and cancels the threads of other users. A user cannot see the threads of another user.
func TestAnOperatorLooksAfterTheThreadsOfUsers(t *testing.T) {
	t.Parallel()
	m := serve(t, withOperator, func(o *server.Options) { o.Graphs["slow"] = hanging(t) }).as("ann")
	paused, failing := m.thread(12), m.thread(-1)
	m.post("/threads/"+served+"/runs", map[string]any{"assistant_id": "slow", "if_not_exists": "create", "input": map[string]int{"cups": 1}})
	require.Eventually(t, func() bool {
		_, out, _ := m.call("runs", "list", "-status", "running")
		return strings.Contains(out, "running")
	}, 10*time.Second, 10*time.Millisecond)

	for _, args := range [][]string{{"show", paused}, {"answer", paused, `{"approved":true}`}, {"resume", failing}, {"tail", paused, "-follow=false"}} {
		code, _, errs := m.as("bob").call(append([]string{"threads"}, args...)...)
		assert.Equal(t, exitFailed, code, args)
		assert.Contains(t, errs, "there is no thread", args)
	}
	_, _, errs := m.call("threads", "list")
	assert.Contains(t, errs, "There are no such threads.")
	_, out, _ := m.call("threads", "cancel", served)
	assert.Contains(t, out, "has no run")

	m.as("ops").run("threads", "list")
	m.run("threads", "show", paused)
	m.run("threads", "answer", paused, `{"approved":true}`)
	join(m, paused)
	m.run("threads", "resume", failing)
	m.run("threads", "cancel", served)
	m.golden("operator")
	_, out, _ = m.call("threads", "show", paused, "-json")
	assert.Contains(t, out, "brewed 12")
	_, out, _ = m.as("ann").call("threads", "show", paused, "-json")
	assert.Contains(t, out, "brewed 12", "the thread stays that of its user")
}

// An operator resumes all failed threads, as after an outage. If one thread fails again, the command still resumes the others.
func TestAllFailedThreadsAreResumed(t *testing.T) {
	t.Parallel()
	m := serve(t, withOperator).as("ann")
	first, second, paused := m.thread(-1), m.thread(-1), m.thread(12)
	third := m.as("bob").thread(-1)
	m.as("ops")
	for _, id := range []string{first, third} {
		m.post("/threads/"+id+"/state", map[string]any{"values": map[string]int{"cups": 5}})
	}
	_, out, _ := m.call("threads", "list", "-status", "failed", "-node", "brew", "-json")
	assert.NotContains(t, out, paused)
	m.run("threads", "list", "-status", "failed", "-node", "check")
	m.run("threads", "resume", "-all", "-node", "check")
	m.run("threads", "resume", "-all", "-at-once", "1")
	code, out, errs := m.call("threads", "resume", "-all", "-json")
	assert.Equal(t, exitFailed, code, errs)
	var line map[string]string
	require.NoError(t, json.Unmarshal([]byte(out), &line), out)
	assert.Equal(t, second, line["thread_id"], "only the thread that failed again is left")
	assert.Equal(t, "error", line["status"])
	m.golden("resume_all")
}

// A fullStore returns an error from Put while full is true.
type fullStore struct {
	checkpoint.Store
	full atomic.Bool
}

func (s *fullStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.full.Load() {
		return errors.New("the disk is full")
	}
	return s.Store.Put(ctx, c, head)
}

// A resume processes the inputs of runs that failed before they stored anything, each once and in order.
func TestLostMessagesAreProcessedByAResume(t *testing.T) {
	t.Parallel()
	store := &fullStore{Store: memcheckpoint.New(memcheckpoint.Options{})}
	m := serve(t, withOperator, func(o *server.Options) { o.Graphs["shop"] = shop(t, store) }).as("ann")
	known := m.thread(1)
	store.full.Store(true)
	for _, cups := range []int{2, 3} {
		m.post("/threads/"+known+"/runs/wait", map[string]any{"assistant_id": "shop", "input": map[string]int{"cups": cups}})
	}
	fresh := m.thread(4)
	m.as("ops").run("threads", "resume", "-all", "-at-once", "1")
	store.full.Store(false)
	m.run("threads", "resume", "-all", "-dry-run")
	m.run("threads", "resume", "-all", "-at-once", "1")
	m.run("threads", "resume", "-all")
	m.golden("resume_lost")
	for thread, want := range map[string]string{
		known: `["checked","brewed 1","checked","brewed 2","checked","brewed 3"]`, fresh: `["checked","brewed 4"]`,
	} {
		_, out, _ := m.call("threads", "show", thread, "-json")
		var v threadView
		require.NoError(t, json.Unmarshal([]byte(out), &v))
		assert.JSONEq(t, want, string(v.Values["log"]))
		m.call("threads", "resume", thread)
		join(m, thread)
		_, out, _ = m.call("threads", "show", thread, "-json")
		require.NoError(t, json.Unmarshal([]byte(out), &v))
		assert.JSONEq(t, want, string(v.Values["log"]), "nothing is done twice")
	}
}
