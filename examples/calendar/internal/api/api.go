// Package api is the assistant over HTTP, as the examples' page asks for it.
package api

import (
	"crypto/rand"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/internal/page"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// maxBody is how many bytes the body of a request may have.
const maxBody = 32 << 10

// mostListed is how many sessions are listed.
const mostListed = 50

// api answers requests. A session is a thread, whose name begins with who it is
// of, so that nobody reaches another's.
type api struct {
	graph   *graph.Graph
	threads checkpoint.ThreadLister
}

// New returns the handler of the API and the page.
func New(g *graph.Graph, threads checkpoint.ThreadLister, logger *slog.Logger) http.Handler {
	a, mux := &api{g, threads}, http.NewServeMux()
	page.Mount(mux, page.Options{
		Title: "Calendar", Intro: "It works on your calendar, mail and tasks, and asks before it deletes, changes or sends anything.",
		Placeholder: "delete my meeting with John", Graph: g,
		Suggestions: []string{"what's on my calendar next week?", "delete my meeting with John", "any unread mail?", "help"},
	})
	for pattern, fn := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/sessions": a.list, "POST /api/sessions": a.create, "GET /api/sessions/{id}": a.show,
		"POST /api/sessions/{id}/messages": a.message, "POST /api/sessions/{id}/answers": a.answer, "POST /api/sessions/{id}/resume": a.resume,
	} {
		mux.Handle(pattern, web.Handler(logger, fn))
	}
	return mux
}

// owned is what the names of a caller's threads begin with.
func owned(r *http.Request) string { return "http/" + web.Caller(r) + "/" }

// thread finds the session of a request, and where it is.
func (a *api) thread(r *http.Request) (*graph.Thread, *graph.Snapshot, error) {
	t := a.graph.Thread(owned(r) + r.PathValue("id"))
	snap, err := t.Snapshot(r.Context())
	return t, snap, err
}

func (a *api) create(w http.ResponseWriter, r *http.Request) error {
	if err := web.Read(w, r, &struct{}{}, maxBody); err != nil {
		return err
	}
	id := strings.ToLower(rand.Text())
	// Nothing is due behind End: the session is there, and empty.
	snap, err := a.graph.Thread(owned(r)+id).Update(r.Context(), graph.End, assistant.SessionID.Put(id))
	if err != nil {
		return err
	}
	return web.Write(w, http.StatusCreated, page.Session{ID: id, UpdatedAt: snap.Time})
}

func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	sessions := []page.Session{}
	for info, err := range a.threads.ListThreads(r.Context(), owned(r)) {
		if err != nil {
			return err
		}
		sessions = append(sessions, page.Session{ID: strings.TrimPrefix(info.ID, owned(r)), UpdatedAt: info.Updated})
	}
	slices.SortFunc(sessions, func(a, b page.Session) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	sessions = sessions[:min(len(sessions), mostListed)]
	for i := range sessions {
		snap, err := a.graph.Thread(owned(r) + sessions[i].ID).Snapshot(r.Context())
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
		if err == nil {
			sessions[i].Title = title(snap)
		}
	}
	return web.Write(w, http.StatusOK, sessions)
}

// title is what the user said first.
func title(s state.View) string {
	for _, m := range assistant.History.All(s) {
		if words := []rune(m.Text()); len(words) > 60 {
			return string(words[:59]) + "…"
		}
		return m.Text()
	}
	return ""
}

func (a *api) show(w http.ResponseWriter, r *http.Request) error {
	_, snap, err := a.thread(r)
	if err != nil {
		return err
	}
	said := assistant.History.Get(snap)
	if last, ok := assistant.History.Last(snap); ok && last.Role == llm.RoleAssistant && len(last.ToolCalls) == 0 && !snap.Done() {
		said = said[:len(said)-1] // the planner has said so, and the answer will stand there
	}
	t := page.Of(r.PathValue("id"), title(snap), snap, said)
	for i := range t.Waits {
		t.Waits[i] = asked(t.Waits[i], snap)
	}
	return web.Write(w, http.StatusOK, t)
}

// asked is a pause with the question that is open there, and its id.
func asked(c agent.Chunk, snap *graph.Snapshot) agent.Chunk {
	if open := assistant.Waiting(snap); open != nil && c.Pause != nil {
		p := *c.Pause
		p.ID = open.ID
		c.Text, c.Pause = open.Message, &p
	}
	return c
}

func (a *api) message(w http.ResponseWriter, r *http.Request) error {
	t, snap, err := a.thread(r)
	if err != nil {
		return err
	}
	var in struct {
		Message string `json:"message"`
	}
	if err := web.Read(w, r, &in, maxBody); err != nil {
		return err
	}
	switch open := assistant.Waiting(snap); {
	case strings.TrimSpace(in.Message) == "":
		return web.Invalid(map[string]string{"message": "it is empty"})
	case snap.Done():
		return send(w, r, t, assistant.Ask(r.PathValue("id"), in.Message, time.Now())...)
	case open != nil:
		return send(w, r, t, open.Answer(in.Message)...)
	}
	return web.Refuse(http.StatusConflict, "The run before this one is not finished. Resume it first.")
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) error {
	t, snap, err := a.thread(r)
	if err != nil {
		return err
	}
	var in struct {
		ID     string `json:"id"`
		Answer string `json:"answer"`
	}
	if err := web.Read(w, r, &in, maxBody); err != nil {
		return err
	}
	open := assistant.Waiting(snap)
	if open == nil || in.ID != open.ID {
		return graph.ErrNoQuestion
	}
	return send(w, r, t, open.Answer(in.Answer)...)
}

func (a *api) resume(w http.ResponseWriter, r *http.Request) error {
	t, snap, err := a.thread(r)
	if err != nil {
		return err
	}
	if snap.Done() || len(snap.Pauses) > 0 {
		return web.Refuse(http.StatusConflict, "There is nothing to go on with.")
	}
	return send(w, r, t)
}

// send runs the graph and sends what happens. The planner's own words are left
// out, as the answer takes their place.
func send(w http.ResponseWriter, r *http.Request, t *graph.Thread, writes ...state.Write) error {
	chunks := agent.Chunks(t.Stream(r.Context(), writes...))
	return web.Send(w, r, web.Chunks(told(chunks)))
}

// told are the chunks for a client: a pause comes with its question, which the
// end of the run has.
func told(chunks iter.Seq2[agent.Chunk, error]) iter.Seq2[agent.Chunk, error] {
	return func(yield func(agent.Chunk, error) bool) {
		var pauses []agent.Chunk
		for c, err := range chunks {
			switch {
			case err != nil:
			case c.Kind == agent.ChunkText && c.Node != assistant.SynthesizeResponse:
				continue
			case c.Kind == agent.ChunkPause:
				pauses = append(pauses, c)
				continue
			case c.Kind == agent.ChunkEnd:
				for _, p := range pauses {
					if !yield(asked(p, c.Snapshot), nil) {
						return
					}
				}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}
