package server

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/weft-go/weft/server/runs"
)

// meters has the metrics of a server.
type meters struct {
	set       *metrics.Set
	executing atomic.Int64
	events    *metrics.Counter
	errors    *metrics.Counter
}

// seconds are the bounds of the buckets of histograms of times.
var seconds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

func newMeters(s *Server) *meters {
	m := &meters{set: metrics.NewSet()}
	m.events = m.set.NewCounter("weft_events_total")
	m.errors = m.set.NewCounter("weft_errors_total")
	m.set.NewGauge("weft_streams", func() float64 { return float64(s.accounts.openStreams()) })
	m.set.NewGauge("weft_runs_active", func() float64 { return float64(m.executing.Load()) })
	if s.o.Queue != nil {
		m.queue(s)
		return m
	}
	m.set.NewGauge("weft_runs_queued", func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return max(float64(len(s.active))-float64(m.executing.Load()), 0)
	})
	return m
}

// queue adds the metrics of a queue that servers share. The last metric counts for this process, and the others for all
// servers.
func (m *meters) queue(s *Server) {
	for name, value := range map[string]func(runs.QueueStats) float64{
		"weft_runs_queued":          func(q runs.QueueStats) float64 { return float64(q.Waiting + q.Held) },
		"weft_runs_held":            func(q runs.QueueStats) float64 { return float64(q.Held) },
		"weft_queue_running":        func(q runs.QueueStats) float64 { return float64(q.Running) },
		"weft_queue_scheduled":      func(q runs.QueueStats) float64 { return float64(q.Scheduled) },
		"weft_queue_oldest_seconds": func(q runs.QueueStats) float64 { return q.Oldest.Seconds() },
		"weft_runs_rescued_total":   func(q runs.QueueStats) float64 { return float64(q.Rescued) },
	} {
		m.set.NewGauge(name, func() float64 { return value(s.queueStats()) })
	}
}

// began counts a run that leaves the queue. The returned function counts its end.
func (m *meters) began(a *activeRun) (ended func()) {
	graph, start := `{graph=`+strconv.Quote(a.record.Graph)+`}`, time.Now()
	m.set.GetOrCreatePrometheusHistogramExt("weft_run_wait_seconds"+graph, seconds).Update(start.Sub(a.due()).Seconds())
	m.executing.Add(1)
	return func() {
		m.executing.Add(-1)
		m.set.GetOrCreatePrometheusHistogramExt("weft_run_duration_seconds"+graph, seconds).UpdateDuration(start)
	}
}

// finished counts a run that has ended.
func (m *meters) finished(a *activeRun, status string) {
	m.set.GetOrCreateCounter("weft_runs_total{graph=" + strconv.Quote(a.record.Graph) + ",status=" + strconv.Quote(status) + "}").Inc()
}

// due returns the time since when the run has waited for its turn.
func (a *activeRun) due() time.Time {
	if a.data.After.After(a.record.Created) {
		return a.data.After
	}
	return a.record.Created
}

// answered counts a request. The route is the pattern of the mux, so that clients cannot add metrics by new paths.
func (m *meters) answered(method, route string, status int) {
	if route == "" {
		route = "none"
	}
	m.set.GetOrCreateCounter("weft_http_requests_total{method=" + strconv.Quote(knownMethod(method)) + ",route=" + strconv.Quote(route) +
		",status=" + strconv.Quote(strconv.Itoa(status)) + "}").Inc()
}

func knownMethod(method string) string {
	switch method {
	case get, post, put, patch, remove, http.MethodOptions, http.MethodHead:
		return method
	}
	return "other"
}

// PausedThreads returns the number of threads with the status interrupted, as the value of a metric. Such a thread waits
// for an answer or at a static pause, or its run was stopped. Threads with the status error do not count.
func (s *Server) PausedThreads(ctx context.Context) (int64, error) {
	_, total, err := s.o.Runs.Search(ctx, runs.Query{Kind: runs.Thread, Statuses: []string{threadInterrupted}, Limit: 1})
	return int64(total), err
}

// counting is a log handler that counts errors.
type counting struct {
	slog.Handler
	errors *metrics.Counter
}

// Enabled reports whether a record of the level is handled.
func (h counting) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError || h.Handler.Enabled(ctx, l)
}

// Handle counts an error and passes each record on.
func (h counting) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		h.errors.Inc()
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// metrics sends the metrics in the text format of Prometheus.
func (c *call) metrics() error {
	if c.s.o.Authorize == nil && c.s.o.Auth != nil && !c.user.may(PermissionMetrics) {
		return refuse(http.StatusForbidden, "The metrics need the permission %q.", PermissionMetrics)
	}
	if _, err := c.allow(Access{Resource: ResourceMetrics, Action: ActionRead}); err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	c.s.meters.set.WritePrometheus(c.w)
	return nil
}
