package kai

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/studio"
)

// A Quote is a binding offer.
type Quote struct {
	ID    string  `json:"id"`
	Lines []Line  `json:"lines"`
	Total float64 `json:"total_eur"`
}

// A Line is one product of a quote.
type Line struct {
	ProductID string  `json:"product_id"`
	Name      string  `json:"name"`
	Quantity  int     `json:"quantity"`
	Price     float64 `json:"price_eur"`
}

// A Bill shows a quote or an order to people and the model. It is the preview in a question, to which the approval is
// bound, and the result of a call. The page shows it as a card.
type Bill struct {
	ID       string     `json:"id,omitempty"`
	QuoteID  string     `json:"quote_id,omitempty"`
	Lines    []BillLine `json:"lines"`
	Total    float64    `json:"total"`
	Currency string     `json:"currency"`
}

// A BillLine is a product of a bill. Sum is the price of all pieces.
type BillLine struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Image    string  `json:"image,omitempty"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
	Sum      float64 `json:"sum"`
}

func billOf(q Quote) Bill {
	b := Bill{ID: q.ID, Lines: []BillLine{}, Total: q.Total, Currency: "EUR"}
	for _, l := range q.Lines {
		b.Lines = append(b.Lines, BillLine{l.ProductID, l.Name, catalogue.Drawing(l.ProductID), l.Quantity, l.Price, l.Price * float64(l.Quantity)})
	}
	return b
}

type quoteInput struct {
	Items []struct {
		ProductID string `json:"product_id" jsonschema:"such as P043"`
		Quantity  int    `json:"quantity" jsonschema:"pieces, or square metres of a product whose price is per m2"`
	} `json:"items"`
	Caller caller
}

// offer returns the quote of a call, without an id.
func (d *desk) offer(in quoteInput) (q Quote, err error) {
	for _, item := range in.Items {
		p, ok := d.catalogue.Lookup(item.ProductID)
		if !ok {
			return q, fmt.Errorf("there is no product %q", item.ProductID)
		}
		if item.Quantity < 1 || item.Quantity > 100_000 {
			return q, fmt.Errorf("%d of %s: a quantity is 1 to 100000", item.Quantity, p.ID)
		}
		q.Lines = append(q.Lines, Line{p.ID, p.Name, item.Quantity, p.Price})
		q.Total += p.Price * float64(item.Quantity)
	}
	if len(q.Lines) == 0 {
		return q, errors.New("there is nothing to quote")
	}
	return q, nil
}

// previewQuote returns the bill that a person approves: the names, prices, quantities and the total.
func (d *desk) previewQuote(_ context.Context, in quoteInput) (Bill, error) {
	q, err := d.offer(in)
	return billOf(q), err
}

type orderInput struct {
	QuoteID string `json:"quote_id" jsonschema:"such as Q-1a2b3c4d"`
	Caller  caller
}

// quoteOf returns the quote that the caller orders.
func (d *desk) quoteOf(ctx context.Context, in orderInput) (Quote, error) {
	q, err := studio.Get[Quote](ctx, d.studio, in.Caller.Value().User, quoteKind, in.QuoteID)
	if errors.Is(err, studio.ErrNotFound) {
		err = fmt.Errorf("there is no quote %q", in.QuoteID)
	}
	return q, err
}

// previewOrder returns the bill that a person approves: the quote.
func (d *desk) previewOrder(ctx context.Context, in orderInput) (Bill, error) {
	q, err := d.quoteOf(ctx, in)
	b := billOf(q)
	b.ID, b.QuoteID = "", q.ID
	return b, err
}

type sceneInput struct {
	Prompt     string   `json:"prompt" jsonschema:"what the scene shows"`
	ProductIDs []string `json:"product_ids" jsonschema:"the products in it, 1 to 40"`
	Caller     caller
}

// sceneOf returns the products of a scene.
func (d *desk) sceneOf(in sceneInput) (products []catalogue.Product, err error) {
	for _, id := range in.ProductIDs {
		p, ok := d.catalogue.Lookup(id)
		if !ok {
			return nil, fmt.Errorf("there is no product %q", id)
		}
		products = append(products, p)
	}
	if len(products) == 0 || len(products) > 40 {
		return nil, errors.New("a scene has 1 to 40 products")
	}
	return products, nil
}

// previewScene returns the products of a scene that a person approves.
func (d *desk) previewScene(_ context.Context, in sceneInput) (cards []card, err error) {
	products, err := d.sceneOf(in)
	for _, p := range products {
		cards = append(cards, cardOf(p))
	}
	return cards, err
}
