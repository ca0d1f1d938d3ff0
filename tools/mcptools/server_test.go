package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// bearer accepts requests with a token and binds the user of the token.
func bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
		if !ok {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(tools.WithBound(r.Context(), user(who))))
	})
}

func startWeft(t testing.TB, o mcptools.ServerOptions, guard func(http.Handler) http.Handler, more ...tools.Tool) string {
	t.Helper()
	server, err := weftServer(o, more...)
	require.NoError(t, err)
	s := httptest.NewServer(guard(server))
	t.Cleanup(s.Close)
	return s.URL
}

func open(next http.Handler) http.Handler { return next }

// connect connects a client of the official library.
func connect(t testing.TB, transport mcp.Transport, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "official"}, o)
	session, err := client.Connect(within(t), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func overHTTP(t testing.TB, url, who string) mcp.Transport {
	t.Helper()
	private := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(private.CloseIdleConnections)
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer token-of-"+who)
		return private.RoundTrip(r)
	})}}
}

// show calls a tool with a client of the official library and returns the answer as text.
func show(t testing.TB, session *mcp.ClientSession, name string, arguments any) string {
	t.Helper()
	answer, err := session.CallTool(within(t), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return "failure: " + err.Error()
	}
	var texts []string
	for _, c := range answer.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, c.Text)
		}
	}
	return fmt.Sprint(map[bool]string{true: "error: ", false: ""}[answer.IsError], strings.Join(texts, "|"))
}

var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

func TestOfficialClient(t *testing.T) {
	t.Parallel()
	url := startWeft(t, mcptools.ServerOptions{}, bearer)
	ways := map[string]func(t testing.TB) mcp.Transport{
		"http": func(t testing.TB) mcp.Transport { return overHTTP(t, url, "ada") },
		"stdio": func(t testing.TB) mcp.Transport {
			command := serverCommand(t)
			cmd := exec.Command(command.Path)
			cmd.Env = append(cmd.Environ(), modeKey+"=weft", quick)
			return &mcp.CommandTransport{Command: cmd}
		},
	}
	for way, dial := range ways {
		for _, version := range versions {
			t.Run(way+" "+version, func(t *testing.T) {
				t.Parallel()
				talk(t, dial(t), version)
			})
		}
	}
}

func talk(t *testing.T, transport mcp.Transport, version string) {
	enough := make(chan struct{})
	var reports []string
	session := connect(t, transport, version, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			reports = append(reports, fmt.Sprint(r.Params.Progress, r.Params.Total, r.Params.Message))
			if r.Params.Progress == 3 {
				close(enough)
			}
		},
	})
	list, err := session.ListTools(within(t), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 2)
	assert.Equal(t, "keep", list.Tools[0].Name)
	assert.NotContains(t, fmt.Sprint(list.Tools[0].InputSchema), "For")
	assert.Equal(t, `kept "x" for ada`, show(t, session, "keep", map[string]any{"text": "x"}))
	for _, arguments := range []map[string]any{{"text": 7}, {"text": "x", "For": "bob"}} {
		assert.True(t, strings.HasPrefix(show(t, session, "keep", arguments), "error: invalid arguments for keep: "), "%v", arguments)
	}
	assert.Contains(t, show(t, session, "fly", nil), `unknown tool "fly"`)

	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	params := &mcp.CallToolParams{Name: "slow"}
	params.SetProgressToken("p")
	go func() {
		<-enough
		cancel()
	}()
	_, err = session.CallTool(ctx, params)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "[1 3page 1 2 3page 2 3 3page 3]", fmt.Sprint(reports))
}

// TestServerLearnsOfCancellation proves for each version of the protocol that a call is
// cancelled in the server when the client cancels it.
func TestServerLearnsOfCancellation(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			begun, ended := make(chan struct{}), make(chan error, 1)
			wait := tools.New("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
				close(begun)
				<-ctx.Done()
				ended <- ctx.Err()
				return "", ctx.Err()
			})
			url := startWeft(t, mcptools.ServerOptions{Tools: tools.Options{Timeout: -1}}, open, wait)
			session := connect(t, overHTTP(t, url, "ada"), version, nil)
			ctx, cancel := context.WithCancel(within(t))
			go func() {
				<-begun
				cancel()
			}()
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
			assert.ErrorIs(t, err, context.Canceled)
			assert.ErrorIs(t, <-ended, context.Canceled)
		})
	}
}

