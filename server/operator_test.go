package server_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
)

// An operator can operate the threads and runs of all users, and has no other rights on their objects.
func TestAnOperatorLooksAfterTheThreadsOfAllUsers(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, nil)
	const operator = "ops:" + server.PermissionOperate
	thread := "/threads/" + ask(t, web, "ann", http.MethodPost, "/threads", nil).field(t, "thread_id")
	run := map[string]any{"assistant_id": "echo", "input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}}}
	require.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, thread+"/runs/wait", run).status)
	cron := map[string]any{"assistant_id": "echo", "schedule": "0 0 1 1 *", "input": map[string]any{}}
	cronID := ask(t, web, "ann", http.MethodPost, "/runs/crons", cron).field(t, "cron_id")
	item := map[string]any{"namespace": []string{"a"}, "key": "k", "value": map[string]int{"n": 1}}
	require.Equal(t, http.StatusNoContent, ask(t, web, "ann", http.MethodPut, "/store/items", item).status)
	runID := ask(t, web, "ann", http.MethodPost, thread+"/runs", run).field(t, "run_id")

	undoing, undoingCron := maps.Clone(run), maps.Clone(cron)
	undoing["multitask_strategy"], undoingCron["multitask_strategy"] = "rollback", "rollback"
	for _, c := range []struct {
		method, path     string
		body             any
		operator, others int
	}{
		{http.MethodGet, thread, nil, 200, 404},
		{http.MethodGet, thread + "/state", nil, 200, 404},
		{http.MethodGet, thread + "/runs", nil, 200, 404},
		{http.MethodGet, thread + "/runs/" + runID, nil, 200, 404},
		{http.MethodPatch, thread, map[string]any{"metadata": map[string]string{"seen": "yes"}}, 200, 404},
		{http.MethodPatch, thread, map[string]any{"ttl": 1}, 403, 404},
		{http.MethodPatch, thread, map[string]any{"ttl": map[string]any{"ttl": 1, "strategy": "keep_latest"}}, 403, 404},
		{http.MethodPost, thread + "/runs/wait", run, 200, 404},
		{http.MethodPost, thread + "/state", map[string]any{"values": map[string]any{"messages": []any{}}}, 200, 404},
		{http.MethodPost, thread + "/copy", nil, 200, 404},
		{http.MethodPost, thread + "/runs/" + runID + "/cancel?wait=1&action=rollback", nil, 403, 404},
		{http.MethodPost, "/runs/" + runID + "/cancel?action=rollback", nil, 403, 404},
		{http.MethodPost, thread + "/runs/wait", undoing, 403, 404},
		{http.MethodPost, thread + "/runs/crons", undoingCron, 403, 404},
		{http.MethodPost, thread + "/runs/" + runID + "/cancel?wait=1", nil, 200, 404},
		{http.MethodDelete, thread + "/runs/" + runID, nil, 404, 404},
		{http.MethodDelete, thread, nil, 404, 404},
		{http.MethodDelete, "/runs/crons/" + cronID, nil, 404, 404},
		{http.MethodGet, "/metrics", nil, 403, 403},
	} {
		assert.Equal(t, c.others, ask(t, web, "bob:operate", c.method, c.path, c.body).status, "bob: %s %s", c.method, c.path)
		got := ask(t, web, operator, c.method, c.path, c.body)
		assert.Equal(t, c.operator, got.status, "ops: %s %s: %s", c.method, c.path, got.body)
	}
	for _, strategy := range []string{"delete", "keep_latest"} {
		prune := map[string]any{"thread_ids": []string{thread[len("/threads/"):]}, "strategy": strategy}
		assert.JSONEq(t, `{"pruned_count":0}`, ask(t, web, operator, http.MethodPost, "/threads/prune", prune).body, strategy)
	}
	assert.Equal(t, "null", strings.TrimSpace(ask(t, web, operator, http.MethodGet, "/store/items?namespace=a&key=k", nil).body), "items of users")
	assert.Equal(t, "[]", strings.TrimSpace(ask(t, web, "bob", http.MethodPost, "/threads/search", map[string]any{}).body))
	assert.Contains(t, ask(t, web, operator, http.MethodPost, "/threads/search", map[string]any{}).body, thread[len("/threads/"):])
	assert.Contains(t, ask(t, web, operator, http.MethodPost, "/weft/runs/search", map[string]any{}).body, runID)
	assert.NotContains(t, ask(t, web, operator, http.MethodPost, "/runs/crons/search", map[string]any{}).body, cronID)

	assert.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodPost, thread+"/runs/wait", undoing).status)

	own := ask(t, web, operator, http.MethodPost, "/threads", map[string]any{"thread_id": uuid.New()}).field(t, "thread_id")
	assert.Equal(t, http.StatusNotFound, ask(t, web, "ann", http.MethodGet, "/threads/"+own, nil).status, "a thread that an operator makes is its own")
	assert.Equal(t, http.StatusOK, ask(t, web, "ann", http.MethodGet, thread, nil).status, "the thread of a user stays its own")
}

// A rollback deletes the stored data of a run. The permission to stop the runs of others does not include the permission to
// delete them.
func TestAnOperatorDoesNotRollBackTheRunsOfOthers(t *testing.T) {
	t.Parallel()
	_, web := testServer(t, nil)
	const operator = "ops:" + server.PermissionOperate
	waiting := map[string]any{"assistant_id": "echo", "after_seconds": 1000, "if_not_exists": "create", "input": map[string]any{"messages": []any{}}}
	started := func(user string) (id, path string) {
		thread := "/threads/" + uuid.New()
		id = ask(t, web, user, http.MethodPost, thread+"/runs", waiting).field(t, "run_id")
		return id, thread + "/runs/" + id
	}
	ofAnn, annPath := started("ann")
	ofOperator, operatorPath := started(operator)
	cancel := func(user, action string, ids ...string) int {
		return ask(t, web, user, http.MethodPost, "/runs/cancel?action="+action, map[string]any{"run_ids": ids}).status
	}
	assert.Equal(t, http.StatusForbidden, cancel(operator, "rollback", ofAnn, ofOperator))
	assert.Contains(t, ask(t, web, "ann", http.MethodGet, annPath, nil).body, `"pending"`)
	assert.Equal(t, http.StatusNoContent, cancel(operator, "rollback", ofOperator))
	assert.Equal(t, http.StatusNotFound, ask(t, web, operator, http.MethodGet, operatorPath, nil).status)
	assert.Equal(t, http.StatusNoContent, cancel(operator, "interrupt", ofAnn))
	assert.Contains(t, ask(t, web, "ann", http.MethodGet, annPath, nil).body, `"interrupted"`)
	other, otherPath := started("ann")
	assert.Equal(t, http.StatusNoContent, cancel("ann", "rollback", other))
	assert.Equal(t, http.StatusNotFound, ask(t, web, "ann", http.MethodGet, otherPath, nil).status)
}
