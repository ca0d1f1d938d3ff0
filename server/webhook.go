package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Webhooks says which webhooks the server calls. The zero value calls none.
//
// The server calls a webhook by POST when its run has ended, at most three times. The body has the run, its status and
// times, the values of the thread, and the error of a failed run. The server follows no redirects and uses no proxies of
// the environment. If the server is closed before a call has succeeded, the call is not repeated later.
type Webhooks struct {
	// Hosts are the names of the hosts that may be called. ".example.com" means all hosts of that
	// domain. A name with a port allows this port only; otherwise any port is allowed.
	Hosts []string
	// Networks are addresses that the hosts may have besides those of the public internet. Loopback, private and
	// link-local addresses are refused unless one of the networks contains them. The server checks the address when it
	// connects, after the name was resolved.
	Networks []netip.Prefix
	// HTTP allows URLs that begin with http://. Others can read the bodies of such calls. Without HTTP, only https:// is
	// allowed.
	HTTP bool
}

// check refuses a URL that the options do not allow.
func (w *Webhooks) check(text string) error {
	if len(w.Hosts) == 0 {
		return invalid("This server calls no webhooks. Set Options.Webhooks.")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return invalid("The webhook is not a URL with a host and without a password.")
	case u.Scheme != "https" && (u.Scheme != "http" || !w.HTTP):
		return invalid("The webhook has the scheme %q, which is not allowed.", shortened(u.Scheme))
	case !slices.ContainsFunc(w.Hosts, func(h string) bool { return isHostOf(u, h) }):
		return invalid("The host of the webhook is not one of Options.Webhooks.Hosts.")
	}
	return nil
}

// isHostOf reports whether a URL has an allowed host.
func isHostOf(u *url.URL, allowed string) bool {
	host, port := allowed, ""
	if h, p, err := net.SplitHostPort(allowed); err == nil {
		host, port = h, p
	}
	if port != "" && port != portOf(u) {
		return false
	}
	name, host := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), strings.ToLower(strings.Trim(host, "[]"))
	if strings.HasPrefix(host, ".") {
		return strings.HasSuffix(name, host)
	}
	return name == host
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

// notPublic are ranges of addresses that belong to no host of the internet, in addition to the ranges that package netip
// knows. They include ranges of IPv6 that contain IPv4 addresses.
var notPublic = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// permits reports whether a webhook may have an address.
func (w *Webhooks) permits(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(ip) }
	if slices.ContainsFunc(w.Networks, in) {
		return true
	}
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(notPublic, in)
}

// control refuses connections to addresses that are not permitted. The dialer calls it with the
// address to which the name was resolved.
func (w *Webhooks) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !w.permits(at.Addr()) {
		return fmt.Errorf("%w: the address %s is not in the internet nor in Options.Webhooks.Networks", errForbiddenAddress, at.Addr())
	}
	return nil
}

var errForbiddenAddress = errors.New("the webhook was not called")

const (
	webhookTime  = 10 * time.Second // of one call
	webhookTries = 3
	webhookPause = time.Second // after the first call; doubled after each further call
	maxReply     = 64 << 10
)

// newWebhookClient returns the client that calls webhooks.
func newWebhookClient(w *Webhooks) *http.Client {
	dialer := &net.Dialer{Timeout: webhookTime, Control: w.control}
	return &http.Client{
		Timeout:       webhookTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 16, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: webhookTime, MaxResponseHeaderBytes: maxReply,
		},
	}
}

// callWebhook calls the webhook of a run that has ended.
func (s *Server) callWebhook(a *activeRun, out *outcome) {
	body := map[string]any{}
	if err := json.Unmarshal(encoded(shownRun(&a.record, a.data)), &body); err != nil {
		return
	}
	body["status"], body["run_started_at"], body["run_ended_at"], body["webhook_sent_at"] = out.status, a.data.Began, a.data.Ended, now()
	if out.err != nil {
		body["error"] = out.err
	}
	if a.g != nil {
		if values, err := s.reader(a.g, a.thread).valuesAt(a.background(), a.data.Checkpoint); err == nil {
			body["values"] = a.g.channels.shown(values)
		}
	}
	err := s.sendWebhook(a.data.Request.Webhook, encoded(body))
	if err != nil && s.ctx.Err() == nil {
		s.o.Logger.Warn("server: a webhook failed", "run", a.id, "error", err)
	}
}

// sendWebhook calls a webhook, several times if calls fail. Its errors do not contain the URL, which may have a secret in
// its path or query.
func (s *Server) sendWebhook(address string, body []byte) error {
	if err := s.o.Webhooks.check(address); err != nil { // the options may have changed since the run was accepted
		return err
	}
	var err error
	for try := range webhookTries {
		if try > 0 && !pause(s.ctx, time.Duration(float64(webhookPause<<(try-1))*(1+rand.Float64()/2))) {
			return err
		}
		var again bool
		if again, err = s.postWebhook(address, body); !again {
			return err
		}
	}
	return err
}

// pause waits for a time. It returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// postWebhook calls a webhook once. again says that another call may succeed.
func (s *Server) postWebhook(address string, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the URL cannot be read")
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.webhooks.Do(r)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return !errors.Is(err, errForbiddenAddress), err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply)) // so that the connection can be used again
	switch {
	case resp.StatusCode < http.StatusMultipleChoices:
		return false, nil
	case resp.StatusCode >= http.StatusInternalServerError, resp.StatusCode == http.StatusTooManyRequests:
		again = true
	}
	return again, fmt.Errorf("the webhook answered %s", resp.Status)
}
