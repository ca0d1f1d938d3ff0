package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
)

// A Server serves HTTP until it is told to end, and then lets what is under way
// end first.
type Server struct {
	// Handler answers. Requests that a page of another site makes a browser send
	// do not reach it.
	Handler http.Handler
	// Logger is told what goes wrong. Nil means silence.
	Logger *slog.Logger
	// Drain is how long requests may take to finish when the server ends. Then
	// their contexts end with [graph.ErrDrained], and they have as long again.
	// Zero means 10 seconds.
	Drain time.Duration
}

// Run serves until ctx ends, and returns when every request has. It returns an
// error if it could not serve, or had to cut requests off.
func (s Server) Run(ctx context.Context, l net.Listener) error {
	base, drain := context.WithCancelCause(context.WithoutCancel(ctx))
	defer drain(graph.ErrDrained)
	server := &http.Server{
		Handler:           http.NewCrossOriginProtection().Handler(s.Handler),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	if s.Logger != nil {
		server.ErrorLog = slog.NewLogLogger(s.Logger.Handler(), slog.LevelWarn)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	err := s.shutdown(server, drain)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		return errors.Join(served, err)
	}
	return err
}

func (s Server) shutdown(server *http.Server, drain context.CancelCauseFunc) error {
	patience := s.Drain
	if patience <= 0 {
		patience = 10 * time.Second
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err := server.Shutdown(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		drain(graph.ErrDrained)
	}
	return errors.Join(errors.New("web: requests were cut off"), server.Close())
}

// Caller says who asks. The bearer token of a request is a secret of the
// caller's own choice, and who knows it is the same caller; its hash is what may
// be stored. A request without one is of "local", the one user of a program that
// runs on its own machine.
func Caller(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return "local"
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
