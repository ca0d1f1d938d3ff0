package server

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWebhooksAreCalledOnAllowedHostsOnly(t *testing.T) {
	t.Parallel()
	w := Webhooks{Hosts: []string{"hooks.example.com", ".example.org", "ports.example.com:8443", "[2001:4860::1]"}}
	for text, allowed := range map[string]bool{
		"https://hooks.example.com/x":           true,
		"https://HOOKS.example.com./x":          true,
		"https://hooks.example.com:9000/x":      true,
		"https://a.b.example.org/x":             true,
		"https://ports.example.com:8443/x":      true,
		"https://[2001:4860::1]/x":              true,
		"https://example.org/x":                 false,
		"https://ports.example.com/x":           false,
		"https://hooks.example.com.evil.net/x":  false,
		"https://evilexample.org/x":             false,
		"https://evil.net/hooks.example.com":    false,
		"https://evil.net#.example.org":         false,
		"https://evil.net?.example.org":         false,
		"https://hooks.example.com@evil.net/x":  false,
		"https://user:pass@hooks.example.com/x": false,
		"http://hooks.example.com/x":            false,
		"ftp://hooks.example.com/x":             false,
		"file:///etc/passwd":                    false,
		"//hooks.example.com/x":                 false,
		"/threads":                              false,
		"":                                      false,
		"https://":                              false,
		"https://hooks.example.com\r\nHost: x":  false,
	} {
		err := w.check(text)
		assert.Equal(t, allowed, err == nil, "%q: %v", text, err)
	}
	require.Error(t, (&Webhooks{}).check("https://hooks.example.com"))
	assert.NoError(t, (&Webhooks{Hosts: w.Hosts, HTTP: true}).check("http://hooks.example.com/x"))
}

func TestWebhooksReachNoPrivateAddress(t *testing.T) {
	t.Parallel()
	w := Webhooks{Networks: prefixes("10.1.0.0/16")}
	for text, permitted := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "10.1.2.3": true, "::ffff:10.1.2.3": true,
		"127.0.0.1": false, "127.8.8.8": false, "0.0.0.0": false, "10.2.0.1": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.100.100.200": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::7f00:1": false, "64:ff9b::7f00:1": false,
		"2002:7f00:1::": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "fc00::1": false, "fec0::1": false, "ff02::1": false,
	} {
		assert.Equal(t, permitted, w.permits(netip.MustParseAddr(text)), text)
	}
}

// webhookServer returns a server without graphs that may call the webhooks that w allows.
func webhookServer(t *testing.T, w Webhooks, logs io.Writer) *Server {
	t.Helper()
	s := &Server{o: Options{Webhooks: w, Logger: slog.New(slog.NewTextHandler(logs, nil))}, ctx: t.Context()}
	s.webhooks = newWebhookClient(&s.o.Webhooks)
	t.Cleanup(s.webhooks.CloseIdleConnections)
	return s
}

var loopback = prefixes("127.0.0.0/8")

// The host is allowed, but its name resolves to an address of this machine.
func TestAWebhookWhoseNameLeadsToThisMachineIsNotCalled(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer hook.Close()
	_, port, err := net.SplitHostPort(hook.Listener.Addr().String())
	require.NoError(t, err)
	s := webhookServer(t, Webhooks{Hosts: []string{"localhost"}, HTTP: true}, io.Discard)
	err = s.sendWebhook("http://localhost:"+port+"/a?token=secret", []byte("{}"))
	require.ErrorIs(t, err, errForbiddenAddress)
	assert.NotContains(t, err.Error(), "secret")
	assert.Zero(t, calls.Load())
	s = webhookServer(t, Webhooks{Hosts: []string{"localhost"}, HTTP: true, Networks: loopback}, io.Discard)
	require.NoError(t, s.sendWebhook("http://localhost:"+port+"/a", []byte("{}")))
	assert.Equal(t, int32(1), calls.Load())
}

func TestAWebhookIsTriedAgainAndFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		switch {
		case r.URL.Path == "/redirect":
			http.Redirect(w, r, "/ok", http.StatusTemporaryRedirect)
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusGone)
		case n == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer hook.Close()
	var logs bytes.Buffer
	s := webhookServer(t, Webhooks{Hosts: []string{"127.0.0.1"}, HTTP: true, Networks: loopback}, &logs)
	require.NoError(t, s.sendWebhook(hook.URL+"/ok", []byte("{}")))
	assert.Equal(t, int32(2), calls.Load(), "a failure of the webhook's server is tried again")
	for _, path := range []string{"/redirect", "/gone"} {
		calls.Store(10)
		require.Error(t, s.sendWebhook(hook.URL+path, []byte("{}")))
		assert.Equal(t, int32(11), calls.Load(), "%s is not tried again", path)
	}
	u, err := url.Parse(hook.URL)
	require.NoError(t, err)
	hook.Close()
	err = s.sendWebhook("http://"+u.Host+"/a?token=secret", []byte("{}"))
	require.Error(t, err)
	assert.False(t, strings.Contains(err.Error()+logs.String(), "secret"), err)
}
