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
	for path, methods := range map[string]map[string]handler{
		"/ok":      {get: (*call).ok},
		"/healthz": {get: (*call).ok},
		"/readyz":  {get: (*call).ready},
		"/info":    {get: (*call).info},

		"/assistants":                      {post: (*call).createAssistant},
		"/assistants/search":               {post: (*call).searchAssistants},
		"/assistants/count":                {post: (*call).countAssistants},
		"/assistants/{assistant}":          {get: (*call).getAssistant, patch: (*call).patchAssistant, remove: (*call).deleteAssistant},
		"/assistants/{assistant}/graph":    {get: (*call).drawAssistant},
		"/assistants/{assistant}/schemas":  {get: (*call).schemas},
		"/assistants/{assistant}/versions": {post: (*call).listVersions},
		"/assistants/{assistant}/latest":   {post: (*call).setLatest},

		"/threads":                             {post: (*call).createThread},
		"/threads/search":                      {post: (*call).searchThreads},
		"/threads/count":                       {post: (*call).countThreads},
		"/threads/prune":                       {post: (*call).pruneThreads},
		"/threads/{thread}":                    {get: (*call).getThread, patch: (*call).patchThread, remove: (*call).deleteThread},
		"/threads/{thread}/copy":               {post: (*call).copyThread},
		"/threads/{thread}/state":              {get: (*call).getState, post: (*call).updateState},
		"/threads/{thread}/state/checkpoint":   {post: (*call).getStateAt},
		"/threads/{thread}/state/{checkpoint}": {get: (*call).getState},
		"/threads/{thread}/history":            {get: (*call).history, post: (*call).history},
		"/threads/{thread}/stream":             {get: (*call).watchThread},
		"/threads/{thread}/commands":           {post: (*call).command},
		"/threads/{thread}/stream/events":      {post: (*call).streamEvents},
		"/threads/{thread}/runs":               {get: (*call).listRuns, post: (*call).createRun},
		"/threads/{thread}/runs/wait":          {post: (*call).waitRun},
		"/threads/{thread}/runs/stream":        {post: (*call).streamRun},
		"/threads/{thread}/runs/{run}":         {get: (*call).getRun, remove: (*call).deleteRun},
		"/threads/{thread}/runs/{run}/join":    {get: (*call).joinRun},
		"/threads/{thread}/runs/{run}/stream":  {get: (*call).streamAgain},
		"/threads/{thread}/runs/{run}/cancel":  {post: (*call).cancelRun},
		"/threads/{thread}/runs/crons":         {post: (*call).createCron},

		"/runs":                {post: (*call).createRun},
		"/runs/wait":           {post: (*call).waitRun},
		"/runs/stream":         {post: (*call).streamRun},
		"/runs/batch":          {post: (*call).createRuns},
		"/runs/cancel":         {post: (*call).cancelMany},
		"/runs/{run}/{action}": {get: only("stream", (*call).streamAgain), post: only("cancel", (*call).cancelRun)},

		"/runs/crons":        {post: (*call).createCron},
		"/runs/crons/search": {post: (*call).searchCrons},
		"/runs/crons/count":  {post: (*call).countCrons},
		"/runs/crons/{cron}": {patch: (*call).patchCron, remove: (*call).deleteCron},

		"/store/items":        {get: (*call).getItem, put: (*call).putItem, remove: (*call).deleteItem},
		"/store/items/search": {post: (*call).searchItems},
		"/store/namespaces":   {post: (*call).listNamespaces},
	} {
		s.route(path, methods)
	}
}

func (c *call) ok() error { return c.send(map[string]bool{"ok": true}) }

// ready reports whether the store answers.
func (c *call) ready() error {
	for name, g := range c.s.graphs {
		if _, err := c.s.o.Runs.Last(c.ctx(), g.assistant); err != nil {
			c.s.o.Logger.Error("server: the store does not answer", "graph", name, "error", err)
			return refuse(http.StatusServiceUnavailable, "The store does not answer.")
		}
		break
	}
	return c.ok()
}

func (c *call) info() error {
	return c.send(map[string]any{
		"version": "0.16.7", "flags": map[string]bool{"assistants": true, "crons": true, "langsmith": false},
	})
}

// only returns a handler for one value of the last part of a path.
func only(action string, h handler) handler {
	return func(c *call) error {
		if c.r.PathValue("action") != action {
			return refuse(http.StatusNotFound, "There is no path %s.", shortened(c.r.URL.Path))
		}
		return h(c)
	}
}
