package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
)

// handler serves the requests of users for their threads.
func handler(store *supacheckpoint.Store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/threads/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer, err := serve(store, r)
		if err != nil {
			refuse(w, err)
			return
		}
		_, _ = io.WriteString(w, answer) // the client may have closed the connection
	})
	return mux
}

// docs:begin user
// forUser returns the store of the user of the request. All calls of this store have the
// user's role and claims.
func forUser(store *supacheckpoint.Store, r *http.Request) (*supacheckpoint.Store, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, fmt.Errorf("no bearer token: %w", supacheckpoint.ErrToken)
	}
	user, err := store.VerifyJWT(r.Context(), token)
	if err != nil {
		return nil, err
	}
	return store.As(user)
}

func serve(store *supacheckpoint.Store, r *http.Request) (string, error) {
	mine, err := forUser(store, r)
	if err != nil {
		return "", err
	}
	bot, err := agent.New("helper", llm.ModelFunc(model), nil, agent.Options{Graph: graph.Options{Checkpoints: mine}})
	if err != nil {
		return "", err
	}
	return talk(bot.Thread(r.PathValue("id")), r)
}

// docs:end

// refuse sends a short error to the user, without details. A service would log the details.
func refuse(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, supacheckpoint.ErrToken):
		http.Error(w, "sign in first", http.StatusUnauthorized)
	case errors.Is(err, checkpoint.ErrNotFound):
		http.Error(w, "no such thread", http.StatusNotFound)
	case errors.Is(err, checkpoint.ErrConflict):
		http.Error(w, "the thread is busy", http.StatusConflict)
	default:
		http.Error(w, "that did not work", http.StatusInternalServerError)
	}
}

// talk sends the text of a POST request to the agent and returns the answer. For another method it
// returns the number of messages.
func talk(thread *graph.Thread, r *http.Request) (string, error) {
	if r.Method != http.MethodPost {
		snap, err := thread.Snapshot(r.Context())
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d messages", agent.Messages.Len(snap)), nil
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 64<<10))
	if err != nil {
		return "", err
	}
	snap, err := thread.Invoke(r.Context(), agent.Messages.Put(llm.User(string(text))))
	if err != nil {
		return "", err
	}
	answer, _ := agent.Messages.Last(snap)
	return answer.Text(), nil
}

// model stands for a model. It counts the messages of the user in the thread.
func model(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	heard := 0
	for _, m := range r.Messages {
		if m.Role == llm.RoleUser {
			heard++
		}
	}
	return llm.Reply(llm.Assistant(fmt.Sprintf("I have noted %d of your wishes.", heard)))
}
