package kai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The kinds of records.
const (
	quoteKind = "quote"
	orderKind = "order"
	sceneKind = "scene"
)

// desk implements the tools, and has the catalogue and the database that they use.
type desk struct {
	catalogue *catalogue.Catalogue
	studio    *studio.DB
}

// caller is the memory scope of the user for whom a tool works. The program sets it; the model cannot.
type caller = tools.Bound[memory.Scope]

// tools returns all tools of the platform.
func (d *desk) tools() (*tools.Set, error) {
	critical := func(title, result, preview string) tools.Annotations {
		return tools.Annotations{Title: title, Category: "studio", Destructive: true, Result: result, Preview: preview}
	}
	look := func(title string) tools.Annotations {
		return tools.Annotations{Title: title, Category: "catalogue", ReadOnly: true, Result: "product"}
	}
	generate := tools.New("generate3D", "Makes a 3D scene of products, which the user downloads as a file.", d.generate)
	quote := tools.New("createQuote", "Makes a binding quote for products.", d.quote)
	order := tools.New("submitOrder", "Orders what a quote has. It cannot be taken back.", d.order)
	return tools.NewSet(
		tools.New("search_products", "Searches the catalogue; a product meets every condition that is given. all_that_fit counts the products, of which limit are returned. "+d.vocabulary(), d.search).Annotate(look("Search products")),
		tools.New("get_product", "Returns one product by its id, with sizes as width × depth × height.", d.product).Annotate(look("Look up a product")),
		tools.Preview(generate, d.previewScene).Annotate(critical("Make a 3D scene", "file", "product")),
		tools.Preview(quote, d.previewQuote).Annotate(critical("Make a quote", "order", "order")),
		tools.Preview(order, d.previewOrder).Annotate(critical("Submit the order", "order", "order")),
	)
}

// vocabulary lists the values of the catalogue, for the description of the search tool.
func (d *desk) vocabulary() string {
	c := d.catalogue
	var b strings.Builder
	for _, column := range []struct {
		name string
		of   func(catalogue.Product) string
	}{
		{"Categories", func(p catalogue.Product) string { return p.Category }},
		{"Materials", func(p catalogue.Product) string { return p.Material }},
		{"Colours", func(p catalogue.Product) string { return p.Colour }},
		{"Styles", func(p catalogue.Product) string { return p.Style }},
	} {
		words := c.Words(column.of)
		if words = words[:min(len(words), 60)]; column.name == "Materials" {
			words = append(slices.Sorted(maps.Keys(catalogue.Groups)), words...)
		}
		fmt.Fprintf(&b, "%s: %s. ", column.name, strings.Join(words, ", "))
	}
	return strings.TrimSpace(b.String())
}

type searchInput struct {
	Query     string  `json:"query,omitempty" jsonschema:"words of a name, designer, maker or year; a product must have all of them"`
	Category  string  `json:"category,omitempty" jsonschema:"one of the categories, or several with commas for any of them"`
	Material  string  `json:"material,omitempty" jsonschema:"one of the materials or groups, or several with commas for any of them"`
	Colour    string  `json:"colour,omitempty" jsonschema:"one of the colours, or several with commas for any of them"`
	Style     string  `json:"style,omitempty" jsonschema:"one of the styles, or several with commas for any of them"`
	Without   string  `json:"without,omitempty" jsonschema:"categories, materials, groups, colours or styles that a product must not have, with commas"`
	MinPrice  float64 `json:"min_price,omitempty" jsonschema:"in euros, for one piece or square metre"`
	MaxPrice  float64 `json:"max_price,omitempty" jsonschema:"in euros, for one piece or square metre"`
	MaxWidth  float64 `json:"max_width_cm,omitempty" jsonschema:"in centimetres"`
	MaxDepth  float64 `json:"max_depth_cm,omitempty" jsonschema:"in centimetres"`
	MaxHeight float64 `json:"max_height_cm,omitempty" jsonschema:"in centimetres"`
	Prefer    string  `json:"prefer,omitempty" jsonschema:"words of what the user likes; products that have them come first"`
	Sort      string  `json:"sort,omitempty" enum:"cheapest,dearest" jsonschema:"cheapest if left out"`
	Limit     int     `json:"limit,omitempty" jsonschema:"how many to return; 5 if left out, 20 at most"`
}

// query converts the arguments to a query of the catalogue.
func (in searchInput) query() catalogue.Query {
	return catalogue.Query{
		Text: in.Query, Categories: listOf(in.Category), Materials: listOf(in.Material), Colours: listOf(in.Colour), Styles: listOf(in.Style),
		Without: listOf(in.Without), MinPrice: in.MinPrice, MaxPrice: in.MaxPrice,
		MaxWidth: in.MaxWidth, MaxDepth: in.MaxDepth, MaxHeight: in.MaxHeight, Prefer: in.Prefer, Dearest: in.Sort == "dearest",
	}
}

// listOf splits a text at commas.
func listOf(text string) (list []string) {
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list
}

type found struct {
	Products []card   `json:"products"`
	All      int      `json:"all_that_fit"`
	Unknown  []string `json:"unknown_words,omitempty"` // words of the query that no product has
}

