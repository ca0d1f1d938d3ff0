package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"sync"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/tools"
)

type obj = map[string]any

// shown returns a tool that returns a value after a wait. The page selects a card by result, the
// type of the value.
func shown[In any](name, title, result string, wait time.Duration, value func(In) any) tools.Tool {
	return tools.New(name, title+".", func(ctx context.Context, in In) (any, error) {
		select {
		case <-time.After(wait):
			return value(in), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}).Annotate(tools.Annotations{Title: title, Result: result, ReadOnly: true})
}

type productQuery struct {
	Material string  `json:"material"`
	Kind     string  `json:"kind"`
	MaxPrice float64 `json:"max_price,omitempty"`
}

type orderQuery struct {
	Order string `json:"order" jsonschema:"the number of the order"`
}

type article struct {
	Article string `json:"article"`
}

type item struct {
	Name     string `json:"name"`
	Quantity int    `json:"quantity" jsonschema:"how many pieces"`
	Price    int    `json:"price" jsonschema:"price of a piece in euros"`
}

type quote struct {
	Customer   string `json:"customer"`
	Email      string `json:"email" jsonschema:"where the quote is sent"`
	Items      []item `json:"items"`
	Discount   int    `json:"discount_percent" jsonschema:"discount on the whole quote, in per cent"`
	Order      int64  `json:"order_number"`
	ValidUntil string `json:"valid_until" jsonschema:"last day of the offer"`
}

type deletion struct {
	Order  string `json:"order"`
	Reason string `json:"reason"`
}

// A deliveryQuestion is the prompt of a question to a person. Schema is the JSON schema of the
// answer.
type deliveryQuestion struct {
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

type deliveryAnswer struct {
	Day     string `json:"day"`
	Slot    string `json:"slot"`
	Lift    bool   `json:"lift"`
	Floor   int    `json:"floor"`
	Remarks string `json:"remarks,omitempty"`
}

var askDelivery = graph.NewInterrupt[deliveryQuestion, deliveryAnswer]("delivery")

var deliverySchema = json.RawMessage(`{
	"type": "object",
	"required": ["day", "slot", "floor"],
	"properties": {
		"day": {"type": "string", "format": "date", "title": "Day"},
		"slot": {"type": "string", "enum": ["morning", "afternoon", "evening"], "title": "Time of day"},
		"floor": {"type": "integer", "minimum": 0, "maximum": 40, "title": "Floor"},
		"lift": {"type": "boolean", "title": "There is a lift"},
		"remarks": {"type": "string", "maxLength": 200, "title": "Remarks", "description": "For the driver."}
	}
}`)

func shopTools() []tools.Tool {
	return append(cards(),
		tools.New("send_quote", "Sends a quote to a customer.", func(_ context.Context, in quote) (string, error) {
			return fmt.Sprintf("sent to %s", in.Email), nil
		}).Annotate(tools.Annotations{Title: "Send a quote", Destructive: true, Action: "send"}),
		tools.New("delete_order", "Deletes an order for good.", func(_ context.Context, in deletion) (string, error) {
			return "deleted " + in.Order, nil
		}).Annotate(tools.Annotations{Title: "Delete an order", Destructive: true, Action: "delete"}),
		tools.New("check_stock", "Asks the warehouse.", func(context.Context, article) (string, error) {
			return "", errors.New("the warehouse does not answer (timeout after 2 s)")
		}).Annotate(tools.Annotations{Title: "Check the stock"}),
		tools.New("ask_delivery", "Asks when an order may be delivered.", func(ctx context.Context, in orderQuery) (deliveryAnswer, error) {
			return askDelivery.WaitKey(ctx, in.Order, deliveryQuestion{
				"When may we deliver order " + in.Order + "?", "Two people carry it to your floor.", deliverySchema,
			})
		}).Annotate(tools.Annotations{Title: "Ask about the delivery", ReadOnly: true}),
	)
}

// cards returns one tool for each type of result.
func cards() []tools.Tool {
	return []tools.Tool{
		shown("search_products", "Search products", "product", 600*time.Millisecond, func(productQuery) any { return products }),
		shown("sales_by_month", "Sales by month", "chart", 700*time.Millisecond, func(struct {
			Year int `json:"year"`
		},
		) any {
			return sales
		}),
		shown("show_day", "Show the calendar", "day", 300*time.Millisecond, func(struct {
			Date string `json:"date"`
		},
		) any {
			return day
		}),
		shown("stock_list", "List the stock", "table", 400*time.Millisecond, func(in struct {
			Rows int `json:"rows"`
		},
		) any {
			return stock(in.Rows)
		}),
		shown("find_documents", "Find documents", "links", 500*time.Millisecond, func(struct {
			Query string `json:"query"`
		},
		) any {
			return documents
		}),
		shown("make_invoice", "Make an invoice", "file", 400*time.Millisecond, func(in orderQuery) any {
			return obj{"name": "invoice-" + in.Order + ".pdf", "type": "application/pdf", "size": 48213, "url": "/pictures/lund.png"}
		}),
		shown("show_picture", "Show a picture", "image", 200*time.Millisecond, func(article) any {
			return obj{"url": "/pictures/lund.png", "alt": "The Lund chair in oiled oak", "caption": "Lund, oiled oak, seat of paper cord"}
		}),
		shown("compare_terms", "Compare the terms", "diff", 200*time.Millisecond, func(struct {
			From string `json:"from"`
			To   string `json:"to"`
		},
		) any {
			return obj{"before": terms2025, "after": terms2026, "name": "terms.txt"}
		}),
		shown("order_details", "Order details", "", 200*time.Millisecond, func(in orderQuery) any {
			return obj{
				"order": in.Order, "ledger_id": int64(9007199254740993), "placed": "2026-11-20T09:12:00Z", "paid": false,
				"customer": obj{"name": "Meyer & Sons", "address": obj{"street": "Hafenstr. 12", "city": "Hamburg"}},
				"lines":    []obj{{"article": "LUND-OAK", "quantity": 12, "price": 189.0}, {"article": "HALM-240", "quantity": 2, "price": 1290.5}},
			}
		}),
	}
}

var products = []obj{
	{"name": "Lund", "price": 189, "currency": "EUR", "image": "/pictures/lund.png", "description": "Solid oak, seat of woven paper cord", "details": obj{"Stock": "in both stores", "Delivery": "3 days"}},
	{"name": "Aske", "price": 229, "currency": "EUR", "image": "/pictures/aske.png", "description": "Solid oak, oiled; stackable", "details": obj{"Stock": "Hamburg", "Delivery": "1 week"}},
	{"name": "Fjord", "price": 245, "currency": "EUR", "image": "/pictures/fjord.png", "description": "Oak frame, grey wool", "details": obj{"Stock": "to order", "Delivery": "4 weeks"}},
}

var sales = obj{
	"type": "bar", "title": "Sales in 2026", "unit": "€",
	"x": []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct"},
	"series": []obj{
		{"name": "Chairs", "values": []int{24100, 22800, 27300, 26900, 36400, 33100, 30900, 29800, 34700, 37200}},
		{"name": "Tables", "values": []int{17100, 15900, 18800, 20100, 31800, 29500, 27400, 28800, 36900, 41700}},
	},
}

var day = obj{"date": "2026-12-01", "events": []obj{
	{"start": "09:00", "end": "09:45", "title": "Stand-up in the workshop", "place": "Hall 2"},
	{"start": "10:00", "end": "11:00", "title": "Meyer & Sons: fitting of the tables", "place": "Hafenstr. 12"},
	{"start": "14:00", "end": "15:30", "title": "Delivery of oak boards", "place": "Gate 4"},
	{"start": "17:00", "end": "17:30", "title": "Call with Oslo"},
}}

var documents = []obj{
	{"title": "Care of oiled wood", "url": "https://docs.example.com/care", "snippet": "Apply a thin coat of hard-wax oil twice a year, and let it dry for a night."},
	{"title": "Stains and rings", "url": "https://docs.example.com/stains", "snippet": "Standing water leaves rings in oiled oak. Fine sandpaper and a new coat remove them."},
	{"title": "Terms of warranty", "url": "https://docs.example.com/warranty", "snippet": "Marks of use are not covered."},
}

func stock(n int) obj {
	rows := make([][]any, n)
	kinds := []string{"Lund chair", "Aske chair", "Fjord chair", "Halm table", "Bregne shelf", "Dune stool"}
	for i := range rows {
		rows[i] = []any{fmt.Sprintf("A-%04d", i*7919%10000), kinds[i%len(kinds)], i * 31 % 97, float64(4900+i*173%120000) / 100, i%5 != 0}
	}
	return obj{"columns": []any{"Article", "Name", obj{"name": "Pieces", "type": "number"}, obj{"name": "Price", "type": "money", "currency": "EUR"}, obj{"name": "In stock", "type": "boolean"}}, "rows": rows}
}

const (
	terms2025 = "Quotes are valid for 30 days.\nDelivery is free above 500 euros.\nReturns within 14 days.\nWarranty of two years.\n"
	terms2026 = "Quotes are valid for 30 days.\nDelivery is free above 400 euros.\nReturns within 30 days.\nWarranty of two years.\n"
)

// servePictures adds a route for the picture of each product. Each shows the same chair in another
// colour.
func servePictures(s *server.Server) {
	colours := map[string]color.RGBA{"lund": {188, 142, 92, 255}, "aske": {150, 104, 66, 255}, "fjord": {128, 134, 142, 255}}
	for name, c := range colours {
		picture := sync.OnceValue(func() []byte { return chair(c) })
		s.Handle("GET /pictures/"+name+".png", func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "image/png")
			_, err := w.Write(picture())
			return err
		})
	}
}

