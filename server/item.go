package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
)

// An item is a value of the store in the form of clients.
type item struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Created   time.Time       `json:"created_at"`
	Updated   time.Time       `json:"updated_at"`
}

// A foundItem is an item with its score, which is null unless a search has found the item by a text.
type foundItem struct {
	item
	Score *float64 `json:"score"`
}

func newItem(i memory.Item) item {
	return item{Namespace: i.Namespace, Key: i.Key, Value: i.Value, Created: i.CreatedAt.UTC(), Updated: i.UpdatedAt.UTC()}
}

// The tenants of the scopes of items: of one user, and of all users.
const (
	ownValues    = "server"
	sharedValues = "server/shared"
)

// ItemScope returns the scope of [Options.Values] with the items of a user. In a node, this is the user that started the
// run ([UserID]). Without authentication, all clients have the same items. A node that uses this scope shares its values
// with the clients of the user, which read and write them by the routes under /store. If [Options.Authorize] sets another
// owner of the items, use [OwnerItemScope], and if it sets no owner, [SharedItemScope].
func ItemScope(ctx context.Context) memory.Scope {
	if user := UserID(ctx); user != "" {
		return OwnerItemScope(user)
	}
	return memory.Scope{Tenant: ownValues, User: "local"}
}

// OwnerItemScope returns the scope of the items of the owner that a [Filter] names.
func OwnerItemScope(owner string) memory.Scope { return memory.Scope{Tenant: ownValues, User: owner} }

// SharedItemScope returns the scope of the items of all users; see [Filter].
func SharedItemScope() memory.Scope { return memory.Scope{Tenant: sharedValues, User: "all"} }

// values returns the namespace with these labels, for one user or for all users.
func (c *call) values(labels []string) (memory.Namespace, error) {
	scope, err := c.scope(labels)
	if err != nil {
		return memory.Namespace{}, err
	}
	return c.s.o.Values.In(scope, labels...), nil
}

// scope returns the scope of the items that the request may use.
func (c *call) scope(labels []string) (memory.Scope, error) {
	if c.s.o.Values == nil {
		return memory.Scope{}, refuse(http.StatusNotImplemented, "This server has no store of values. Set Options.Values.")
	}
	f, err := c.allow(Access{Resource: ResourceStore, Action: c.action, Namespace: labels})
	switch {
	case err != nil:
		return memory.Scope{}, err
	case len(f.Metadata) > 0:
		return memory.Scope{}, errors.New("server: Options.Authorize returned a filter with Metadata for the store, whose items have none")
	case f.Owner != "":
		return OwnerItemScope(f.Owner), nil
	case c.s.o.Auth == nil:
		return ItemScope(context.Background()), nil
	}
	return SharedItemScope(), nil
}

// failedItem converts an error of the store: a mistake of the client becomes a refusal.
func failedItem(err error) error {
	if errors.Is(err, memory.ErrInvalid) {
		return invalid("The store refuses the request: %v.", err)
	}
	return err
}

