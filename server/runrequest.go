package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// A runRequest is the request for a run.
type runRequest struct {
	id              string          // of the run; empty for a new one
	key             string          // of the header Idempotency-Key
	cron            bool            // a cron starts the run
	Assistant       string          `json:"assistant_id"`
	Input           json.RawMessage `json:"input,omitempty"`
	Command         *command        `json:"command,omitempty"`
	Config          *config         `json:"config,omitempty"`
	Context         json.RawMessage `json:"context,omitempty"`
	Metadata        json.RawMessage `json:"metadata,omitempty"`
	Checkpoint      *checkpointID   `json:"checkpoint,omitempty"`
	CheckpointID    string          `json:"checkpoint_id,omitempty"`
	StreamMode      texts           `json:"stream_mode,omitempty"`
	StreamSubgraphs bool            `json:"stream_subgraphs,omitempty"`
	StreamResumable bool            `json:"stream_resumable,omitempty"`
	InterruptBefore texts           `json:"interrupt_before,omitempty"`
	InterruptAfter  texts           `json:"interrupt_after,omitempty"`
	Webhook         string          `json:"webhook,omitempty"`
	OnDisconnect    string          `json:"on_disconnect,omitempty"`
	Multitask       string          `json:"multitask_strategy,omitempty"`
	AfterSeconds    float64         `json:"after_seconds,omitempty"`
	IfNotExists     string          `json:"if_not_exists,omitempty"`
	OnCompletion    string          `json:"on_completion,omitempty"`
	Durability      string          `json:"durability,omitempty"`
}

