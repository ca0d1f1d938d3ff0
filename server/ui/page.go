package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/tools"
)

// A page is an [http.Handler] that serves a page and its files.
type page struct {
	html  []byte
	theme []byte // the style sheet with the tokens of the application
	// ancestors are the sources whose pages may show this page in a frame, in the form of the policy.
	ancestors string
}

// settings are the settings that the page reads. src/config.ts has the same fields.
type settings struct {
	Assistant   string              `json:"assistant,omitempty"`
	Messages    string              `json:"messages,omitempty"`
	Title       string              `json:"title,omitempty"`
	Language    string              `json:"language,omitempty"`
	Texts       map[string]string   `json:"texts,omitempty"`
	Greeting    string              `json:"greeting,omitempty"`
	Suggestions []string            `json:"suggestions,omitempty"`
	Placeholder string              `json:"placeholder,omitempty"`
	Script      string              `json:"script,omitempty"`
	Login       string              `json:"login,omitempty"`
	SignIn      bool                `json:"signIn,omitempty"`
	Attach      bool                `json:"attach,omitempty"`
	Upload      string              `json:"upload,omitempty"`
	Accept      string              `json:"accept,omitempty"`
	Memory      string              `json:"memory,omitempty"`
	Write       bool                `json:"write,omitempty"`
	Currency    string              `json:"currency,omitempty"`
	Tools       map[string]toolInfo `json:"tools,omitempty"`
}

// toolInfo is the data of a tool that a page shows.
type toolInfo struct {
	Title       string          `json:"title,omitempty"`
	Result      string          `json:"result,omitempty"`
	Description string          `json:"description,omitempty"`
	Destructive bool            `json:"destructive,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

func toolInfos(list []tools.Tool) (map[string]toolInfo, error) {
	out := map[string]toolInfo{}
	for _, t := range list {
		if err := t.Err(); err != nil {
			return nil, fmt.Errorf("ui: tool %q: %w", t.Name(), err)
		}
		spec, a := t.Spec(), t.Annotations()
		out[t.Name()] = toolInfo{Title: a.Title, Result: a.Result, Description: spec.Description, Destructive: a.Destructive, Schema: spec.Schema}
	}
	return out, nil
}

// newPage returns the page for a built file, with its settings and its shell.
func newPage(file string, s settings, shell string, theme map[string]string) (*page, error) {
	text, err := fs.ReadFile(built(), file)
	if err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	config, err := json.Marshal(s) // Marshal escapes <, so a text cannot end the element
	if err != nil {
		return nil, fmt.Errorf("ui: the settings of the page: %w", err)
	}
	text = bytes.Replace(text, []byte(`<script type="application/json" id="config">{}</script>`),
		[]byte(`<script type="application/json" id="config">`+string(config)+`</script>`), 1)
	if s.Title != "" {
		text = title.ReplaceAllLiteral(text, []byte("<title>"+html.EscapeString(s.Title)+"</title>"))
	}
	text = bytes.Replace(text, []byte(`<div id="root"></div>`), []byte(`<div id="root">`+shell+`</div>`), 1)
	if s.Language != "" {
		text = bytes.Replace(text, []byte(`<html lang="en">`), []byte(`<html lang="`+s.Language+`" dir="`+directionOf(s.Language)+`">`), 1)
	}
	if words, ok := s.Texts[noScript]; ok {
		text = bytes.Replace(text, []byte("<noscript>"+noScript), []byte("<noscript>"+html.EscapeString(words)), 1)
	}
	head := ""
	if len(theme) > 0 {
		head += `<link rel="stylesheet" href="./app-theme.css">` // after the tokens that it replaces
	}
	if s.Script != "" {
		head += `<script type="module" src="` + html.EscapeString(s.Script) + `"></script>`
	}
	text = bytes.Replace(text, []byte("</head>"), []byte(head+"</head>"), 1)
	css, err := themeSheet(theme)
	return &page{html: text, theme: css, ancestors: noAncestors}, err
}

// noScript is the only text in the built file. A script writes all other texts.
const noScript = "This page needs JavaScript."

var (
	title      = regexp.MustCompile(`<title>[^<]*</title>`)
	tokenValue = regexp.MustCompile(`^[\w#%.,()/ -]+$`)
)

// tokenNames are the variables that an application may set.
var tokenNames = []string{"accent", "bg", "danger", "info", "line", "muted", "ok", "on-accent", "radius", "raised", "sunk", "surface", "text", "warn"}

// shades are the values of variables that the application does not set, if it sets bg.
var shades = map[string]string{
	"line":    "color-mix(in srgb, var(--text) 13%, var(--bg))",
	"raised":  "light-dark(var(--bg), color-mix(in srgb, var(--text) 6%, var(--bg)))",
	"sunk":    "light-dark(color-mix(in srgb, var(--text) 6%, var(--bg)), color-mix(in srgb, black 25%, var(--bg)))",
	"surface": "color-mix(in srgb, var(--text) 4%, var(--bg))",
}

func themeSheet(theme map[string]string) ([]byte, error) {
	var b bytes.Buffer
	if theme["bg"] != "" {
		for _, name := range slices.Sorted(maps.Keys(shades)) {
			fmt.Fprintf(&b, "  --%s: %s;\n", name, shades[name]) // the values of the application follow and override it
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theme)) {
		if !slices.Contains(tokenNames, name) {
			return nil, fmt.Errorf("ui: there is no variable %q in a theme; the variables are %s", name, strings.Join(tokenNames, ", "))
		}
		if !tokenValue.MatchString(theme[name]) {
			return nil, fmt.Errorf("ui: the variable %q of the theme is %q; it must be a colour or a length of CSS", name, theme[name])
		}
		fmt.Fprintf(&b, "  --%s: %s;\n", name, theme[name])
	}
	return []byte(":root {\n" + b.String() + "}\n"), nil
}

// ServeHTTP serves the page and its files. The path of the request must not contain the path of the page.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header(), p.ancestors)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "a page can only be read", http.StatusMethodNotAllowed)
		return
	}
	switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
	case "":
		serveData(w, r, "page.html", p.html)
	case "app-theme.css":
		serveData(w, r, name, p.theme)
	default:
		serveFile(w, r, name)
	}
}
