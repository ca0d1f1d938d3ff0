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

// Handler answers all of it: the first page, the local sign-in, and the server.
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

// signIn gives who opens the page on the machine that the program runs on the local
// user's token. A Supabase project signs its users in by itself.
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

// back returns the page to go back to: one of this server.
func back(address string) string {
	u, err := url.Parse(address)
	if err != nil || strings.Contains(u.Path, "..") || !strings.HasPrefix(u.Path, "/chat/") && !strings.HasPrefix(u.Path, "/studio/") {
		return "/chat/"
	}
	return (&url.URL{Path: u.Path, Fragment: u.Fragment}).String()
}

// local reports whether a browser on this machine asks, and by an address of it: a
// page of another site can not have itself taken for this one.
func local(r *http.Request) bool {
	if r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "" {
		return false // a proxy asks, for anybody
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