// A config is the configuration of a run.
type config struct {
	Tags           []string        `json:"tags,omitempty"`
	RecursionLimit int             `json:"recursion_limit,omitempty"`
	Configurable   json.RawMessage `json:"configurable,omitempty"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
}

// A command resumes a thread.
type command struct {
	Resume json.RawMessage `json:"resume,omitempty"`
	Update json.RawMessage `json:"update,omitempty"`
	Goto   json.RawMessage `json:"goto,omitempty"`
}

// check returns an error if a command has an invalid form. The nodes and channels of the command are checked when the run
// begins.
func (c *command) check() error {
	if string(orNull(c.Goto)) != "null" {
		for _, item := range elements(c.Goto) {
			if _, err := readTarget(item); err != nil {
				return invalid("command.goto %v.", err)
			}
		}
	}
	if c.empty() && len(c.Resume) > 0 {
		return invalid("command.resume is null, which answers no question. Name the question: {\"resume\": {\"id\": null}}.")
	}
	if !isArray(c.Update) {
		return object("command.update", c.Update)
	}
	if _, err := objects(c.Update); err != nil {
		return invalid("command.update cannot be read: %v.", err)
	}
	return nil
}

// texts is decoded from one text or an array of texts.
type texts []string

// UnmarshalJSON reads one text or an array of texts.
func (t *texts) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	var list []string
	err := json.Unmarshal(data, &list)
	*t = list
	return err
}

// streamModes are the modes of a stream.
var streamModes = []string{"values", "updates", "messages", "messages-tuple", "custom", "debug", "tasks", "checkpoints", "tools", "events"}

// check returns an error if a request is invalid.
func (q *runRequest) check() error {
	one := func(name, value string, allowed ...string) error {
		if value == "" || slices.Contains(allowed, value) {
			return nil
		}
		return invalid("%s is %q; it must be one of %q.", name, shortened(value), allowed)
	}
	var errs []error
	for _, m := range q.StreamMode {
		errs = append(errs, one("stream_mode", m, streamModes...))
	}
	if q.Assistant == "" {
		errs = append(errs, invalid("assistant_id is missing."))
	}
	if q.AfterSeconds < 0 || q.AfterSeconds > maxAfter.Seconds() {
		errs = append(errs, invalid("after_seconds is %g; it must be from 0 to %g.", q.AfterSeconds, maxAfter.Seconds()))
	}
	errs = append(errs, q.Config.check()...)
	errs = append(
		errs, object("metadata", q.Metadata), object("context", q.Context),
		one("multitask_strategy", q.Multitask, multitaskReject, multitaskEnqueue, multitaskInterrupt, multitaskRollback),
		one("on_disconnect", q.OnDisconnect, "cancel", "continue"), one("if_not_exists", q.IfNotExists, "create", "reject"),
		one("on_completion", q.OnCompletion, "delete", "keep"), one("durability", q.Durability, "sync", "async", "exit"),
	)
	if q.Command != nil {
		errs = append(errs, q.Command.check())
	}
	if id := q.at(); id != "" && !isUUID(id) {
		errs = append(errs, invalid("%q is not the id of a checkpoint.", shortened(id)))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// check returns the errors of a configuration.
func (c *config) check() (errs []error) {
	if c == nil {
		return nil
	}
	configurable := object("config.configurable", c.Configurable)
	errs = append(errs, configurable, object("config.metadata", c.Metadata))
	if _, _, err := c.checkpoint(); err != nil && configurable == nil {
		errs = append(errs, invalid("config.configurable.checkpoint_id and checkpoint_ns must be texts."))
	}
	if c.RecursionLimit < 0 {
		errs = append(errs, invalid("config.recursion_limit is %d; it cannot be negative.", c.RecursionLimit))
	}
	return errs
}

const maxAfter = 366 * 24 * time.Hour

// stored returns the request in the form in which the record of its run has it.
func (q *runRequest) stored() runRequest {
	out := *q
	if out.Multitask == "" {
		out.Multitask = multitaskEnqueue
	}
	return out
}

// at returns the id of the checkpoint at which the run begins, or "" for the newest one.
func (q *runRequest) at() string {
	id, _ := q.point()
	return id
}

// point returns the id of the checkpoint at which the run begins, and the namespace of its subgraph.
func (q *runRequest) point() (id, namespace string) {
	switch {
	case q.CheckpointID != "":
		return q.CheckpointID, ""
	case q.Checkpoint != nil && (q.Checkpoint.ID != "" || q.Checkpoint.Namespace != ""):
		return q.Checkpoint.ID, q.Checkpoint.Namespace
	case q.Config == nil:
		return "", ""
	}
	id, namespace, _ = q.Config.checkpoint() // check has returned the error
	return id, namespace
}

// checkpoint returns the id and the namespace of a checkpoint in the configuration, or "".
func (c *config) checkpoint() (id, namespace string, err error) {
	var configurable struct {
		ID        string `json:"checkpoint_id"`
		Namespace string `json:"checkpoint_ns"`
	}
	err = json.Unmarshal(orEmpty(c.Configurable), &configurable)
	return configurable.ID, configurable.Namespace, err
}

// runContext returns the values that nodes read with [Context]: the values of the assistant and of the request. A value
// of the request replaces the assistant's value of the same name.
func (q *runRequest) runContext(d assistantData) (json.RawMessage, error) {
	configurable := emptyObject
	if q.Config != nil {
		configurable = orEmpty(q.Config.Configurable)
	}
	given, err := withoutReserved(configurable)
	if err != nil {
		return nil, invalid("config.configurable cannot be read: %v.", err)
	}
	if string(given) != "{}" && string(orEmpty(q.Context)) != "{}" {
		return nil, refuse(http.StatusBadRequest, "A run takes config.configurable or context, not both.")
	}
	out, err := merged(d.Context, given)
	if err == nil {
		out, err = merged(out, orEmpty(q.Context))
	}
	return out, err
}

// withoutReserved returns configurable values without the reserved keys, such as thread_id.
func withoutReserved(configurable json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(configurable, &fields); err != nil {
		return nil, err
	}
	for _, k := range []string{"thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "run_id", "graph_id", "assistant_id"} {
		delete(fields, k)
	}
	return json.Marshal(fields)
}

// metadata returns the metadata of the run.
func (q *runRequest) metadata(assistant, graph string, d assistantData) (json.RawMessage, error) {
	var fromConfig json.RawMessage
	if q.Config != nil {
		fromConfig = orEmpty(q.Config.Metadata)
	}
	meta, err := merged(fromConfig, orEmpty(q.Metadata))
	if err != nil {
		return nil, err
	}
	return merged(meta, encoded(map[string]string{"assistant_id": assistant, "graph_id": graph}))
}
