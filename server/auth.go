package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/weft-go/weft/server/runs"
)

// A User is the sender of a request.
type User struct {
	// ID is stored as the owner of the objects that the user creates. It is not empty.
	ID string
	// Permissions are for [Options.Authorize]. The server itself knows [PermissionMetrics] and [PermissionOperate].
	Permissions []string
}

func (u *User) may(permission string) bool { return slices.Contains(u.Permissions, permission) }

// PermissionMetrics allows a user to read /metrics, if there is no [Options.Authorize].
const PermissionMetrics = "metrics"

// PermissionOperate allows a user to operate the threads of all users, if there is no [Options.Authorize]: to search and
// read the threads and their runs, to change their state and metadata, to answer and run them, and to cancel runs without
// a rollback. It does not allow the user to delete objects of others, also not by a ttl. A run belongs to the user who
// starts it: if an operator runs a thread, [UserID] returns the operator, and [ThreadOwner] the owner of the thread.
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

// An Action is an operation of a request on objects.
type Action string

// The actions of an [Access]. A run is created by ActionCreateRun on its thread. To stop a run is an update of the run,
// and to undo it by a rollback is an update and a delete. To set the ttl of a thread is an update and a delete, since the
// ttl deletes the thread or its older states. To store an item is an update of the store.
const (
	ActionCreate    Action = "create"
	ActionRead      Action = "read"
	ActionUpdate    Action = "update"
	ActionDelete    Action = "delete"
	ActionSearch    Action = "search"
	ActionCreateRun Action = "create_run"
)

// An Access describes an operation that a request needs permission for. A request may need several: a run on a new thread
// needs read of the assistant, create_run of threads, and create of threads.
//
// By default the owner of a thread may use the whole protocol: answer each question, also the approvals of tools, send a
// run to any node, and change the state as if a node had run. The last fields say which of these operations a request
// contains, so that [Options.Authorize] can refuse it.
type Access struct {
	User     User
	Resource Resource
	Action   Action
	// ID is the id of the object. It is empty for an access to several objects, for the store, for the metrics, and for
	// an object that does not exist yet. For create_run, and for a search for the runs of one thread, it is the id of the
	// thread.
	ID string
	// Graph is the name of the graph of a new assistant, run or cron, or of a cron whose runs change. Otherwise it is empty.
	Graph string
	// Namespace is the namespace of an item of the store, or the prefix of a search.
	Namespace []string

	// Goto has the nodes to which a run is sent, without the nodes before them. It is set for create_run of threads, and
	// for create and update of crons.
	Goto []string
	// Resume says that the run answers questions. It is set for the same accesses as Goto.
	Resume bool
	// Checkpoint is the checkpoint at which the run begins, if the request names one. It may be an older one, from which
	// nodes run again, or the newest one. It is set for the same accesses as Goto, and for the update of a state.
	Checkpoint string
	// AsNode has the nodes in whose names a request updates a state: the nodes after them run next. An update that names
	// no node has "": it is made in the name of the node that ran last. AsNode is set for update and create of threads.
	AsNode []string
	// Update has the channels that a request writes by other means than the input of a run. The input of a node in Goto
	// is included. It is set for the same accesses as Goto and AsNode.
	Update []string
}

// A Filter selects the objects that a request may use. The zero value selects all objects. An object that the filter does
// not select looks to the client like one that does not exist.
type Filter struct {
	// Owner selects the objects of a user, and is the owner of a new object. If Owner is empty, the filter selects
	// objects of all owners, and a new object belongs to the user of the request. For the store it chooses the user whose
	// items are used. If it is empty there, all users share the items.
	Owner string
	// Metadata is a JSON object. It selects objects whose metadata contains it; see [runs.Query.Metadata]. Its fields are
	// added to the metadata of a new or changed object. The items of the store have no metadata, so Metadata must be
	// empty for the store.
	Metadata json.RawMessage
}

// stored returns the filter in the form of the store. The filter also selects the records with the ids.
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

// keep adds the metadata of the filter to a changed record.
func (f *Filter) keep(r *runs.Record) (err error) {
	if len(f.Metadata) > 0 {
		r.Metadata, err = merged(r.Metadata, f.Metadata)
	}
	return err
}

var resources = map[runs.Kind]Resource{
	runs.Assistant: ResourceAssistants, runs.Thread: ResourceThreads, runs.Run: ResourceRuns, runs.Cron: ResourceCrons,
}

// allow returns the filter for an access, or an error if the user does not have it.
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

// getFor returns a record for an action. It returns a not-found error for a record that the user may not use, and stores
// the filter in c.filter.
func (c *call) getFor(action Action, kind runs.Kind, id string) (runs.Record, error) {
	return c.find(Access{Resource: resources[kind], Action: action, ID: id}, kind)
}

// find returns the record with the id of an access, if the user may use it. For a run, the filter is applied to its
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

// ofThread sets the owner of the thread in the context of the request.
func (c *call) ofThread(thread *runs.Record) {
	if ThreadOwner(c.ctx()) != thread.Owner {
		c.r = c.r.WithContext(withOwner(c.ctx(), thread.Owner))
	}
}

// search returns a page of the records of a query that the user may see, and the number of such records on all pages. The
// user also sees the records with the given ids.
func (c *call) search(q runs.Query, besides ...string) ([]runs.Record, int, error) {
	f, err := c.allow(Access{Resource: resources[q.Kind], Action: ActionSearch})
	if err != nil {
		return nil, 0, err
	}
	q.Filter = f.stored(besides...)
	return c.s.o.Runs.Search(c.ctx(), q)
}

// withOwner returns a context for calls about a thread of this owner.
func withOwner(ctx context.Context, owner string) context.Context {
	return context.WithValue(ctx, ownerKey{}, owner)
}

// ownerKey is the key of the owner of a thread in the context of a run and of a request.
type ownerKey struct{}

// ThreadOwner returns the id of the user that owns the thread of a run, of a request or of a deletion. It differs from
// [UserID] if [Options.Authorize] lets a user run the thread of another one, or gives threads another owner. A store of
// checkpoints that separates the threads of users calls ThreadOwner. For contexts without a thread, it returns [UserID].
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

// UserID returns the id of the user that started the run of a node, or that sent the request. For the deletion of a
// thread, it returns the owner of the thread. It is "" without authentication, and for other contexts. Stores of
// checkpoints call [ThreadOwner] instead.
func UserID(ctx context.Context) string {
	id, _ := ctx.Value(userKey{}).(string)
	return id
}
