package ui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weft-go/weft/server/ui"
)

// A program with its own router serves the page under a path. A server of package server serves the page itself, if
// Options.Chat is set.
func ExampleChat_Handler() {
	page, err := ui.Chat{
		Title:       "Kontor",
		Suggestions: []string{"Where is my order?"},
		Theme:       map[string]string{"accent": "light-dark(#7c3aed, #c4b5fd)"},
	}.Handler()
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/help/", http.StripPrefix("/help", page))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/help/", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "<title>Kontor</title>"))
	// Output: 200 true
}
