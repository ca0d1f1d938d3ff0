package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/weft-go/weft/server/runs"
)

// A User sends requests.
type User struct {
	// ID is stored as the owner of what the user creates. It is not empty.
	ID string
	// Permissions are for [Options.Authorize]. The server itself knows [PermissionMetrics] and [PermissionOperate].
	Permissions []string
}

func (u *User) may(permission string) bool { return slices.Contains(u.Permissions, permission) }

// PermissionMetrics allows a user to read /metrics, if there is no [Options.Authorize].
const PermissionMetrics = "metrics"

// PermissionOperate allows a user to look after the threads of all users, if there is no [Options.Authorize]: to
// search and read the threads and their runs, to change their state and metadata, to answer and run them, and to
// cancel runs without a rollback. It deletes nothing of others, now or by a ttl. A run belongs to the user who starts it: [UserID] returns the operator in a run that an operator
// continues, and [ThreadOwner] the owner of the thread.
const PermissionOperate = "weft:operate"

// operates reports whether [PermissionOperate] allows an access to the objects of all users.
func operates(a *Access) bool {
	switch a.Action {
	case ActionRead, ActionSearch, ActionUpdate:
		return a.Resource == ResourceThreads || a.Resource == ResourceRuns
	case ActionCreateRun:
		return a.Resource == ResourceThreads
	}
	return false
}

// A Resource is a kind of object that requests use.
type Resource string

// The resources of an [Access]. A run belongs to its thread: a [Filter] for runs is applied to
// their threads.
const (
	ResourceAssistants Resource = "assistants"
	ResourceThreads    Resource = "threads"
	ResourceRuns       Resource = "runs"
	ResourceCrons      Resource = "crons"
	ResourceStore      Resource = "store"
	ResourceMetrics    Resource = "metrics"
)

// An Action is what a request does with objects.
type Action string

// The actions of an [Access]. A run is created by ActionCreateRun on its thread; to stop a run is
// an update of the run, and to undo it by a rollback is an update and a delete. To set the ttl of a thread
// is an update and a delete, since it deletes the thread or its older states. To store an item is an update of the store.
const (
	ActionCreate    Action = "create"
	ActionRead      Action = "read"
	ActionUpdate    Action = "update"
	ActionDelete    Action = "delete"
	ActionSearch    Action = "search"
	ActionCreateRun Action = "create_run"
)

// An Access is what a request wants to do. A request may need several: a run on a new thread
// needs read of the assistant, create_run of threads, and create of threads.
//
// By default the owner of a thread may do all that the protocol has: answer each question, the approvals of
// tools included, send a run to any node, and change the state as if a node had run. The last fields say what of
// this a request wants, so that [Options.Authorize] can refuse it.
type Access struct {
	User     User
	Resource Resource
	Action   Action
	// ID is the id of the object. It is empty for a search, for the store, and for an object that
	// does not exist yet. For a run it is the id of the run, and for create_run that of the thread.
	ID string
	// Graph is the name of the graph of a new assistant, run or cron, or of a cron whose runs change. Otherwise it is empty.
	Graph string
	// Namespace is the namespace of an item of the store, or the prefix of a search.
	Namespace []string

	// Goto has the nodes to which a run is sent, past those before them. It is set for create_run of threads, and for
	// create and update of crons.
	Goto []string
	// Resume says that the run answers questions. It is set where Goto is.
	Resume bool
	// Checkpoint is the checkpoint at which the run begins, if the request names one. It may be an older one, from
	// which nodes run again. It is set where Goto is, and for the update of a state. It is also set for the newest
	// checkpoint, which a client may name with an input or an answer.
	Checkpoint string
	// AsNode has the nodes in whose names a request updates a state: the nodes after them run next. An update that names
	// no node has "": it is made in the name of the node that ran last. AsNode is set for update and create of threads.
	AsNode []string
	// Update has the channels that a request writes otherwise than by the input of a run, also by the input of a node
	// in Goto. It is set where Goto or AsNode is.
	Update []string
}

// A Filter selects the objects that a request may use. The zero value selects all objects. An
// object that it does not select is not found: the client does not learn that it exists.
type Filter struct {
	// Owner selects the objects of a user, and is the owner of a new object. If it is empty, objects
	// of all owners are selected, and a new object belongs to the user of the request. For the
	// store it chooses the user whose items are used; if it is empty, all users share them.
	Owner string
	// Metadata is a JSON object. It selects objects whose metadata contains it; see
	// [runs.Query.Metadata]. A new or changed object gets its fields. The items of the store have
	// no metadata: there it must be empty.
	Metadata json.RawMessage
}

// stored returns the filter of a search. The search also finds the records with these ids.
func (f *Filter) stored(besides ...string) runs.Filter {
	out := runs.Filter{Metadata: f.Metadata, IDs: besides}
	if f.Owner != "" {
		out.Owner = &f.Owner
	}
	return out
}

