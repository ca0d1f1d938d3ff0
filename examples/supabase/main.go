// Command supabase is an agent behind HTTP whose users see their own threads only: the
// handler checks their tokens, and the policies of the database do the rest.
//
//	go run ./examples/supabase
//
// That runs on a local database made like a project's, which is gone afterwards. With
// SUPABASE_DB_URL, SUPABASE_URL and SUPABASE_JWT_SECRET it runs on a project. Read
// server.go for what a service does.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "supabase:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if os.Getenv("SUPABASE_DB_URL") == "" {
		remove, err := localProject(ctx)
		if err != nil {
			return fmt.Errorf("a local project: %w", err)
		}
		defer remove()
	}
	if os.Getenv("SUPABASE_JWT_SECRET") == "" {
		return errors.New("SUPABASE_JWT_SECRET is not set: this program signs tokens for two users as the project would")
	}
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{})
	if err != nil {
		return err
	}
	defer store.Close()

	ann, bob := newUser(), newUser()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(store), ReadHeaderTimeout: time.Second}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	c := client{base: "http://" + listener.Addr().String()}
	err = errors.Join(c.show(ctx, ann, bob), sessions(ctx, store, ann, bob), server.Shutdown(ctx))
	if stop := <-stopped; !errors.Is(stop, http.ErrServerClosed) {
		err = errors.Join(err, stop)
	}
	return err
}

// newUser returns the id of somebody new. The policies do not ask whether a user has
// signed up: the tokens do.
func newUser() string {
	return strings.TrimPrefix(supacheckpoint.ThreadID("", ""), "-")
}

// token is what the project's auth server gives to a user who signs in.
func token(user, secret string) string {
	issuer := strings.TrimRight(os.Getenv("SUPABASE_URL"), "/") + "/auth/v1"
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": issuer, "aud": "authenticated", "role": "authenticated", "sub": user, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(secret))
	if err != nil {
		panic(err) // these claims are JSON
	}
	return text
}

type client struct{ base string } // what runs in a browser

// show lets two users talk to the agent, on threads of one name.
func (c client) show(ctx context.Context, ann, bob string) error {
	secret := os.Getenv("SUPABASE_JWT_SECRET")
	ofAnn, ofBob := token(ann, secret), token(bob, secret)
	for _, call := range []struct{ who, token, method, thread, text string }{
		{"ann", ofAnn, "POST", "house", "The roof leaks."},
		{"ann", ofAnn, "POST", "house", "So does the window."},
		{"bob", ofBob, "GET", "house", ""},
		{"bob", ofBob, "POST", "house", "I would like a door."},
		{"ann", ofAnn, "GET", "house", ""},
		{"nobody", "", "GET", "house", ""},
		{"a stranger", token(ann, rand.Text()+rand.Text()), "GET", "house", ""},
	} {
		answer, err := c.do(ctx, call.method, call.thread, call.token, call.text)
		if err != nil {
			return err
		}
		fmt.Printf("%-10s %-4s /threads/%s %-22s %s\n", call.who, call.method, call.thread, call.text, answer)
	}
	return nil
}

func (c client) do(ctx context.Context, method, thread, token, text string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+"/threads/"+thread, bytes.NewBufferString(text))
	if err != nil {
		return "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, bytes.TrimSpace(body)), err
}

// sessions shows what the service can do for its users, and removes what they have done.
func sessions(ctx context.Context, store *supacheckpoint.Store, users ...string) error {
	for i, user := range users {
		mine, err := store.For(user)
		if err != nil {
			return err
		}
		for s, err := range mine.Sessions(ctx, supacheckpoint.SessionQuery{}) {
			if err != nil {
				return err
			}
			fmt.Printf("user %d has the thread %s: %s, %d checkpoints\n", i+1, s.Thread, s.Status, s.Checkpoints)
		}
		removed, err := mine.CleanUp(ctx, supacheckpoint.SessionQuery{Statuses: []string{supacheckpoint.StatusActive}})
		if err != nil {
			return err
		}
		if removed != 1 {
			return fmt.Errorf("removed %d threads of user %d", removed, i+1)
		}
	}
	return nil
}
