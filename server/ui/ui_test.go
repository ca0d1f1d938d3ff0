package ui

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools"
)

func served(t *testing.T, h http.Handler, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func textOf(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(data)
}

func pageOf(t *testing.T, c Chat) http.Handler {
	t.Helper()
	h, err := c.Handler()
	require.NoError(t, err)
	return h
}

var loaded = regexp.MustCompile(`(?:src|href)="\./([^"]+)"`)

// The files that the chat page loads at its start have at most 250 kB compressed, and all files have at most 800 kB.
func TestThePagesAreSmall(t *testing.T) {
	t.Parallel()
	size := func(name string) int64 {
		info, err := fs.Stat(built(), name+".gz")
		require.NoError(t, err, name)
		return info.Size()
	}
	text, err := fs.ReadFile(built(), "chat.html")
	require.NoError(t, err)
	var chat, all int64
	for _, m := range loaded.FindAllStringSubmatch(string(text), -1) {
		chat += size(m[1])
	}
	require.NoError(t, fs.WalkDir(built(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		all += info.Size()
		return err
	}))
	assert.Positive(t, chat)
	assert.LessOrEqual(t, chat, int64(250_000), "the chat loads too much")
	assert.LessOrEqual(t, all, int64(800_000), "the pages are too large")
	t.Logf("chat: %d bytes, all: %d bytes", chat, all)
}

func TestEverythingThatAPageLoadsIsServed(t *testing.T) {
	t.Parallel()
	studio, err := Studio{}.Handler()
	require.NoError(t, err)
	for name, h := range map[string]http.Handler{"chat": pageOf(t, Chat{Theme: map[string]string{"accent": "#123456"}}), "studio": studio} {
		page := served(t, h, "/")
		require.Equal(t, http.StatusOK, page.StatusCode, name)
		links := loaded.FindAllStringSubmatch(textOf(t, page), -1)
		require.Greater(t, len(links), 2, name)
		for _, m := range links {
			assert.Equal(t, http.StatusOK, served(t, h, "/"+m[1]).StatusCode, "%s loads %s", name, m[1])
		}
	}
}

func TestPagesForbidInlineScriptsAndOtherHosts(t *testing.T) {
	t.Parallel()
	h := pageOf(t, Chat{Title: "A & B", Script: "/app.js"})
	for _, path := range []string{"/", "/theme.js", "/missing"} {
		r := served(t, h, path)
		csp := r.Header.Get("Content-Security-Policy")
		assert.Contains(t, csp, "default-src 'none'; script-src 'self'; style-src 'self';", path)
		assert.NotContains(t, csp, "unsafe", path)
		assert.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"), path)
	}
	text := textOf(t, served(t, h, "/"))
	assert.Contains(t, text, "<title>A &amp; B</title>")
	assert.Contains(t, text, `<script type="module" src="/app.js"></script></head>`)
	assert.Contains(t, text, `"script":"/app.js"`, "the page waits for it")
	for _, m := range regexp.MustCompile(`<script([^>]*)>([^<]*)</script>`).FindAllStringSubmatch(text, -1) {
		assert.True(t, m[2] == "" || strings.Contains(m[1], "application/json"), "inline script: %s", m[0])
	}
	assert.NotRegexp(t, `(src|href)="https?:`, text)
}

// Pages of other origins can show the page in a frame only if the application names their origins.
func TestOnlyNamedOriginsShowThePageInAFrame(t *testing.T) {
	t.Parallel()
	for want, frames := range map[string][]string{
		"frame-ancestors 'none'": nil,
		"frame-ancestors https://a.example http://xn--mnchen-3ya.example:8080": {"https://a.example", "http://xn--mnchen-3ya.example:8080"},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("X-Frame-Options", "DENY") // the server has set it
		pageOf(t, Chat{Frames: frames}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		r := w.Result()
		assert.Equal(t, len(frames) == 0, r.Header.Get("X-Frame-Options") == "DENY")
		assert.True(t, strings.HasSuffix(r.Header.Get("Content-Security-Policy"), "; "+want), r.Header)
	}
	for _, origin := range []string{"*", "https://*.example.com", "example.com", "https://a.example/", "https://a.example/chat", "https://a.example; script-src *", "javascript:alert(1)", "", "https://a.example:", "https://münchen.example", "https://<b>", "http://[::1]:8080", "https://a..example", "https://u@a.example"} {
		_, err := Chat{Frames: []string{origin}}.Handler()
		require.ErrorContains(t, err, "which is no origin", origin)
	}
}

// The page has the language of the application.
func TestThePageHasALanguageAndTexts(t *testing.T) {
	t.Parallel()
	for language, dir := range map[string]string{"de": "ltr", "pt-BR": "ltr", "ar": "rtl", "he-IL": "rtl", "az-Arab": "rtl", "ks-Deva": "ltr", "es-419": "ltr", "zh-Hant-TW": "ltr", "de-u-nu-latn-hc-h23": "ltr"} {
		text := textOf(t, served(t, pageOf(t, Chat{Language: language}), "/"))
		assert.Contains(t, text, `<html lang="`+language+`" dir="`+dir+`">`)
	}
	text := textOf(t, served(t, pageOf(t, Chat{Language: "de", Texts: map[string]string{"Send": "Senden", noScript: "Ohne JavaScript geht es <nicht>."}}), "/"))
	assert.Contains(t, text, `"texts":{"Send":"Senden"`)
	assert.Contains(t, text, "<noscript>Ohne JavaScript geht es &lt;nicht&gt;.</noscript>")
	assert.Contains(t, textOf(t, served(t, pageOf(t, Chat{}), "/")), `<html lang="en">`)
	assert.Contains(t, ChatTexts(), "{count} rows")
	for _, language := range []string{"pt-B", "deut", "de-x", "de-1", "no-bok", "zh-min-nan", "de-u", "de-u-12", "de_DE", "german"} { // browsers accept none of these
		_, err := Chat{Language: language}.Handler()
		require.ErrorContains(t, err, "Chat.Language is", language)
	}
	for want, c := range map[string]Chat{
		"which is no text of the page":         {Texts: map[string]string{"Sned": "Senden"}},
		"has {n}, and this text has no such v": {Texts: map[string]string{"{count} rows": "{n} Zeilen"}},
		`Chat.Language is "de\"><script>"`:     {Language: `de"><script>`},
	} {
		_, err := c.Handler()
		require.ErrorContains(t, err, want)
	}
}

func TestFilesAreCompressedOnlyForThoseWhoReadThat(t *testing.T) {
	t.Parallel()
	h := pageOf(t, Chat{})
	packed := served(t, h, "/theme.js", "Accept-Encoding", "br, gzip;q=0.5")
	assert.Equal(t, "gzip", packed.Header.Get("Content-Encoding"))
	z, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	inner, err := io.ReadAll(z)
	require.NoError(t, err)
	for _, accept := range []string{"", "br", "gzip;q=0"} {
		plain := served(t, h, "/theme.js", "Accept-Encoding", accept)
		assert.Empty(t, plain.Header.Get("Content-Encoding"), accept)
		assert.Equal(t, string(inner), textOf(t, plain), accept)
		assert.Equal(t, "text/javascript; charset=utf-8", plain.Header.Get("Content-Type"))
		assert.NotEqual(t, packed.Header.Get("ETag"), plain.Header.Get("ETag"), "one tag for two representations")
	}
	again := served(t, h, "/theme.js", "Accept-Encoding", "gzip", "If-None-Match", packed.Header.Get("ETag"))
	assert.Equal(t, http.StatusNotModified, again.StatusCode)
}

func TestOnlyNamedFilesAreKeptByBrowsers(t *testing.T) {
	t.Parallel()
	h := pageOf(t, Chat{})
	page := served(t, h, "/")
	assert.Equal(t, "no-cache", page.Header.Get("Cache-Control"))
	asset := loaded.FindAllStringSubmatch(textOf(t, page), -1)
	for _, m := range asset {
		if strings.HasPrefix(m[1], "assets/") {
			assert.Contains(t, served(t, h, "/"+m[1]).Header.Get("Cache-Control"), "immutable", m[1])
		}
	}
	for _, path := range []string{"/chat.html", "/studio.html", "/../ui.go", "/assets/", "/assets/../chat.html", "/nothing"} {
		assert.Equal(t, http.StatusNotFound, served(t, h, path).StatusCode, path)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

type oven struct {
	Degrees int `json:"degrees"`
}

// A text of the application cannot end the element with the settings.
func TestSettingsReachThePage(t *testing.T) {
	t.Parallel()
	bake := tools.New("bake", "Bakes bread.", func(context.Context, oven) (string, error) { return "", nil }).
		Annotate(tools.Annotations{Title: "Bake bread", Destructive: true, Result: "table"})
	text := textOf(t, served(t, pageOf(t, Chat{Greeting: "</script><script>alert(1)</script>", Tools: []tools.Tool{bake}, Attach: true, Messages: "history", Memory: "/api/memories"}), "/"))
	assert.NotContains(t, text, "alert(1)</script>")
	m := regexp.MustCompile(`(?s)<script type="application/json" id="config">(.*?)</script>`).FindStringSubmatch(text)
	require.NotNil(t, m)
	var s settings
	require.NoError(t, json.Unmarshal([]byte(m[1]), &s))
	assert.Equal(t, "</script><script>alert(1)</script>", s.Greeting)
	assert.True(t, s.Attach)
	assert.Equal(t, "history", s.Messages)
	assert.Equal(t, "/api/memories", s.Memory)
	assert.Equal(t, "Chat", s.Title)
	info := s.Tools["bake"]
	assert.JSONEq(t, string(bake.Spec().Schema), string(info.Schema))
	info.Schema = nil
	assert.Equal(t, toolInfo{Title: "Bake bread", Result: "table", Description: "Bakes bread.", Destructive: true}, info)
}

func TestThemeHasVariablesOfTheStyle(t *testing.T) {
	t.Parallel()
	h := pageOf(t, Chat{Theme: map[string]string{"accent": "light-dark(#7c3aed, #c4b5fd)", "radius": "4px"}})
	r := served(t, h, "/app-theme.css")
	assert.Equal(t, "text/css; charset=utf-8", r.Header.Get("Content-Type"))
	assert.Equal(t, ":root {\n  --accent: light-dark(#7c3aed, #c4b5fd);\n  --radius: 4px;\n}\n", textOf(t, r))
}

// If a theme sets only bg, the colours of the sidebar and the cards are derived from it.
func TestVariablesThatAThemeDoesNotSetFollowItsBackground(t *testing.T) {
	t.Parallel()
	sheet := textOf(t, served(t, pageOf(t, Chat{Theme: map[string]string{"bg": "#f0fdfa", "surface": "#ccfbf1"}}), "/app-theme.css"))
	for _, name := range []string{"line", "raised", "sunk"} {
		assert.Regexp(t, `\n  --`+name+`: [^;]*var\(--bg\)[^;]*;\n`, sheet)
	}
	assert.Greater(t, strings.Index(sheet, "--surface: #ccfbf1;"), strings.Index(sheet, "--surface: color-mix("), "the value of the application wins")
}

func TestInvalidOptionsAreErrors(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]Chat{
		`no variable "colour"`: {Theme: map[string]string{"colour": "red"}},
		"must be a colour":     {Theme: map[string]string{"accent": "red;} body{display:none"}},
		"its own origin only":  {Script: "https://cdn.example.com/app.js"},
		"requests to its own":  {Upload: "https://files.example.com/"},
		"is not an address":    {Login: "javascript:alert(1)"},
		`tool "broken"`:        {Tools: []tools.Tool{tools.New("broken", "", func(context.Context, func()) (string, error) { return "", nil })}},
	} {
		_, err := c.Handler()
		require.ErrorContains(t, err, want)
	}
}

// A page shows its title, greeting and suggestions before its program is loaded. They are escaped as text.
func TestThePageHasAShell(t *testing.T) {
	t.Parallel()
	text := textOf(t, served(t, pageOf(t, Chat{Title: "Shop <b>", Greeting: "Ask & see", Suggestions: []string{"Where is <i>it</i>?"}}), "/"))
	for _, want := range []string{`<div id="root"><div data-shell`, ">Shop &lt;b&gt;</h1>", ">Ask &amp; see</p>", ">Where is &lt;i&gt;it&lt;/i&gt;?</li>"} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "<i>it")
	css := strings.Index(text, `rel="stylesheet"`)
	assert.Less(t, css, strings.Index(text, "modulepreload"), "the style sheet is loaded first")
}
