package page

import (
	"embed"
	"encoding/json"
	"net/http"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/draw"
)

//go:embed page.html page.css page.js graph.js
var files embed.FS

// Options says what the page shows.
type Options struct {
	// Title and Intro are on top. Placeholder is in the empty field for a
	// message.
	Title, Intro, Placeholder string
	// Suggestions are messages to send with one click.
	Suggestions []string
	// Upload says which files may be uploaded, in the form of the attribute
	// accept: ".csv,text/csv". Empty means none.
	Upload string
	// Images lets the user send images with a message.
	Images bool
	// Token asks for a bearer token, which is sent with every request.
	Token bool
	// Graph is drawn. Nil draws none.
	Graph *graph.Graph
}

// policy keeps the page to its own files and its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Mount serves the page at / and its files beside it. It panics if the options
// can not be written as JSON, which all can.
func Mount(mux *http.ServeMux, o Options) {
	for _, name := range []string{"page.html", "page.css", "page.js", "graph.js"} {
		path := "GET /" + name
		if name == "page.html" {
			path = "GET /{$}"
		}
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			secure(w)
			http.ServeFileFS(w, r, files, name)
		})
	}
	config := settings(o)
	mux.HandleFunc("GET /page.json", func(w http.ResponseWriter, _ *http.Request) {
		secure(w)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(config) // who asked may have gone
	})
}

// settings is what the page is told.
func settings(o Options) []byte {
	s := struct {
		Title       string      `json:"title"`
		Intro       string      `json:"intro"`
		Placeholder string      `json:"placeholder"`
		Suggestions []string    `json:"suggestions"`
		Upload      string      `json:"upload"`
		Images      bool        `json:"images"`
		Token       bool        `json:"token"`
		Graph       *draw.Graph `json:"graph,omitempty"`
	}{o.Title, o.Intro, o.Placeholder, o.Suggestions, o.Upload, o.Images, o.Token, nil}
	if o.Graph != nil {
		d := o.Graph.Describe()
		s.Graph = &d
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return data
}

func secure(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
}
