package memory

import (
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// Types that a memory shares with its backend. Package driver documents them.

type (
	// Backend is the database of a memory, for [New].
	Backend = driver.Backend
	// Scope is the owner of data. It has the fields Tenant, Workspace, User and Agent; each is any text and may be empty.
	Scope = driver.Scope
	// Reach selects the scopes of a query.
	Reach = driver.Reach
	// Fact is a statement that the memory keeps.
	Fact = driver.Fact
	// Kind is the kind of a fact.
	Kind = driver.Kind
	// Trust is the degree of trust in a fact.
	Trust = driver.Trust
	// Condition is a condition on metadata or on a value.
	Condition = driver.Condition
	// Op is the operator of a condition.
	Op = driver.Op
	// FactQuery selects facts.
	FactQuery = driver.FactQuery
	// FactRecord is a fact with the data of its store.
	FactRecord = driver.FactRecord
	// FactChange is a change of a fact, see [Memory.Apply].
	FactChange = driver.FactChange
	// Applied is the result of a change.
	Applied = driver.Applied
	// Event is an entry of the history of a fact.
	Event = driver.Event
	// Address is the namespace and the key of a value.
	Address = driver.Address
	// Item is a value with its address, version and times.
	Item = driver.Item
	// Order is the order of values.
	Order = driver.Order
	// ValueQuery selects values.
	ValueQuery = driver.ValueQuery
	// NamespaceQuery selects namespaces.
	NamespaceQuery = driver.NamespaceQuery
	// Session is a conversation without its messages.
	Session = driver.Session
	// SessionQuery selects sessions.
	SessionQuery = driver.SessionQuery
)

// The kinds of facts.
const (
	Preference   = driver.Preference
	Plain        = driver.Plain
	Context      = driver.Context
	Relationship = driver.Relationship
	Episode      = driver.Episode
	Procedural   = driver.Procedural
	Profile      = driver.Profile
)

// The degrees of trust in a fact.
const (
	Untrusted = driver.Untrusted
	Inferred  = driver.Inferred
	Stated    = driver.Stated
)

// The operators of a [Condition].
const (
	Equal        = driver.Equal
	NotEqual     = driver.NotEqual
	Less         = driver.Less
	LessEqual    = driver.LessEqual
	Greater      = driver.Greater
	GreaterEqual = driver.GreaterEqual
	In           = driver.In
	Has          = driver.Has
	Exists       = driver.Exists
)

// The kinds of a [FactChange].
const (
	Add    = driver.Add
	Update = driver.Update
	Close  = driver.Close
	Delete = driver.Delete
	Erase  = driver.Erase
	Embed  = driver.Embed
)

// The orders of a [ValueQuery].
const (
	Newest = driver.Newest

	ByKey = driver.ByKey
)

const (
	// Absent is the version of a value, or a session, that must not exist.
	Absent = driver.Absent
	// Any is a label in a [NamespaceQuery] that matches every label.
	Any = driver.Any
	// MaxValue is the maximum number of bytes of a value.
	MaxValue = driver.MaxValue
	// MaxLabels is the maximum number of labels of a namespace. Together they have at most 1024 bytes.
	MaxLabels = driver.MaxLabels
)

// The errors of a memory. Package driver documents them.
var (
	// ErrNotFound: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrnotfound.
	ErrNotFound = driver.ErrNotFound
	// ErrInvalid: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrinvalid.
	ErrInvalid = driver.ErrInvalid
	// ErrConflict: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrconflict.
	ErrConflict = driver.ErrConflict
	// ErrDimension: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrdimension.
	ErrDimension = driver.ErrDimension
	// ErrQuota: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrquota.
	ErrQuota = driver.ErrQuota
	// ErrBusy: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrbusy.
	ErrBusy = driver.ErrBusy
	// ErrDenied: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrdenied.
	ErrDenied = driver.ErrDenied
	// ErrForgotten: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#memoryerrforgotten.
	ErrForgotten = driver.ErrForgotten
)

// Kinds returns all kinds of facts.
func Kinds() []Kind { return driver.Kinds() }

// Where returns a condition on the metadata of a fact, a document or a session, or on a value. Field is the name of
// a field, such as "price", or a path of names with dots between them, such as "seller.country". For a name that has
// a dot itself, write a [Condition] with its Path.
func Where(field string, op Op, value any) Condition { return driver.Where(field, op, value) }

// SameText reports whether two texts are the same fact. It ignores differences in white space, the form
// of quotation marks and dashes, invisible characters, and a full stop at the end. Differences in letter
// case and all other marks are significant.
func SameText(a, b string) bool { return input.SameText(a, b) }