// has reports whether the filter selects a record.
func (f *Filter) has(r *runs.Record) bool {
	stored := f.stored()
	return stored.Has(r)
}

// stamp gives a new record its owner and the metadata of the filter.
func (f *Filter) stamp(r *runs.Record, user User) error {
	r.Owner = user.ID
	if f.Owner != "" {
		r.Owner = f.Owner
	}
	return f.keep(r)
}

// keep gives a changed record the metadata of the filter.
func (f *Filter) keep(r *runs.Record) (err error) {
	if len(f.Metadata) > 0 {
		r.Metadata, err = merged(r.Metadata, f.Metadata)
	}
	return err
}

var resources = map[runs.Kind]Resource{
	runs.Assistant: ResourceAssistants, runs.Thread: ResourceThreads, runs.Run: ResourceRuns, runs.Cron: ResourceCrons,
}

// allow asks whether the user may do something, and returns the filter for it.
func (c *call) allow(a Access) (Filter, error) {
	a.User = c.user
	if c.s.o.Auth != nil && c.user.ID == "" {
		return Filter{}, refuse(http.StatusUnauthorized, "The request has no valid credentials.")
	}
	if c.s.o.Authorize != nil {
		f, err := c.s.o.Authorize(c.ctx(), a)
		if err == nil {
			return f, object("metadata of the filter", f.Metadata)
		}
		if refusal, ok := errors.AsType[*Refusal](err); ok {
			return f, refusal
		}
		c.s.o.Logger.Warn("server: a request was not authorized", "resource", a.Resource, "action", a.Action, "user", a.User.ID, "error", err)
		return f, refuse(http.StatusForbidden, "The user has no right to %s of %s.", a.Action, a.Resource)
	}
	if c.s.o.Auth == nil || c.user.may(PermissionOperate) && operates(&a) {
		return Filter{}, nil
	}
	return Filter{Owner: c.user.ID}, nil
}

// get returns a record for the action of the request.
func (c *call) get(kind runs.Kind, id string) (runs.Record, error) {
	return c.getFor(c.action, kind, id)
}

// getFor returns a record for an action. A record that the user may not use is not found. The
// filter stays in c.filter.
func (c *call) getFor(action Action, kind runs.Kind, id string) (runs.Record, error) {
	return c.find(Access{Resource: resources[kind], Action: action, ID: id}, kind)
}

// find returns the record with the id of an access, if the user may use it. A run is judged by its
// thread.
func (c *call) find(a Access, kind runs.Kind) (runs.Record, error) {
	f, err := c.allow(a)
	if err != nil {
		return runs.Record{}, err
	}
	c.filter = f
	id := a.ID
	r, err := c.s.o.Runs.Get(c.ctx(), kind, id)
	judged := r
	if err == nil && kind == runs.Run {
		judged, err = c.s.o.Runs.Get(c.ctx(), runs.Thread, r.Parent)
	}
	if errors.Is(err, runs.ErrNotFound) || err == nil && !f.has(&judged) {
		return runs.Record{}, notFound(string(kind), id)
	}
	if judged.Kind == runs.Thread {
		c.ofThread(&judged)
	}
	return r, err
}

// ofThread gives the context of the request the owner of a thread.
func (c *call) ofThread(thread *runs.Record) {
	if ThreadOwner(c.ctx()) != thread.Owner {
		c.r = c.r.WithContext(withOwner(c.ctx(), thread.Owner))
	}
}

// search returns the records of a query that the user may see, and how many there are without its
// limit and offset. The user also sees the records with the given ids.
func (c *call) search(q runs.Query, besides ...string) ([]runs.Record, int, error) {
	f, err := c.allow(Access{Resource: resources[q.Kind], Action: ActionSearch})
	if err != nil {
		return nil, 0, err
	}
	q.Filter = f.stored(besides...)
	return c.s.o.Runs.Search(c.ctx(), q)
}

// withOwner returns a context for calls about a thread of a user.
func withOwner(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// ownerKey is the key of the owner of a thread in the context of a run and of a request.
type ownerKey struct{}

// ThreadOwner returns the id of the user that owns the thread of a run, of a request or of a deletion.
// It differs from [UserID] if [Options.Authorize] lets a user run the thread of another one, or gives
// threads another owner. A store of checkpoints that keeps the threads of users apart uses it. It
// returns [UserID] for contexts without a thread.
func ThreadOwner(ctx context.Context) string {
	if owner, ok := ctx.Value(ownerKey{}).(string); ok {
		return owner
	}
	return UserID(ctx)
}

// userKey is the key of the user in the context of a run and of a request.
type userKey struct{}

func withUser(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, userKey{}, id)
}

// UserID returns the id of the user that started the run in which a node is, that sent the request,
// or that owns the thread which is deleted. It is "" without authentication, and for other contexts.
// Stores of checkpoints use [ThreadOwner].
func UserID(ctx context.Context) string {
	id, _ := ctx.Value(userKey{}).(string)
	return id
}
