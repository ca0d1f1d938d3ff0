package ui

import "net/http"

// Studio describes the page for people who build and operate graphs.
type Studio struct {
	// Write shows the controls that change threads: to answer questions, to fork, to edit a state. The server still
	// decides what a user may do. Without Write, the page only reads.
	Write bool
	// Login is the address at which a person signs in; see [Chat].
	Login string
	// Currency is the currency of the costs that the server computes, as a code of ISO 4217, such as "EUR". Empty means
	// that the page shows plain numbers. Costs need Cost of the server's options.
	Currency string
}

// Handler returns the page; see [Chat.Handler].
func (s Studio) Handler() (http.Handler, error) {
	return newPage("studio.html", settings{Title: "Weft Studio", Write: s.Write, Login: s.Login, Currency: s.Currency}, studioShell, nil)
}
