package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed dist
var embedded embed.FS

// built returns the built files.
func built() fs.FS {
	f, err := fs.Sub(embedded, "dist")
	if err != nil {
		panic(err) // the path is valid
	}
	return f
}

// policy allows a page only the resources of its own origin that it needs.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "

const noAncestors = "'none'"

// setHeaders sets the headers of a page. ancestors are the sources whose pages may show it in a frame.
func setHeaders(h http.Header, ancestors string) {
	if ancestors != noAncestors {
		h.Del("X-Frame-Options") // the server sets this header, which cannot name an origin
	}
	h.Set("Content-Security-Policy", policy+ancestors)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
}

func etagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// serveData serves a file that is not compressed and may differ in the next version.
func serveData(w http.ResponseWriter, r *http.Request, name string, data []byte) {
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", etagOf(data))
	w.Header().Set("Content-Type", typeOf(name))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

// types maps extensions to the content types of the pages' files, because the table of the system may lack some.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

func typeOf(name string) string {
	if t, ok := types[path.Ext(name)]; ok {
		return t
	}
	return mime.TypeByExtension(path.Ext(name))
}

// serveFile serves a built file, compressed if the client accepts gzip. The names of files in assets are derived from
// their contents, so a client may cache these files.
func serveFile(w http.ResponseWriter, r *http.Request, name string) {
	data, err := fs.ReadFile(built(), name+".gz")
	if err != nil || path.Ext(name) == ".html" {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Content-Type", typeOf(name))
	tag := etagOf(data)
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
	} else {
		tag = strings.TrimSuffix(tag, `"`) + `-plain"`
		if data, err = inflate(data); err != nil {
			http.Error(w, "the file is damaged", http.StatusInternalServerError)
			return
		}
	}
	h.Set("ETag", tag)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

// acceptsGzip reports whether the client accepts gzip, with a weight above zero.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == "gzip" {
			weight = strings.ReplaceAll(weight, " ", "")
			return weight != "q=0" && !strings.HasPrefix(weight, "q=0.000")
		}
	}
	return false
}

func inflate(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
