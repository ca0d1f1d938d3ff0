package kai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

// desk is what the tools work on.
type desk struct {
	catalogue *catalogue.Catalogue
	studio    *studio.DB
}

// caller is for whom a tool works. It is set by the program, and no argument of the model's.
type caller = tools.Bound[memory.Scope]

// tools returns all tools of the platform.
func (d *desk) tools() (*tools.Set, error) {
	critical := func(title, result string) tools.Annotations {
		return tools.Annotations{Title: title, Category: "studio", Destructive: true, Result: result}
	}
	look := func(title string) tools.Annotations {
		return tools.Annotations{Title: title, Category: "catalogue", ReadOnly: true, Result: "product"}
	}
	return tools.NewSet(
		tools.New("search_products", "Searches the catalogue. "+d.vocabulary(), d.search).Annotate(look("Search products")),
		tools.New("get_product", "Tells all that the catalogue has about one product.", d.product).Annotate(look("Look up a product")),
		tools.New("generate3D", "Generates a 3D scene with products. It costs money.", d.generate).Annotate(critical("Generate a 3D scene", "file")),
		tools.New("createQuote", "Makes a binding quote for products.", d.quote).Annotate(critical("Make a quote", "")),
		tools.New("submitOrder", "Submits the order of a quote. It can not be taken back.", d.order).Annotate(critical("Submit the order", "")),
	)
}

// vocabulary tells the model which words the catalogue knows.
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
		fmt.Fprintf(&b, "%s: %s. ", column.name, strings.Join(words[:min(len(words), 60)], ", "))
	}
	return strings.TrimSpace(b.String())
}

type searchInput struct {
	Query    string  `json:"query,omitempty" jsonschema:"words to look for"`
	Category string  `json:"category,omitempty" jsonschema:"one of the categories"`
	Material string  `json:"material,omitempty"`
	Colour   string  `json:"colour,omitempty"`
	Style    string  `json:"style,omitempty"`
	MaxPrice float64 `json:"max_price,omitempty" jsonschema:"in euros, for one piece or square metre"`
	Limit    int     `json:"limit,omitempty" jsonschema:"how many to return; 5 if left out, 20 at most"`
}

type found struct {
	Products []card `json:"products"`
	All      int    `json:"all_that_fit"`
}

// A card is a product as the page shows it. The model reads the same.
type card struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Price       float64           `json:"price"`
	Currency    string            `json:"currency"`
	Description string            `json:"description"`
	Details     map[string]string `json:"details"`
}

func cardOf(p catalogue.Product) card {
	c := card{p.ID, p.Name, p.Price, "EUR", joined(", ", p.ID, p.Category, p.Year), map[string]string{}}
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
	products, all := d.catalogue.Search(catalogue.Query{
		Text: in.Query, Category: in.Category, Material: in.Material, Colour: in.Colour, Style: in.Style, MaxPrice: in.MaxPrice,
	}, min(in.Limit, 20))
	cards := []card{}
	for _, p := range products {
		cards = append(cards, cardOf(p))
	}
	if len(products) == 0 {
		return result(found{cards, all})
	}
	graph.Emit(ctx, products)
	return result(found{cards, all}, CollectedProducts.Put(products...))
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

func (d *desk) generate(ctx context.Context, in struct {
	Prompt     string   `json:"prompt" jsonschema:"what the scene shows"`
	ProductIDs []string `json:"product_ids" jsonschema:"the products in it, 40 at most"`
	Caller     caller
},
) (tools.Result, error) {
	var products []catalogue.Product
	for _, id := range in.ProductIDs {
		p, ok := d.catalogue.Lookup(id)
		if !ok {
			return tools.Result{}, fmt.Errorf("there is no product %q", id)
		}
		products = append(products, p)
	}
	if len(products) == 0 || len(products) > 40 {
		return tools.Result{}, errors.New("a scene has 1 to 40 products")
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

// A Scene is a job with its model.
type Scene struct {
	Job
	Model string `json:"model"`
}

// A Quote is a price that holds.
type Quote struct {
	ID    string  `json:"id"`
	Lines []Line  `json:"lines"`
	Total float64 `json:"total_eur"`
}

// A Line is of a quote.
type Line struct {
	ProductID string  `json:"product_id"`
	Name      string  `json:"name"`
	Quantity  int     `json:"quantity"`
	Price     float64 `json:"price_eur"`
}

func (d *desk) quote(ctx context.Context, in struct {
	Items []struct {
		ProductID string `json:"product_id"`
		Quantity  int    `json:"quantity"`
	} `json:"items"`
	Caller caller
},
) (tools.Result, error) {
	key := graph.IdempotencyKey(ctx)
	q := Quote{ID: name("Q", key)}
	for _, item := range in.Items {
		p, ok := d.catalogue.Lookup(item.ProductID)
		if !ok {
			return tools.Result{}, fmt.Errorf("there is no product %q", item.ProductID)
		}
		if item.Quantity < 1 || item.Quantity > 100_000 {
			return tools.Result{}, fmt.Errorf("%d of %s: a quantity is 1 to 100000", item.Quantity, p.ID)
		}
		q.Lines = append(q.Lines, Line{p.ID, p.Name, item.Quantity, p.Price})
		q.Total += p.Price * float64(item.Quantity)
	}
	if len(q.Lines) == 0 {
		return tools.Result{}, errors.New("there is nothing to quote")
	}
	kept, err := studio.Keep(ctx, d.studio, studio.Record{Key: key, ID: q.ID, Kind: quoteKind, User: in.Caller.Value().User}, q)
	if err != nil {
		return tools.Result{}, err
	}
	return result(kept)
}

// An Order is of a quote.
type Order struct {
	ID      string  `json:"id"`
	QuoteID string  `json:"quote_id"`
	Total   float64 `json:"total_eur"`
	// CallKey is that of the call which submitted it.
	CallKey string `json:"call_key"`
}

// order submits. A quote is ordered once, whatever the model asks for and however often.
func (d *desk) order(ctx context.Context, in struct {
	QuoteID string `json:"quote_id" jsonschema:"such as Q-1a2b3c4d"`
	Caller  caller
},
) (tools.Result, error) {
	user := in.Caller.Value().User
	q, err := studio.Get[Quote](ctx, d.studio, user, quoteKind, in.QuoteID)
	if errors.Is(err, studio.ErrNotFound) {
		return tools.Result{}, fmt.Errorf("there is no quote %q", in.QuoteID)
	}
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
	return result(kept)
}

// result is an answer of a tool that also writes to the state.
func result(v any, writes ...state.Write) (tools.Result, error) {
	text, err := json.Marshal(v)
	return tools.Result{Text: string(text), Update: writes}, err
}

// name makes an id of a key: the same one when the call is made again.
func name(kind, key string) string {
	sum := sha256.Sum256([]byte(kind + key))
	return kind + "-" + hex.EncodeToString(sum[:5])
}
