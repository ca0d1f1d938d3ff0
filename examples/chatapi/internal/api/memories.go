package api

import (
	"net/http"
	"time"

	"github.com/weft-go/weft/examples/internal/jsonhttp"
	"github.com/weft-go/weft/memory"
)

// A Memory is a fact that is known about a user.
type Memory struct {
	ID      string      `json:"id"`
	Kind    memory.Kind `json:"kind"`
	Content string      `json:"content"`
	Since   time.Time   `json:"since"`
}

// memories lists the facts about a user, the newest first.
func (s routes) memories(w http.ResponseWriter, r *http.Request) error {
	of, err := Scope(r, r.URL.Query().Get("user_id"))
	if err != nil {
		return err
	}
	out := []Memory{}
	for f, err := range s.Facts(r.Context(), of) {
		if err != nil {
			return err
		}
		out = append(out, Memory{f.ID, f.Kind, f.Content, f.CreatedAt})
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

// forget deletes one fact about a user, or all facts if the path has no id.
func (s routes) forget(w http.ResponseWriter, r *http.Request) error {
	of, err := Scope(r, r.URL.Query().Get("user_id"))
	if err != nil {
		return err
	}
	n, warning, err := s.ForgetFacts(r.Context(), of, r.PathValue("id"))
	if err != nil {
		return err
	}
	out := struct {
		Forgotten int    `json:"forgotten"`
		Warning   string `json:"warning,omitempty"`
	}{n, warning}
	return jsonhttp.Write(w, http.StatusOK, out)
}
