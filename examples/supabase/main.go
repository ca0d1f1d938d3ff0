// Command supabase serves an agent over HTTP. Each user sees only their own threads: the
// handler verifies the token, and the policies of the database hide all other threads.
//
//	go run ./examples/supabase
//
// This command creates a local database like that of a project, and drops it at the end.
// With SUPABASE_DB_URL, SUPABASE_URL and SUPABASE_JWT_SECRET, the program uses a project.
// Read server.go for the code of a service.
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

// newUser returns the id of a new user. The user need not sign up, since the policies check only
// the token.
func newUser() string {
	return strings.TrimPrefix(supacheckpoint.ThreadID("", ""), "-")
}

// token returns a token like that of the auth server of the project for a user who signs in.
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

type client struct{ base string } // stands for the code in a browser

// show sends requests of two users, who use the same thread name, and requests without a valid
// token.
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

// sessions prints the threads of each user and deletes them, as a service can.
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