// TestServerTellsUsersApart proves that concurrent requests of several users each act for
// the user of their own token.
func TestServerTellsUsersApart(t *testing.T) {
	t.Parallel()
	url := startWeft(t, mcptools.ServerOptions{}, bearer)
	var wg sync.WaitGroup
	for _, who := range []string{"ada", "bob", "cy", "dee"} {
		session := connect(t, overHTTP(t, url, who), "2025-11-25", nil)
		wg.Go(func() {
			for i := range 20 {
				assert.Equal(t, fmt.Sprintf(`kept "%d" for %s`, i, who), show(t, session, "keep", map[string]any{"text": fmt.Sprint(i)}))
			}
		})
	}
	wg.Wait()
}

type pausing struct{}

func (pausing) Error() string { return "waiting at /secret/place" }
func (pausing) Pause() bool   { return true }

// TestServerRefuses proves that a client does not get the details of an error or of a
// pause.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	fail := func(err error) func(context.Context, struct{}) (string, error) {
		return func(context.Context, struct{}) (string, error) { return "", err }
	}
	set := []tools.Tool{
		tools.New("fail", "Fails.", fail(errors.New("db-3.internal is down"))),
		tools.New("pause", "Pauses.", fail(pausing{})),
		tools.New("wipe", "Wipes.", fail(nil)).Annotate(tools.Annotations{Destructive: true}),
		tools.New("picture", "Draws.", func(context.Context, struct{}) (tools.Result, error) {
			return tools.Result{Text: "here", Parts: []llm.Part{
				llm.Image("image/png", []byte("png")), llm.File("a.txt", "text/plain", []byte("a")),
				llm.File("", "audio/wav", []byte("wav")), llm.ImageURL("https://a.example/a.png"),
			}}, nil
		}),
	}
	url := startWeft(t, mcptools.ServerOptions{Tools: tools.Options{
		OnError: tools.ReturnErrors, Approval: tools.Approval{Rule: tools.Destructive()},
	}}, open, set...)
	session := connect(t, overHTTP(t, url, "ada"), "", nil)
	approval := "error: the call needs a person's approval, which this server cannot ask for"
	for name, want := range map[string]string{
		"fail": `failure: calling "tools/call": the tool failed`, "pause": approval, "wipe": approval,
		"keep": "error: the request lacks a value that the tool needs, such as the user",
	} {
		arguments := map[string]any{}
		if name == "keep" {
			arguments["text"] = "x"
		}
		assert.Equal(t, want, show(t, session, name, arguments))
	}
	answer, err := session.CallTool(within(t), &mcp.CallToolParams{Name: "picture"})
	require.NoError(t, err)
	var kinds []string
	for _, c := range answer.Content {
		kinds = append(kinds, fmt.Sprintf("%T", c))
	}
	assert.Equal(t, "[*mcp.TextContent *mcp.ImageContent *mcp.EmbeddedResource *mcp.AudioContent *mcp.ResourceLink]", fmt.Sprint(kinds))
}

// TestServerRefusesOtherOrigins proves that a web page of another origin cannot call the
// tools.
func TestServerRefusesOtherOrigins(t *testing.T) {
	t.Parallel()
	url := startWeft(t, mcptools.ServerOptions{}, open)
	r, err := http.NewRequestWithContext(within(t), http.MethodPost, url, strings.NewReader("{}"))
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	private := &http.Transport{}
	defer private.CloseIdleConnections()
	response, err := private.RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusForbidden, response.StatusCode)
}

func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	server, err := weftServer(mcptools.ServerOptions{Tools: tools.Options{Timeout: -1}}, tools.New("wait", "Waits.",
		func(ctx context.Context, _ struct{}) (string, error) {
			close(begun)
			<-ctx.Done()
			return "", ctx.Err()
		}))
	require.NoError(t, err)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(within(t))
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, fromClient, toClient) }()
	session := connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, "", nil)
	called := make(chan error, 1)
	go func() {
		_, err := session.CallTool(within(t), &mcp.CallToolParams{Name: "wait"})
		called <- err
	}()
	<-begun
	cancel(enough)
	assert.ErrorIs(t, <-served, enough)
	require.NoError(t, toClient.Close())
	assert.Error(t, <-called, "the call was answered")
}

func TestServerOfNothing(t *testing.T) {
	t.Parallel()
	server, err := mcptools.NewServer(nil, mcptools.ServerOptions{})
	require.NoError(t, err)
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	assert.Empty(t, setOfTools(t, newClient(t, mcptools.HTTP{URL: s.URL}, mcptools.Options{})))
}
