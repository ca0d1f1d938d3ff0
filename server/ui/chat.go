package ui

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/weft-go/weft/tools"
)

// Chat describes the chat page for end users. The page of the zero value uses the only graph of the server.
type Chat struct {
	// Assistant is the name of the graph, or the id of the assistant, that the page uses. Empty means the only graph of
	// the server.
	Assistant string
	// Messages is the name of the channel of messages in the state of the graph. Empty means
	// "messages".
	Messages string
	// Title is the name of the page. Empty means "Chat".
	Title string
	// Greeting is a sentence on the empty page.
	Greeting string
	// Suggestions are messages that the empty page offers as the first message of a conversation.
	Suggestions []string
	// Placeholder is the text in the empty field for messages.
	Placeholder string
	// Language is the language of the page as a tag of BCP 47, such as "de" or "pt-BR". The page writes days and
	// numbers in this language, and an Arabic or Hebrew page from right to left. Empty means "en", with days and
	// numbers as the browser writes them.
	Language string
	// Texts maps English texts of the page to texts in another language: {"Send": "Senden"}. [ChatTexts] returns the
	// English texts. A text without an entry stays English. Texts does not apply to the errors of the server.
	Texts map[string]string
	// Tools are the tools of the graph. The page shows their titles instead of their names,
	// shows each result in the form that [tools.Annotations].Result declares, and makes forms of
	// their schemas. Everyone who can open the page can read these texts.
	Tools []tools.Tool
	// Attach lets a person attach images and text files to a message. If Upload is set, too, only
	// images become part of the message.
	Attach bool
	// Upload is the address on the server's own origin to which the page sends the files that a person attaches, such as
	// "/api/files". The page sends each file as a form with the field "file", and the id of an existing thread in the
	// query: POST /api/files?thread=ID. The answer is a JSON object. The page shows its fields "name" and "note". If it
	// has an "id", the person can remove the file until the message is sent: DELETE /api/files?thread=ID&id=ID. The
	// message has the files in additional_kwargs, under "files". Empty means that the page uploads no files. The guide of
	// the page has an example of a handler.
	Upload string
	// Accept has the types of files for Upload, like the attribute "accept" of HTML: ".csv,text/csv". Empty means all
	// files.
	Accept string
	// Memory is the address on the server's own origin that lists the facts that the application remembers about the
	// user, such as "/api/memories". GET answers with a list of objects with "id" and "content", DELETE ADDRESS/ID
	// forgets one fact, and DELETE ADDRESS forgets all. The page shows the list, and shows new facts after a turn. Empty
	// means that the page shows no facts.
	Memory string
	// Theme has values for variables of the page's style, such as "accent": "#7c3aed". A value may be light-dark(#7c3aed,
	// #c4b5fd). The variables are accent, on-accent, bg, surface, raised, sunk, line, text, muted, danger, warn, ok, info
	// and radius. If bg is set, the default values of surface, raised, sunk and line are shades of it.
	Theme map[string]string
	// Script is the address of a module of JavaScript on the server's own origin, such as
	// "/app.js". The module can add cards for types of results, and set the headers of
	// requests:
	//
	//	weft.card("invoice", (element, value) => { element.textContent = value.total })
	//	weft.headers(async ({ refused }) => ({ Authorization: "Bearer " + await token({ fresh: refused }) }))
	//
	// refused is true if the server has answered 401 to the last headers. The page sends no request before the
	// module has set the headers, has run or has failed.
	Script string
	// Login is the address at which a person signs in. If the server answers 401, the page redirects there, with its own
	// address in the parameter "return". If Login is empty and Script sets headers, the page says that the person is
	// signed out. If Script sets none, the page asks for a token and sends it as a bearer token.
	Login string
	// Frames are the origins of other sites whose pages may show this page in a frame, such as "https://www.example.com".
	// Empty means none. Name only sites that you trust: a page that shows the chat in a frame can make a person press a
	// button that the person does not see, such as an approval.
	Frames []string
	// SignIn lets a person sign in before the server refuses a request, for a server that also answers requests without
	// credentials. The sidebar then has a button to sign in, unless Script sets headers and Login is empty.
	SignIn bool
}

// Handler returns the page. Serve it under a path that ends with a slash, behind [http.StripPrefix]. The API of the
// server must be at the parent of that path. Handler returns an error if Theme has an unknown variable, if Texts has an
// unknown text, or if a tool, an address or an origin is invalid.
func (c Chat) Handler() (http.Handler, error) {
	if err := errors.Join(c.checkAddresses(), c.checkFrames(), c.checkLanguage()); err != nil {
		return nil, err
	}
	infos, err := toolInfos(c.Tools)
	if err != nil {
		return nil, err
	}
	title := c.Title
	if strings.TrimSpace(title) == "" {
		title = "Chat"
	}
	set := settings{
		Assistant: c.Assistant, Messages: c.Messages, Title: title, Language: c.Language, Texts: c.Texts, Greeting: c.Greeting, Suggestions: c.Suggestions, Placeholder: c.Placeholder,
		Script: c.Script, Login: c.Login, SignIn: c.SignIn, Attach: c.Attach, Upload: c.Upload, Accept: c.Accept, Memory: c.Memory, Tools: infos,
	}
	p, err := newPage("chat.html", set, chatShell(&set), c.Theme)
	if err != nil {
		return nil, err
	}
	if len(c.Frames) > 0 {
		p.ancestors = strings.Join(c.Frames, " ")
	}
	return p, nil
}

// checkAddresses returns an error for an address that a browser cannot open, or that the page's policy forbids.
func (c Chat) checkAddresses() error {
	for _, address := range []string{c.Script, c.Upload, c.Memory, c.Login} {
		if u, err := url.Parse(address); err != nil || u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http" {
			return fmt.Errorf("ui: %q is not an address of a page", address)
		}
	}
	for _, own := range []struct{ name, address, allows, path string }{
		{"Script", c.Script, "scripts of", "/app.js"},
		{"Upload", c.Upload, "requests to", "/api/files"},
		{"Memory", c.Memory, "requests to", "/api/memories"},
	} {
		if u, _ := url.Parse(own.address); u.Host != "" {
			return fmt.Errorf("ui: Chat.%s is %q; the page's policy allows %s its own origin only: give a path such as %s", own.name, own.address, own.allows, own.path)
		}
	}
	return nil
}

// origin matches the origins that browsers accept in a policy. Browsers accept no hosts with other characters, and no
// IPv6 addresses.
var origin = regexp.MustCompile(`^https?://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]+)?$`)

// checkFrames returns an error if an entry of Frames is not an origin.
func (c Chat) checkFrames() error {
	for _, frame := range c.Frames {
		if !origin.MatchString(frame) {
			return fmt.Errorf("ui: Chat.Frames has %q, which is no origin; give the scheme and the host, such as https://www.example.com, and a host with other letters in punycode", frame)
		}
	}
	return nil
}

func (c Chat) checkLanguage() error {
	if c.Language != "" && !languageTag.MatchString(c.Language) {
		return fmt.Errorf("ui: Chat.Language is %q; give a tag such as de or pt-BR", c.Language)
	}
	return checkTexts(c.Texts)
}
