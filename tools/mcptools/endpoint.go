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

// An Endpoint says where a server is: a [Command], an [HTTP] or a [Dial].
type Endpoint interface {
	// open begins one connection. The context is for that only, and has no
	// values.
	open(ctx context.Context) (*link, error)
	// check says what is wrong with the endpoint.
	check() error
	// label is what the server is called when nobody named it.
	label() string
}

// A link is one connection of an endpoint.
type link struct {
	transport mcp.Transport
	tasks     taskTools
	// mortal says that the server is a program that ends with the connection.
	mortal bool
	// sever breaks the connection at once, whatever it is doing.
	sever func()
	// release waits until nothing of the connection is left, and says how it
	// ended, nil where that is not known.
	release func() error
	// forgotten reports that the server no longer knows the session, and so did
	// not do what it was last asked.
	forgotten func() bool
	// stderr returns what the server wrote to its standard error last.
	stderr func() string
}

// newLink returns a link over a transport that has nothing but itself.
func newLink(t mcp.Transport) *link {
	return &link{
		transport: t,
		sever:     func() {},
		release:   func() error { return nil },
		forgotten: func() bool { return false },
		stderr:    func() string { return "" },
	}
}

// A Command is a server that runs as a program of its own and talks over its
// standard input and output. It ends with the [Client].
//
// Its environment holds Env and, of this program's, only PATH, HOME, USER,
// LOGNAME, SHELL, TERM, LANG, LC_ALL, TZ and TMPDIR; on Windows in their place
// APPDATA, COMSPEC, HOMEDRIVE, HOMEPATH, LOCALAPPDATA, PATH, PATHEXT,
// PROCESSOR_ARCHITECTURE, PROGRAMDATA, PROGRAMFILES, SYSTEMDRIVE, SYSTEMROOT,
// TEMP, TMP, USERNAME and USERPROFILE. Keys and passwords are passed by name:
//
//	Env: []string{"GITHUB_TOKEN=" + os.Getenv("GITHUB_TOKEN")}
type Command struct {
	// Path is the program. One without a slash is looked up in this program's
	// PATH.
	Path string
	Args []string
	// Env are entries of the form "key=value", which count before those that
	// are passed on.
	Env []string
	// Dir is the working folder. Empty means that of this program.
	Dir string
	// Stderr, when not nil, is given what the server writes to its standard
	// error, of which a [ServerError] has the end. It has to be safe for
	// concurrent use if several servers write to it.
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

// An HTTP is a server at a URL that speaks streamable HTTP.
type HTTP struct {
	URL string
	// Header is sent with each request to that host, and to no other. It is for
	// keys: Header: http.Header{"Authorization": {"Bearer " + key}}.
	Header http.Header
	// Client sends the requests. Nil means one of its own. It must have no
	// timeout, as answers are streamed, and follows no redirect to another host
	// unless it has a CheckRedirect. The context of the request of a call is
	// that of the call: a round tripper may find there whom the call is for.
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

// A Dial is a server that is reached in a way of its own: each call returns a
// transport for one connection. The context is that of connecting.
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