type itemBody struct {
	Namespace []string        `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Index     json.RawMessage `json:"index"`
	TTL       *float64        `json:"ttl"` // minutes
}

func (b *itemBody) check() error {
	if len(b.Namespace) == 0 || b.Key == "" {
		return invalid("The namespace or the key is missing.")
	}
	return nil
}

func (c *call) putItem() error {
	var b itemBody
	if err := errors.Join(c.body(&b, true), b.check()); err != nil {
		return err
	}
	if err := object("value", b.Value); err != nil || len(b.Value) == 0 {
		return invalid("The value is not an object.")
	}
	for _, label := range b.Namespace {
		if strings.Contains(label, ".") { // requests for an item join the labels by periods
			return invalid("The label %q of the namespace has a period.", shortened(label))
		}
	}
	n, err := c.values(b.Namespace)
	if err != nil {
		return err
	}
	o, err := b.options()
	if err != nil {
		return err
	}
	if _, err := n.Put(c.ctx(), b.Key, b.Value, o); err != nil {
		return failedItem(err)
	}
	return c.sendNothing()
}

func (b *itemBody) options() (o memory.PutOptions, err error) {
	if b.TTL != nil {
		o.TTL = time.Duration(*b.TTL * float64(time.Minute))
	}
	var fields []string
	switch text := string(b.Index); {
	case text == "", text == "null":
	case text == "false":
		o.NoIndex = true
	case json.Unmarshal(b.Index, &fields) == nil:
		for _, f := range fields {
			o.Index = append(o.Index, strings.Split(f, "."))
		}
	default:
		return o, invalid("index is %s; it must be false or an array of fields.", shortened(text))
	}
	return o, nil
}

func (c *call) getItem() error {
	q := c.r.URL.Query()
	b := itemBody{Namespace: strings.Split(q.Get("namespace"), "."), Key: q.Get("key")}
	if err := b.check(); err != nil {
		return err
	}
	n, err := c.values(b.Namespace)
	if err != nil {
		return err
	}
	i, err := n.Get(c.ctx(), b.Key)
	if errors.Is(err, memory.ErrNotFound) {
		return c.send(nil)
	}
	if err != nil {
		return failedItem(err)
	}
	return c.send(newItem(i))
}

func (c *call) deleteItem() error {
	var b itemBody
	if err := errors.Join(c.body(&b, true), b.check()); err != nil {
		return err
	}
	n, err := c.values(b.Namespace)
	if err != nil {
		return err
	}
	if err := n.Delete(c.ctx(), b.Key, 0); err != nil && !errors.Is(err, memory.ErrNotFound) {
		return failedItem(err)
	}
	return c.sendNothing()
}

func (c *call) searchItems() error {
	var b struct {
		page
		Prefix []string                   `json:"namespace_prefix"`
		Filter map[string]json.RawMessage `json:"filter"`
		Query  string                     `json:"query"`
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	limit := 10
	if b.Limit != nil && *b.Limit != 0 { // clients of LangGraph Server send 0 if they set no limit
		limit = *b.Limit
	}
	if limit < 1 || limit > maxLimit || b.Offset < 0 || b.Offset > maxOffset {
		return invalid("The limit is %d and the offset is %d; the limit must be from 0 to %d, and the offset from 0 to %d.", limit, b.Offset, maxLimit, maxOffset)
	}
	where, err := conditions(b.Filter)
	if err != nil {
		return err
	}
	n, err := c.values(b.Prefix)
	if err != nil {
		return err
	}
	found, err := findItems(c.ctx(), n, b.Query, where, b.Offset, limit)
	if err != nil {
		return failedItem(err)
	}
	return c.send(map[string]any{"items": found})
}

// maxOffset is the largest offset of a search for items.
const maxOffset = math.MaxInt32

// findItems returns items of a namespace. If there is a text, the items that match it come first, the best one before the
// others, and the other items follow without a score. The text only sorts the items: the filter selects them.
func findItems(ctx context.Context, n memory.Namespace, text string, where []memory.Condition, offset, limit int) ([]foundItem, error) {
	out := []foundItem{}
	add := func(i memory.Item, score *float64) {
		if offset > 0 {
			offset--
		} else if len(out) < limit {
			out = append(out, foundItem{newItem(i), score})
		}
	}
	all := offset + limit
	hit := map[string]bool{}
	id := func(i memory.Item) string { return string(encoded([]any{i.Namespace, i.Key})) }
	if text != "" {
		hits, err := n.Search(ctx, memory.Question{Text: text, Limit: min(all, maxLimit)}, memory.ValueFilter{Where: where})
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			hit[id(h.Item)] = true
			add(h.Item, &h.Score.Total)
		}
	}
	if len(out) == limit {
		return out, nil
	}
	for v, err := range n.List(ctx, memory.ValueQuery{Where: where, Limit: all}) {
		if err != nil {
			return nil, err
		}
		if !hit[id(v)] {
			add(v, nil)
		}
	}
	return out, nil
}

// operators maps the operators of a filter to the operators of package memory.
var operators = map[string]memory.Op{"$eq": "=", "$ne": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}

// conditions converts a filter, which maps each field to a value or to an object of operators.
func conditions(filter map[string]json.RawMessage) ([]memory.Condition, error) {
	var out []memory.Condition
	for field, data := range filter {
		var ops map[string]any
		if json.Unmarshal(data, &ops) == nil && len(ops) > 0 && isOperators(ops) {
			for op, v := range ops {
				known, ok := operators[op]
				if !ok {
					return nil, invalid("There is no operator %q.", shortened(op))
				}
				out = append(out, condition(field, known, v))
			}
			continue
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			return nil, invalid("The filter of %q cannot be read.", shortened(field))
		}
		out = append(out, condition(field, memory.Equal, v))
	}
	slices.SortFunc(out, func(a, b memory.Condition) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out, nil
}

// condition compares the field with exactly this name, because a filter of the protocol has no paths.
func condition(field string, op memory.Op, v any) memory.Condition {
	c := memory.Where("", op, v)
	c.Path = []string{field}
	return c
}

func isOperators(ops map[string]any) bool {
	for op := range ops {
		if !strings.HasPrefix(op, "$") {
			return false
		}
	}
	return true
}

func (c *call) listNamespaces() error {
	var b struct {
		page
		Prefix []string `json:"prefix"`
		Suffix []string `json:"suffix"`
		Depth  int      `json:"max_depth"`
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	limit := 100
	if b.Limit != nil {
		limit = *b.Limit
	}
	if limit < 1 || limit > maxLimit || b.Offset < 0 || b.Depth < 0 {
		return invalid("The limit is %d, the offset is %d and the depth is %d; the limit must be from 1 to %d, and the others not negative.", limit, b.Offset, b.Depth, maxLimit)
	}
	scope, err := c.scope(b.Prefix)
	if err != nil {
		return err
	}
	n := c.s.o.Values.In(scope)
	out, i := [][]string{}, 0
	for labels, err := range n.Namespaces(c.ctx(), memory.NamespaceQuery{Prefix: b.Prefix, Suffix: b.Suffix, MaxDepth: b.Depth, Limit: b.Offset + limit}) {
		if err != nil {
			return failedItem(err)
		}
		if i++; i > b.Offset {
			out = append(out, labels)
		}
	}
	return c.send(map[string]any{"namespaces": out})
}
