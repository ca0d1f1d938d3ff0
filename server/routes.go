package server

import "net/http"

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

// routes registers the paths of LangGraph Server's protocol.
func (s *Server) routes() {
	s.mux.HandleFunc("/{path...}", func(_ http.ResponseWriter, r *http.Request) {
		c := r.Context().Value(callKey{}).(*call) //nolint:forcetypeassert // serve sets it
		c.fail(refuse(http.StatusNotFound, "There is no path %s.", shortened(r.URL.Path)))
	})
	for path, methods := range endpoints() {
		s.route(path, methods)
	}
}

// endpoints returns the handlers by path and method.
func endpoints() map[string]map[string]endpoint {
	return map[string]map[string]endpoint{
		"/ok":      {get: {(*call).ok, ActionRead}},
		"/healthz": {get: {(*call).ok, ActionRead}},
		"/metrics": {get: {(*call).metrics, ActionRead}},
		"/readyz":  {get: {(*call).ready, ActionRead}},
		"/info":    {get: {(*call).info, ActionRead}},

		"/assistants":                                   {post: {(*call).createAssistant, ActionCreate}},
		"/assistants/search":                            {post: {(*call).searchAssistants, ActionSearch}},
		"/assistants/count":                             {post: {(*call).countAssistants, ActionSearch}},
		"/assistants/{assistant}":                       {get: {(*call).getAssistant, ActionRead}, patch: {(*call).patchAssistant, ActionUpdate}, remove: {(*call).deleteAssistant, ActionDelete}},
		"/assistants/{assistant}/graph":                 {get: {(*call).drawAssistant, ActionRead}},
		"/assistants/{assistant}/schemas":               {get: {(*call).schemas, ActionRead}},
		"/assistants/{assistant}/subgraphs":             {get: {(*call).subgraphs, ActionRead}},
		"/assistants/{assistant}/subgraphs/{namespace}": {get: {(*call).subgraphs, ActionRead}},
		"/assistants/{assistant}/versions":              {post: {(*call).listVersions, ActionRead}},
		"/assistants/{assistant}/latest":                {post: {(*call).setLatest, ActionUpdate}},

		"/threads":                             {post: {(*call).createThread, ActionCreate}},
		"/threads/search":                      {post: {(*call).searchThreads, ActionSearch}},
		"/threads/count":                       {post: {(*call).countThreads, ActionSearch}},
		"/threads/prune":                       {post: {(*call).pruneThreads, ActionDelete}},
		"/threads/{thread}":                    {get: {(*call).getThread, ActionRead}, patch: {(*call).patchThread, ActionUpdate}, remove: {(*call).deleteThread, ActionDelete}},
		"/threads/{thread}/copy":               {post: {(*call).copyThread, ActionRead}},
		"/threads/{thread}/state":              {get: {(*call).getState, ActionRead}, post: {(*call).updateState, ActionUpdate}},
		"/threads/{thread}/state/checkpoint":   {post: {(*call).getStateAt, ActionRead}},
		"/threads/{thread}/state/{checkpoint}": {get: {(*call).getState, ActionRead}},
		"/threads/{thread}/history":            {get: {(*call).history, ActionRead}, post: {(*call).history, ActionRead}},
		"/threads/{thread}/stream":             {get: {open((*call).watchThread), ActionRead}},
		"/threads/{thread}/commands":           {post: {(*call).command, ActionCreateRun}},
		"/threads/{thread}/stream/events":      {get: {open((*call).events), ActionRead}, post: {open((*call).streamEvents), ActionRead}},
		"/threads/{thread}/runs":               {get: {(*call).listRuns, ActionSearch}, post: {(*call).createRun, ActionCreateRun}},
		"/threads/{thread}/runs/wait":          {post: {open((*call).waitRun), ActionCreateRun}},
		"/threads/{thread}/runs/stream":        {post: {open((*call).streamRun), ActionCreateRun}},
		"/threads/{thread}/runs/{run}":         {get: {(*call).getRun, ActionRead}, remove: {(*call).deleteRun, ActionDelete}},
		"/threads/{thread}/runs/{run}/join":    {get: {open((*call).joinRun), ActionRead}},
		"/threads/{thread}/runs/{run}/stream":  {get: {open((*call).streamAgain), ActionRead}},
		"/threads/{thread}/runs/{run}/cancel":  {post: {(*call).cancelRun, ActionUpdate}},
		"/threads/{thread}/runs/crons":         {post: {(*call).createCron, ActionCreate}},

		"/runs":                {post: {(*call).createRun, ActionCreateRun}},
		"/runs/wait":           {post: {open((*call).waitRun), ActionCreateRun}},
		"/runs/stream":         {post: {open((*call).streamRun), ActionCreateRun}},
		"/runs/batch":          {post: {(*call).createRuns, ActionCreateRun}},
		"/runs/cancel":         {post: {(*call).cancelMany, ActionUpdate}},
		"/runs/{run}/{action}": {get: {only("stream", open((*call).streamAgain)), ActionRead}, post: {only("cancel", (*call).cancelRun), ActionUpdate}},

		"/runs/crons":        {post: {(*call).createCron, ActionCreate}},
		"/runs/crons/search": {post: {(*call).searchCrons, ActionSearch}},
		"/runs/crons/count":  {post: {(*call).countCrons, ActionSearch}},
		"/runs/crons/{cron}": {patch: {(*call).patchCron, ActionUpdate}, remove: {(*call).deleteCron, ActionDelete}},

		"/ag-ui/{assistant}":   {post: {open((*call).runAGUI), ActionCreateRun}},
		"/v1/chat/completions": {post: {open((*call).completeChat), ActionCreateRun}},
		"/v1/models":           {get: {(*call).listModels, ActionSearch}},
		"/v1/models/{model}":   {get: {(*call).getModel, ActionRead}},

		"/store/items":        {get: {(*call).getItem, ActionRead}, put: {(*call).putItem, ActionUpdate}, remove: {(*call).deleteItem, ActionDelete}},
		"/store/items/search": {post: {(*call).searchItems, ActionSearch}},
		"/store/namespaces":   {post: {(*call).listNamespaces, ActionSearch}},

		"/weft/memory/scopes":               {get: {(*call).factScopes, ActionSearch}},
		"/weft/memory/facts":                {post: {(*call).searchFacts, ActionSearch}},
		"/weft/info":                        {get: {(*call).about, ActionRead}},
		"/weft/runs/search":                 {post: {(*call).searchRuns, ActionSearch}},
		"/weft/threads/{thread}/graph":      {get: {(*call).drawThread, ActionRead}},
		"/weft/threads/{thread}/timeline":   {get: {(*call).timeline, ActionRead}},
		"/weft/threads/{thread}/runs/{run}": {get: {(*call).traceRun, ActionRead}},
	}
}

func (c *call) ok() error { return c.send(map[string]bool{"ok": true}) }

func (c *call) info() error {
	return c.send(map[string]any{
		"version": "0.16.7", "flags": map[string]bool{"assistants": true, "crons": true, "langsmith": false},
	})
}

// only returns a handler for requests whose path ends with this action.
func only(action string, h handler) handler {
	return func(c *call) error {
		if c.r.PathValue("action") != action {
			return refuse(http.StatusNotFound, "There is no path %s.", shortened(c.r.URL.Path))
		}
		return h(c)
	}
}
