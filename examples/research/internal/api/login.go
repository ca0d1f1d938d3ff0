package api

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/research/internal/account"
)

const loginPath = "/login"

// Handler serves the first page, the local sign-in, and the server.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.server)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		s.signIn(w, r)
		http.Redirect(w, r, "/chat/", http.StatusSeeOther)
	})
	if s.Secret != nil {
		mux.HandleFunc("GET "+loginPath, func(w http.ResponseWriter, r *http.Request) {
			if !s.signIn(w, r) {
				http.Error(w, "Only a person at the machine of this program is signed in without a token.", http.StatusForbidden)
				return
			}
			http.Redirect(w, r, back(r.URL.Query().Get("return")), http.StatusSeeOther)
		})
	}
	return mux
}

// signIn signs in a browser that runs on this machine: it sets a cookie with the token of the local user. It reports
// whether it did. Without Secret it does nothing, because a Supabase project signs in its own users.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) bool {
	if s.Secret == nil || !local(r) {
		return false
	}
	token, err := account.Sign(s.Secret, "ann", 24*time.Hour)
	if err != nil {
		return false
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.Cookie, Value: account.Cookie(token), Path: "/", MaxAge: 24 * 60 * 60, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	return true
}

// back returns the page to return to after the sign-in, which is always a page of this server.
func back(address string) string {
	u, err := url.Parse(address)
	if err != nil || strings.Contains(u.Path, "..") || !strings.HasPrefix(u.Path, "/chat/") && !strings.HasPrefix(u.Path, "/studio/") {
		return "/chat/"
	}
	return (&url.URL{Path: u.Path, Fragment: u.Fragment}).String()
}

// local reports whether a request comes from this machine, to a loopback address of it. A page of another site
// cannot send such a request under its own name.
func local(r *http.Request) bool {
	if r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
		return false // a proxy forwards requests of anybody
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}
