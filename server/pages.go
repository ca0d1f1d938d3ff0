package server

import (
	"errors"
	"net/http"
	"strings"
)

// The paths of the pages.
const (
	chatPath   = "/chat/"
	studioPath = "/studio/"
)

// pages registers the pages. They are the same for all users, so a browser gets them without authentication. The requests
// of a page for data need a user.
func (s *Server) pages() error {
	var errs error
	add := func(path string, page http.Handler, err error) {
		errs = errors.Join(errs, err)
		s.mux.Handle(path, http.StripPrefix(strings.TrimSuffix(path, "/"), page))
		s.mux.Handle(strings.TrimSuffix(path, "/"), http.RedirectHandler(strings.Trim(path, "/")+"/", http.StatusPermanentRedirect))
		s.open = append(s.open, path)
	}
	if c := s.o.Chat; c != nil {
		page, err := c.Handler()
		add(chatPath, page, err)
	}
	if c := s.o.Studio; c != nil {
		page, err := c.Handler()
		add(studioPath, page, err)
	}
	return errs
}

// isOpen reports whether a path needs no user.
func (s *Server) isOpen(path string) bool {
	for _, p := range s.open {
		if path == strings.TrimSuffix(p, "/") || strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}
