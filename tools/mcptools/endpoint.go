package mcptools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An Endpoint is the address of a server: a [Command], an [HTTP] or a [Dial].
type Endpoint interface {
	// open opens one connection. ctx limits the time to connect only, and has no values.
	open(ctx context.Context) (*link, error)
	// check returns the mistakes of the endpoint, or nil.
	check() error
	// label is the default of Options.Name.
	label() string
}

// A link is one connection of an endpoint.
type link struct {
	transport mcp.Transport
	tasks     taskTools
	// mortal reports that the server is a program that ends with the connection.
	mortal bool
	// sever closes the connection at once, even during a read or write.
	sever func()
	// release waits until the connection has ended and its resources are free. It returns
	// the exit error of a program, or nil.
	release func() error
	// forgotten reports that the server no longer knows the session, and so did not execute
	// the last request.
	forgotten func() bool
	// stderr returns the end of the server's standard error.
	stderr func() string
}

// newLink returns a link for a transport that needs no cleanup.
func newLink(t mcp.Transport) *link {
	return &link{
		transport: t,
		sever:     func() {},
		release:   func() error { return nil },
		forgotten: func() bool { return false },
		stderr:    func() string { return "" },
	}
}

// A Command is a server that runs as a program and communicates through its standard input
// and output. It ends with the [Client].
//
// Its environment has Env and these variables of the client's program: PATH, HOME, USER,
// LOGNAME, SHELL, TERM, LANG, LC_ALL, TZ and TMPDIR. On Windows they are APPDATA, COMSPEC,
// HOMEDRIVE, HOMEPATH, LOCALAPPDATA, PATH, PATHEXT, PROCESSOR_ARCHITECTURE, PROGRAMDATA,
// PROGRAMFILES, SYSTEMDRIVE, SYSTEMROOT, TEMP, TMP, USERNAME and USERPROFILE. Pass keys and
// passwords explicitly:
//
//	Env: []string{"GITHUB_TOKEN=" + os.Getenv("GITHUB_TOKEN")}
type Command struct {
	// Path is the path of the program. A path without a slash is searched in PATH.
	Path string
	Args []string
	// Env has entries of the form "key=value". They override the variables above.
	Env []string
	// Dir is the working directory. Empty means the current directory of this program.
	Dir string
	// Stderr, if not nil, receives the standard error of the server; a [ServerError] has
	// the end of it. It must be safe for concurrent use if several servers write to it.
	Stderr io.Writer
}

func (c Command) check() error {
	if c.Path == "" {
		return errors.New("mcptools: command: no path")
	}
	for _, entry := range c.Env {
		if key, _, ok := strings.Cut(entry, "="); !ok || key == "" {
			return fmt.Errorf("mcptools: command: environment: %q is not of the form key=value", key)
		}
	}
	return nil
}

func (c Command) label() string {
	return strings.TrimSuffix(filepath.Base(c.Path), ".exe")
}

// An HTTP is a server at a URL, with the transport streamable HTTP.
type HTTP struct {
	URL string
	// Header is sent with each request to the scheme and host of URL, and to no other host.
	// Use it for keys: Header: http.Header{"Authorization": {"Bearer " + key}}.
	Header http.Header
	// Client sends the requests. Nil means a new client. It must have no timeout, because
	// answers are streamed. Redirects to another host are refused unless Client has a
	// CheckRedirect. The request of a call has the context of the call, so a round tripper
	// can read the user from it.
	Client *http.Client
}

func (h HTTP) check() error {
	u, err := url.Parse(h.URL)
	if err != nil {
		return fmt.Errorf("mcptools: http: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("mcptools: http: %q is not a URL of http or https", h.URL)
	}
	return nil
}

func (h HTTP) label() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return h.URL
	}
	return u.Hostname()
}

// A Dial is a function that returns a transport for a new connection. The context is the
// context of connecting.
type Dial func(ctx context.Context) (mcp.Transport, error)

func (d Dial) check() error {
	if d == nil {
		return errors.New("mcptools: dial: no function")
	}
	return nil
}

func (d Dial) label() string { return "server" }

func (d Dial) open(ctx context.Context) (*link, error) {
	t, err := d(ctx)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, errors.New("dial: no transport")
	}
	return newLink(t), nil
}