// chair returns a picture of a chair, drawn four times as large and then made smaller, so that its
// edges are smooth.
func chair(c color.RGBA) []byte {
	const wide, high, fine, left = 427, 320, 4, 53
	big := image.NewRGBA(image.Rect(0, 0, wide*fine, high*fine))
	fill := func(c color.RGBA, inside func(x, y float64) bool) {
		for y := range high * fine {
			for x := range wide * fine {
				if inside(float64(x)/fine-left, float64(y)/fine) {
					big.SetRGBA(x, y, c)
				}
			}
		}
	}
	box := func(c color.RGBA, x0, y0, x1, y1, lean float64) {
		fill(c, func(x, y float64) bool {
			at := lean * (y - y0) / (y1 - y0)
			return y >= y0 && y < y1 && x >= x0+at && x < x1+at
		})
	}
	shade := func(percent int) color.RGBA {
		return color.RGBA{uint8(int(c.R) * percent / 100), uint8(int(c.G) * percent / 100), uint8(int(c.B) * percent / 100), 255}
	}
	box(color.RGBA{243, 240, 233, 255}, -left, 0, wide, high, 0)
	box(color.RGBA{230, 225, 214, 255}, -left, 250, wide, high, 0)
	fill(color.RGBA{214, 207, 194, 255}, func(x, y float64) bool { return (x-160)*(x-160)/8100+(y-282)*(y-282)/100 < 1 })
	for _, y := range []float64{78, 104, 130} {
		box(shade(108), 112, y, 208, y+13, 0)
	}
	box(shade(92), 104, 62, 115, 180, -4)
	box(shade(92), 205, 62, 216, 180, 4)
	box(shade(70), 112, 190, 120, 270, -6)
	box(shade(70), 200, 190, 208, 270, 6)
	box(shade(80), 110, 232, 210, 238, 0)
	fill(shade(105), func(x, y float64) bool { return y >= 172 && y < 190 && x >= 92+(190-y)/3 && x < 228-(190-y)/3 })
	box(shade(84), 92, 188, 228, 196, 0)
	box(c, 94, 196, 104, 284, -6)
	box(c, 216, 196, 226, 284, 6)
	return encode(big, fine)
}

// encode returns a picture as PNG, made smaller by a factor.
func encode(big *image.RGBA, fine int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, big.Rect.Dx()/fine, big.Rect.Dy()/fine))
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			var r, g, b int
			for i := range fine * fine {
				c := big.RGBAAt(x*fine+i%fine, y*fine+i/fine)
				r, g, b = r+int(c.R), g+int(c.G), b+int(c.B)
			}
			n := fine * fine
			img.SetRGBA(x, y, color.RGBA{uint8(r / n), uint8(g / n), uint8(b / n), 255})
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		panic(err) // a picture in memory can be encoded
	}
	return out.Bytes()
}
