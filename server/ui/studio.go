package ui

import "net/http"

// Studio describes the page for people who build and look after graphs.
type Studio struct {
	// Write shows what changes threads: to answer questions, to fork, to edit a state. The server
	// decides what a user may do; without Write the page offers only what reads.
	Write bool
	// Login is the address at which a person signs in; see [Chat].
	Login string
}

// Handler returns the page; see [Chat.Handler].
func (s Studio) Handler() (http.Handler, error) {
	return newPage("studio.html", settings{Title: "Weft Studio", Write: s.Write, Login: s.Login}, "", nil)
}