// A card is a product as the page shows it. The model reads the same.
type card struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Price       float64           `json:"price"`
	Currency    string            `json:"currency"`
	Image       string            `json:"image"`
	Description string            `json:"description"`
	Details     map[string]string `json:"details"`
}

func cardOf(p catalogue.Product) card {
	c := card{p.ID, p.Name, p.Price, "EUR", catalogue.Drawing(p.ID), joined(", ", p.ID, p.Category, p.Year), map[string]string{}}
	size := joined(" × ", centimetres(p.Width), centimetres(p.Depth), centimetres(p.Height))
	for name, value := range map[string]string{
		"Designer": p.Designer, "Maker": p.Maker, "Material": p.Material, "Colour": p.Colour, "Style": p.Style, "Size (cm)": size,
		"Price per": strings.TrimPrefix(p.Unit, "piece"),
	} {
		if value != "" {
			c.Details[name] = value
		}
	}
	return c
}

// joined joins the texts that are not empty.
func joined(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), by)
}

func centimetres(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func (d *desk) search(ctx context.Context, in searchInput) (tools.Result, error) {
	if in.Limit <= 0 {
		in.Limit = 5
	}
	products, all := d.catalogue.Search(in.query(), min(in.Limit, 20))
	cards := []card{}
	for _, p := range products {
		cards = append(cards, cardOf(p))
	}
	if len(products) == 0 {
		return result(found{cards, all, d.catalogue.Unknown(in.Query)})
	}
	graph.Emit(ctx, products)
	return result(found{Products: cards, All: all}, CollectedProducts.Put(products...))
}

func (d *desk) product(ctx context.Context, in struct {
	ID string `json:"id" jsonschema:"such as P043"`
},
) (tools.Result, error) {
	p, ok := d.catalogue.Lookup(in.ID)
	if !ok {
		return tools.Result{}, fmt.Errorf("there is no product %q", in.ID)
	}
	graph.Emit(ctx, []catalogue.Product{p})
	return result(cardOf(p), CollectedProducts.Put(p))
}

func (d *desk) generate(ctx context.Context, in sceneInput) (tools.Result, error) {
	products, err := d.sceneOf(in)
	if err != nil {
		return tools.Result{}, err
	}
	key := graph.IdempotencyKey(ctx)
	job := Job{ID: name("J", key), Status: "finished", Prompt: in.Prompt, Products: in.ProductIDs}
	job.Name, job.Type = job.ID+".obj", "model/obj"
	job.URL = "/api/scenes/" + job.Name
	scene := Scene{job, studio.Scene(in.Prompt, products)}
	kept, err := studio.Keep(ctx, d.studio, studio.Record{Key: key, ID: job.ID, Kind: sceneKind, User: in.Caller.Value().User}, scene)
	if err != nil {
		return tools.Result{}, err
	}
	graph.Emit(ctx, kept.Job)
	return result(kept.Job, GenerationJob.Put(&kept.Job))
}

// A Scene is a job with its 3D model.
type Scene struct {
	Job
	Model string `json:"model"`
}

func (d *desk) quote(ctx context.Context, in quoteInput) (tools.Result, error) {
	q, err := d.offer(in)
	if err != nil {
		return tools.Result{}, err
	}
	key := graph.IdempotencyKey(ctx)
	q.ID = name("Q", key)
	kept, err := studio.Keep(ctx, d.studio, studio.Record{Key: key, ID: q.ID, Kind: quoteKind, User: in.Caller.Value().User}, q)
	if err != nil {
		return tools.Result{}, err
	}
	return result(billOf(kept))
}

// An Order is a submitted order of a quote.
type Order struct {
	ID      string  `json:"id"`
	QuoteID string  `json:"quote_id"`
	Total   float64 `json:"total_eur"`
	// CallKey is the idempotency key of the call that submitted the order.
	CallKey string `json:"call_key"`
}

// order submits the order of a quote. A quote can be ordered once; a second call fails.
func (d *desk) order(ctx context.Context, in orderInput) (tools.Result, error) {
	user := in.Caller.Value().User
	q, err := d.quoteOf(ctx, in)
	if err != nil {
		return tools.Result{}, err
	}
	call := graph.IdempotencyKey(ctx)
	o := Order{ID: name("O", call), QuoteID: q.ID, Total: q.Total, CallKey: call}
	kept, err := studio.Keep(ctx, d.studio, studio.Record{Key: "order of " + q.ID, ID: o.ID, Kind: orderKind, User: user}, o)
	if err != nil {
		return tools.Result{}, err
	}
	if kept.CallKey != call {
		return tools.Result{}, fmt.Errorf("quote %s was ordered before, as %s; nothing was ordered now", q.ID, kept.ID)
	}
	b := billOf(q)
	b.ID, b.QuoteID = kept.ID, q.ID
	return result(b)
}

// result returns v as JSON, with writes to the state.
func result(v any, writes ...state.Write) (tools.Result, error) {
	text, err := json.Marshal(v)
	return tools.Result{Text: string(text), Update: writes}, err
}

// name derives an id from a key, so a call that runs again gets the same id.
func name(kind, key string) string {
	sum := sha256.Sum256([]byte(kind + key))
	return kind + "-" + hex.EncodeToString(sum[:5])
}
