// Command chattest serves the chat page with users, and with a script of an application. The tests of
// the pages use it.
//
//	go run ./server/ui/internal/chattest -sign-in token    the page asks for a token
//	go run ./server/ui/internal/chattest -sign-in login    a page of the application sets a cookie
//	go run ./server/ui/internal/chattest -sign-in script   the application's script sets the headers
//	go run ./server/ui/internal/chattest -sign-in optional a person without a token is a guest
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/ui"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8125", "`ADDRESS` on this machine")
	signIn := flag.String("sign-in", "token", "token, login, script or optional")
	frame := flag.String("frame", "", "`ORIGIN` whose pages may show the chat page in a frame")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, *listen, *signIn, *frame)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chattest:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, listen, signIn, frame string) error {
	store := memcheckpoint.New(memcheckpoint.Options{})
	g, list, err := newAssistant(store)
	if err != nil {
		return err
	}
	chat := &ui.Chat{Title: "Bureau", Tools: list, Attach: true}
	if frame != "" {
		chat.Frames = []string{frame}
	}
	switch signIn {
	case "token":
	case "optional":
		chat.SignIn = true
	case "login":
		chat.Login = "/login"
	case "script":
		chat.Script = "/app.js"
	default:
		return fmt.Errorf("-sign-in=%s: the ways are token, login, script and optional", signIn)
	}
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"bureau": g}, Runs: memruns.New(), Auth: user(chat.SignIn), Chat: chat, Studio: &ui.Studio{Write: true, Login: chat.Login},
	})
	if err != nil {
		return err
	}
	s.Handle("GET /api/letter.txt", func(w http.ResponseWriter, _ *http.Request) error {
		_, err := fmt.Fprint(w, letter)
		return err
	})
	s.Handle("GET /api/picture.png", func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", "image/png")
		return png.Encode(w, image.NewGray(image.Rect(0, 0, 40, 30)))
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "http://%s/chat/\n", listener.Addr())
	web := &http.Server{Handler: pages(s), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = web.Close()
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return s.Close(context.WithoutCancel(ctx))
}

// letter is the content of a file that only users can download.
const letter = "Dear Ms Meyer,\n"

// user authenticates three people by a bearer token or by a cookie. One of them is an operator. With guests, a request
// without the header Authorization is from a guest.
func user(guests bool) func(*http.Request) (server.User, error) {
	return func(r *http.Request) (server.User, error) {
		if guests && r.Header.Get("Authorization") == "" {
			return server.User{ID: "guest"}, nil
		}
		return userOf(r)
	}
}

func userOf(r *http.Request) (server.User, error) {
	given := r.Header.Get("Authorization")
	if c, err := r.Cookie("session"); err == nil {
		given = "Bearer " + c.Value
	}
	for _, u := range []server.User{{ID: "ada"}, {ID: "bob"}, {ID: "ops", Permissions: []string{server.PermissionOperate}}} {
		if given == "Bearer token-of-"+u.ID {
			return u, nil
		}
	}
	return server.User{}, errors.New("unknown")
}

// script is the application's script in the page. It sets the headers after a delay, as with an identity provider.
const script = `
weft.headers(async ({ refused }) => {
  await new Promise((f) => setTimeout(f, 100));
  if (refused && sessionStorage.getItem("app.next")) sessionStorage.setItem("app.token", sessionStorage.getItem("app.next"));
  return { Authorization: "Bearer " + (sessionStorage.getItem("app.token") ?? "token-of-ada") };
});
weft.card("invoice", (element, value) => {
  const total = document.createElement("output");
  total.textContent = "Invoice " + value.number + ": " + value.total + " EUR for " + value.customer;
  element.append(total);
});
`

// pages adds the pages of the application to the pages of the server.
func pages(s http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.HandleFunc("GET /app.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = fmt.Fprint(w, script)
	})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><html lang="en"><title>Sign in</title><form method="post"><button>Sign in as Ada</button></form>`)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		back, err := url.Parse(r.URL.Query().Get("return"))
		if err != nil || back.Host != r.Host {
			http.Error(w, "the page to return to is not of this site", http.StatusBadRequest)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "token-of-ada", Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, back.String(), http.StatusSeeOther) //nolint:gosec // the host was checked
	})
	return mux
}
