package main

import (
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/weft-go/weft/server"
)

// maxList is the greatest size of an uploaded list of orders, in bytes.
const maxList = 1 << 20

// lists holds the lists of orders that people have uploaded, by thread and id.
type lists struct {
	mu    sync.Mutex
	files map[string]map[string][][]string
}

// serve adds the routes by which the page uploads and deletes lists.
func (l *lists) serve(s *server.Server) {
	// docs:begin upload
	s.Handle("POST /api/lists", func(w http.ResponseWriter, r *http.Request) error {
		thread := r.URL.Query().Get("thread")
		if err := s.CheckThread(r, thread); err != nil {
			return err
		}
		if err := server.AllowBody(r, maxList, time.Minute); err != nil {
			return err
		}
		file, header, err := r.FormFile("file")
		if err != nil {
			return err
		}
		rows, err := csv.NewReader(file).ReadAll()
		if err != nil {
			return &server.Refusal{Status: http.StatusUnprocessableEntity, Detail: fmt.Sprintf("This is not a CSV file: %v.", err)}
		}
		id := l.add(thread, rows)
		return json.NewEncoder(w).Encode(map[string]string{"id": id, "name": path.Base(header.Filename), "note": fmt.Sprintf("%d rows", len(rows))})
	})
	s.Handle("DELETE /api/lists", func(w http.ResponseWriter, r *http.Request) error {
		thread := r.URL.Query().Get("thread")
		if err := s.CheckThread(r, thread); err != nil {
			return err
		}
		return l.remove(thread, r.URL.Query().Get("id"))
	})
	// docs:end
}

func (l *lists) add(thread string, rows [][]string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files[thread] == nil {
		l.files[thread] = map[string][][]string{}
	}
	id := rand.Text()
	l.files[thread][id] = rows
	return id
}

func (l *lists) remove(thread, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.files[thread][id]; !ok {
		return &server.Refusal{Status: http.StatusNotFound, Detail: "There is no such list."}
	}
	delete(l.files[thread], id)
	return nil
}

// forget removes the lists of a deleted thread.
func (l *lists) forget(_ context.Context, thread string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.files, thread)
	return nil
}
