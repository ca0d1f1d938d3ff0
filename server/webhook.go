package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// checkWebhook refuses the URL of a webhook that the server may not call.
func (s *Server) checkWebhook(url string) error {
	if s.o.Webhook == nil {
		return invalid("This server calls no webhooks. Set Options.Webhook.")
	}
	if err := s.o.Webhook(url); err != nil {
		return invalid("The webhook is refused: %v.", err)
	}
	return nil
}

const (
	webhookTime = 30 * time.Second
	webhookTry  = 3 // attempts
)

// callWebhook tells a webhook that a run has ended.
func (s *Server) callWebhook(a *activeRun, out outcome) {
	ctx, cancel := context.WithTimeout(s.ctx, webhookTry*webhookTime)
	defer cancel()
	body := map[string]any{}
	if err := json.Unmarshal(encoded(a.created), &body); err != nil {
		return
	}
	body["status"], body["run_started_at"], body["run_ended_at"], body["webhook_sent_at"] = out.status, a.data.Began, a.data.Ended, now()
	if out.err != nil {
		body["error"] = out.err
	}
	if a.g != nil {
		if values, err := s.reader(a.g, a.thread).valuesAt(ctx, a.data.Checkpoint); err == nil {
			body["values"] = values
		}
	}
	var err error
	for range webhookTry {
		if err = sendWebhook(ctx, a.data.Request.Webhook, encoded(body)); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		s.o.Logger.Error("server: a webhook failed", "run", a.id, "error", err)
	}
}

// webhooks follows no redirect, which could lead to a host that is not allowed.
var webhooks = &http.Client{
	Timeout:       webhookTime,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func sendWebhook(ctx context.Context, url string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := webhooks.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	if resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("the webhook answered %s", resp.Status)
	}
	return err
}
