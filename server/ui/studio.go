package ui

import "net/http"

// Studio describes the page for people who build and look after graphs.
type Studio struct {
	// Write shows what changes threads: to answer questions, to fork, to edit a state. The server
	// decides what a user may do; without Write the page offers only what reads.
	Write bool
	// Login is the address at which a person signs in; see [Chat].
	Login string
	// Currency is that of the costs which the server computes, as a code of ISO 4217, such as "EUR".
	// Empty means that the page shows plain numbers. Costs need Cost of the server's options.
	Currency string
}

// Handler returns the page; see [Chat.Handler].
func (s Studio) Handler() (http.Handler, error) {
	return newPage("studio.html", settings{Title: "Weft Studio", Write: s.Write, Login: s.Login, Currency: s.Currency}, studioShell, nil)
}
